/**
 * Group commit on against off: `bun scripts/bench/group-commit.bench.ts [milliseconds per round]`.
 *
 * Writers in a closed loop each store what a webhook stores: one run and two events, in one `store.write`.
 * The second pair of lines simulates a disk with a sync of 1 ms: the database is in memory (/dev/shm),
 * where a sync costs nothing, and each COMMIT first blocks the writing thread for 1 ms, as a sync would.
 * Medians of interleaved rounds; only the ratios are meaningful.
 */
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { insertInto } from "../../src/store/prepared.ts";
import { openStore } from "../../src/store/store.ts";
import { tempFolder } from "./ending.ts";
import { median, tell } from "./load.ts";

const ROUNDS = 3;
const SYNC_MS = 1;

const runs = sqliteTable("runs", {
  id: text().primaryKey(),
  status: text().notNull(),
  payload: text().notNull(),
});
const events = sqliteTable("events", {
  seq: integer().primaryKey(),
  runId: text().notNull(),
  type: text().notNull(),
});
const migrations = [
  {
    name: "0001_bench",
    sql: `CREATE TABLE runs (id TEXT PRIMARY KEY, status TEXT NOT NULL, payload TEXT NOT NULL) STRICT;
--> statement-breakpoint
CREATE TABLE events (seq INTEGER PRIMARY KEY, run_id TEXT NOT NULL, type TEXT NOT NULL) STRICT;
--> statement-breakpoint
CREATE INDEX events_by_run ON events (run_id);`,
  },
];

const insertRun = insertInto(runs);
const insertEvents = insertInto(events, ["seq"]);

const payload = JSON.stringify({ text: "x".repeat(500) });

/** Writes per second. */
async function rate(options: {
  folder: string;
  writers: number;
  groupCommit: boolean;
  slow: boolean;
  ms: number;
}) {
  const { writers, groupCommit, slow, ms } = options;
  const folder = tempFolder(options.folder);
  const store = await openStore({
    path: join(folder, "weir.db"),
    backupsFolder: folder,
    migrations,
    groupCommit,
    ...(slow ? { syncMs: SYNC_MS } : {}),
  });
  let done = 0;
  const startMs = performance.now();
  const writer = async () => {
    while (performance.now() - startMs < ms) {
      const id = Bun.randomUUIDv7();
      await store.write(async (db) => {
        await insertRun(db, { id, status: "pending", payload });
        await insertEvents(
          db,
          { runId: id, type: "action.enqueued" },
          { runId: id, type: "webhook.received" },
        );
      });
      done++;
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  const seconds = (performance.now() - startMs) / 1000;
  await store.close();
  return done / seconds;
}

const ms = Number(process.argv[2] ?? 800);
const memory = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
for (const { name, folder, slow } of [
  { name: "this disk", folder: tmpdir(), slow: false },
  { name: "1 ms sync", folder: memory, slow: true },
]) {
  for (const writers of [1, 32]) {
    const on: number[] = [];
    const off: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      on.push(await rate({ folder, writers, groupCommit: true, slow, ms }));
      off.push(await rate({ folder, writers, groupCommit: false, slow, ms }));
    }
    const ratio = median(on.map((value, n) => value / (off[n] ?? Number.NaN)));
    console.log(
      `  ${name}, ${writers} writers: on / off ${ratio.toFixed(2)} × (${median(on).toFixed(0)} / ${median(off).toFixed(0)} writes/s)`,
    );
    if (slow && writers > 1) tell("group commit on / off with a 1 ms sync, 32 writers", ratio, 5, 10);
  }
}
