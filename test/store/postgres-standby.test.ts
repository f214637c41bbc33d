import { expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { insertInto } from "../../src/store/prepared.ts";
import { openRemoteStore } from "../../src/store/store.ts";
import { startPostgres } from "../support/postgres.ts";
import { urlOf } from "../support/postgres-store.ts";
import { MIGRATIONS, notes, thrownBy } from "./harness.ts";

const insertNote = insertInto(notes);

test("while the server is a standby, writes and starts say so; once it is the primary server, they succeed", async () => {
  await using server = await startPostgres();
  const url = urlOf(server, "postgres");
  const signal = join(server.databaseDir, "standby.signal");
  const open = () => openRemoteStore({ url, migrations: MIGRATIONS });
  const store = await open();
  writeFileSync(signal, "");
  await server.crash();
  const standby = {
    code: "unavailable",
    retryable: true,
    message: "The database server is a standby, which is read-only. Weir needs the primary server.",
  };
  const write = (id: string) =>
    store.write((db) => insertNote(db, { id, someTitle: null, count: null, ratio: null, body: null }));
  expect(await thrownBy(() => write("a"))).toMatchObject(standby);
  expect(await thrownBy(open)).toMatchObject(standby);
  expect(await store.db.$count(notes)).toBe(0);

  rmSync(signal);
  await server.crash();
  await write("b");
  await (await open()).close();
  expect(await store.db.select({ id: notes.id }).from(notes)).toEqual([{ id: "b" }]);
  await store.close();
});
