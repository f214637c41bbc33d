import type { Database as Sqlite } from "bun:sqlite";
import { statSync } from "node:fs";
import { sql } from "drizzle-orm";
import { systemClock } from "../base/clock.ts";
import { backup, backupBefore } from "./backup.ts";
import { Checkpointer } from "./checkpoint.ts";
import { storeFault } from "./faults.ts";
import { openReader, openWriter } from "./file.ts";
import { type MigrationTarget, migrate, type Runner } from "./migrate.ts";
import { Reader } from "./sqlite.ts";
import type { Store, StoreOptions } from "./store.ts";
import { WriteQueue } from "./write-queue.ts";
import { ThreadWriter } from "./writer.ts";

const GROUP_WRITES = 256;
/** Long enough for hundreds of small writes, short enough not to delay reads. */
const GROUP_MS = 4;
/** 8 MB of free pages are kept for reuse. The rest is returned to the disk, 4 MB in each quiet moment. */
const FREE_PAGES_KEPT = 2_048;
const FREE_PAGES_AT_ONCE = 1_024;

/**
 * Opens the database file, creating and migrating it as needed.
 *
 * Throws `unavailable` with a message for the operator if the file can't be opened, a newer version created it, or a
 * migration fails.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { path, clock = systemClock, groupCommit = true } = options;
  const connection = openWriter(path);
  try {
    await migrate(targetOf(connection), {
      migrations: options.migrations,
      clock,
      async beforeFirst(next) {
        const kept = await backupBefore(connection, next, { folder: options.backupsFolder, clock });
        options.onCopy?.(kept);
      },
    });
  } catch (error) {
    throw storeFault(error);
  } finally {
    connection.close();
  }
  const reader = openReader(path);
  const reading = new Reader(reader);
  const writer: ThreadWriter = new ThreadWriter(options, () => queue.check());
  const checkpointer = new Checkpointer({
    path,
    moveAlone: () => writer.checkpoint(),
    reader,
    clock,
    ...(options.workers ? { workers: options.workers } : {}),
    onQuiet: () => giveBack(reader, queue),
  });
  const queue = new WriteQueue(writer, {
    clock,
    isAlone: true,
    runsAhead: true,
    groupSize: groupCommit ? GROUP_WRITES : 1,
    groupMs: GROUP_MS,
    afterCommit: () => checkpointer.afterCommit(),
  });

  return {
    db: reading.db,
    remote: false,
    write: (work) => queue.write(work),
    backup: (to) => backup(path, to),
    startThreads: () => checkpointer.start(),
    stats: async () => ({ databaseBytes: sizeOf(path), walBytes: sizeOf(`${path}-wal`) }),
    async close() {
      await queue.close();
      await checkpointer.close();
      reading.close();
      await writer.close();
    },
  };
}

/** Returns some of the file's free pages to the disk if there are many. */
function giveBack(reader: Sqlite, queue: WriteQueue): void {
  const { pages } = reader.query("SELECT freelist_count AS pages FROM pragma_freelist_count").get() as {
    pages: number;
  };
  if (pages < FREE_PAGES_KEPT) return;
  queue
    .write((db) => db.run(sql.raw(`PRAGMA incremental_vacuum(${FREE_PAGES_AT_ONCE})`)))
    .catch(() => undefined); // the next quiet moment retries
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const targetOf = (connection: Sqlite): MigrationTarget => {
  const runner: Runner = {
    async execute(sql, args = []) {
      connection.run(sql, args);
    },
    async rows(sql) {
      using statement = connection.prepare(sql); // an open statement keeps the file open
      return statement.values() as unknown[][];
    },
  };
  return {
    ...runner,
    isLocal: true,
    async transaction(work) {
      connection.run("BEGIN IMMEDIATE");
      try {
        await work(runner);
        connection.run("COMMIT");
      } catch (error) {
        if (connection.inTransaction) connection.run("ROLLBACK");
        throw storeFault(error);
      }
    },
  };
};
