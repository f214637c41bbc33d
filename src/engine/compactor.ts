import { and, eq, ne, sql } from "drizzle-orm";
import { AppError } from "../base/errors.ts";
import { type App, contextFor, SYSTEM } from "../context.ts";
import type { Here } from "../resources/datasets/commit.ts";
import { compactTable, crowdedTables } from "../resources/datasets/compact.ts";
import { actionRuns } from "../resources/runs/table.ts";
import type { DatasetLocks } from "./locks.ts";
import type { Loop } from "./loop.ts";

/** Time for a running load to finish before the next table is compacted. */
const WAIT_MS = 2_000;
/** Time before a table that couldn't be compacted is tried again. */
const PAUSE_MS = 10 * 60 * 1000;

/**
 * Limits the number of files per table: merges the files of many small loads, one table at a time, while no load of
 * this process writes to the dataset.
 */
export function compactor(app: App, locks: DatasetLocks): Loop {
  const pausedUntil = new Map<string, number>();

  return {
    name: "compactor",
    async tick(signal) {
      if (app.peers?.isEldest() === false) return "idle";
      for (const table of await crowdedTables(app)) {
        if (signal.aborted) return "idle";
        const name = nameOf(table);
        if ((pausedUntil.get(name) ?? 0) > app.clock.monotonic() || (await isLoadedElsewhere(app, table)))
          continue;
        const release = await takeSoon(app, locks, nameOfDataset(table), signal);
        if (!release) continue;
        try {
          const { before, after } = await compactTable(contextOf(app, table), table, signal);
          const summary = { table: `${table.layer}.${table.dataset}.${table.tableName}`, before, after };
          app.log.write("debug", "table files compacted", summary);
          pausedUntil.delete(name);
          if (before > 0) return "more";
          pausedUntil.set(name, app.clock.monotonic() + PAUSE_MS);
        } catch (error) {
          if (signal.aborted) return "idle";
          if (error instanceof AppError && error.code === "dataset_changed") continue;
          pausedUntil.set(name, app.clock.monotonic() + PAUSE_MS);
          app.log.report(error, { loop: "compactor", organizationId: table.organizationId, table: name });
        } finally {
          release();
        }
      }
      return "idle";
    },
  };
}

const nameOfDataset = ({ organizationId, layer, dataset }: Here) => `${organizationId}/${layer}/${dataset}`;
const nameOf = (table: Here) => `${nameOfDataset(table)}/${table.tableName}`;

const contextOf = (app: App, { organizationId }: Here) =>
  contextFor(app, { organizationId, actor: SYSTEM, role: "member", correlationId: app.ids.uuid() });

/** Waits for the dataset's lock, at most `WAIT_MS`. Returns null on timeout. */
async function takeSoon(
  app: App,
  locks: DatasetLocks,
  name: string,
  signal: AbortSignal,
): Promise<(() => void) | null> {
  const enough = new AbortController();
  const lock = locks.take(name);
  const taken = await Promise.race([
    lock,
    app.clock.sleep(WAIT_MS, AbortSignal.any([signal, enough.signal])).then(() => null),
  ]);
  enough.abort();
  if (taken === null) void lock.then((release) => release());
  return taken;
}

/** A run in another process would have to restart if its files were replaced. */
async function isLoadedElsewhere(app: App, { organizationId, layer, dataset }: Here): Promise<boolean> {
  const rows = await app.store.db
    .select({ id: actionRuns.id })
    .from(actionRuns)
    .where(
      and(
        sql`${actionRuns.status} = 'running'`, // matches the index on leases
        eq(actionRuns.organizationId, organizationId),
        eq(actionRuns.datasetKey, `${layer}.${dataset}`),
        ne(actionRuns.bootId, app.bootId),
      ),
    )
    .limit(1);
  return rows.length > 0;
}
