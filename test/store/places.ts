import { type Migration, openRemoteStore } from "../../src/store/store.ts";
import { dropDatabase, makeDatabase } from "../support/postgres-store.ts";
import { startSqld } from "../support/sqld.ts";
import { localPlace, MIGRATIONS, type Place } from "./harness.ts";

/** The database of a separate libSQL server. */
function libsqlPlace() {
  const server = startSqld();
  return {
    async open(migrations: readonly Migration[] = MIGRATIONS) {
      return openRemoteStore({ url: (await server).url, migrations });
    },
    async [Symbol.asyncDispose]() {
      await (await server)[Symbol.asyncDispose]();
    },
  } satisfies Place;
}

/** A new database of the PostgreSQL that the test file starts. */
export function postgresPlace() {
  const made = makeDatabase();
  return {
    made,
    async open(migrations: readonly Migration[] = MIGRATIONS) {
      return openRemoteStore({ url: (await made).url, migrations });
    },
    async [Symbol.asyncDispose]() {
      await dropDatabase((await made).name);
    },
  } satisfies Place & { made: unknown };
}

export const PLACES: readonly [name: string, make: () => Place][] = [
  ["a local file", localPlace],
  ["a libSQL server", libsqlPlace],
  ["PostgreSQL", postgresPlace],
];
