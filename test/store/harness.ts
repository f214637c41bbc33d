import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { integer, real, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { json } from "../../src/store/columns.ts";
import { type Migration, openStore, type Store, type StoreOptions } from "../../src/store/store.ts";

export const notes = sqliteTable("notes", {
  id: text().primaryKey(),
  someTitle: text(),
  count: integer(),
  ratio: real(),
  body: json<unknown>(),
});

export const trail = sqliteTable("trail", { seq: integer().primaryKey(), what: text().notNull() });

export const MIGRATIONS: readonly Migration[] = [
  {
    name: "0001_notes",
    sql: `CREATE TABLE notes (id TEXT PRIMARY KEY, some_title TEXT, count INTEGER, ratio REAL, body TEXT) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX notes_by_title ON notes (some_title);`,
  },
  {
    name: "0002_trail",
    sql: `CREATE TABLE trail (seq INTEGER PRIMARY KEY, what TEXT NOT NULL) STRICT;
--> statement-breakpoint
CREATE TRIGGER trail_no_update BEFORE UPDATE ON trail BEGIN SELECT RAISE(ABORT, 'the trail is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER trail_no_delete BEFORE DELETE ON trail BEGIN SELECT RAISE(ABORT, 'the trail is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER trail_no_replace BEFORE INSERT ON trail WHEN EXISTS (SELECT 1 FROM trail t WHERE t.seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'the trail is append-only'); END;`,
  },
];

/** Where a database is, which can be opened by more than one store. */
export interface Place extends AsyncDisposable {
  open(migrations?: readonly Migration[]): Promise<Store>;
}

export interface LocalPlace extends Place {
  readonly folder: string;
  readonly path: string;
  readonly backups: string;
  open(migrations?: readonly Migration[], more?: Partial<StoreOptions>): Promise<Store>;
}

export function localPlace(): LocalPlace {
  const folder = mkdtempSync(join(tmpdir(), "weir-store-"));
  const path = join(folder, "weir.db");
  const backups = join(folder, "backups");
  return {
    folder,
    path,
    backups,
    open: (migrations = MIGRATIONS, more = {}) =>
      openStore({ path, migrations, backupsFolder: backups, ...more }),
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true });
    },
  };
}

/** A clock that is stopped, so that nothing depends on the speed of this machine. */
export const stillClock: Clock = { ...systemClock, monotonic: () => 0 };

/** Opens a store with the usual tables. `await using` closes it and deletes its database. */
export async function openAt(
  make: () => Place,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<Store & AsyncDisposable> {
  const place = make();
  const store = await place.open(migrations);
  return {
    ...store,
    async [Symbol.asyncDispose]() {
      await store.close();
      await place[Symbol.asyncDispose]();
    },
  };
}

/** The error that `work` throws. Fails if it doesn't. */
export async function thrownBy(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error("Nothing was thrown.");
}
