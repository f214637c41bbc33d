import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { WriteContext } from "../../context.ts";
import type { LakeFile, LakeLoad, TableChange } from "../../lake/contract.ts";
import { extractCursors, lakeFiles, lakeLoads, lakeTables } from "./table.ts";

/**
 * Makes a load visible: its files, the ones they take the place of, the tables' columns and sums, and
 * the cursors of `ownerId`, all in the caller's transaction.
 *
 * Throws `dataset_changed` (retryable) when a table has moved on from the version that the load was
 * worked out from.
 */
export async function commitLoad(
  tx: WriteContext,
  runId: string,
  ownerId: string,
  load: LakeLoad,
): Promise<void> {
  const at = timestamp(tx.clock);
  const place = { organizationId: tx.organizationId, layer: load.layer, dataset: load.dataset };
  await tx.db.insert(lakeLoads).values({ id: load.loadId, ...place, actionRunId: runId, committedAt: at });
  for (const change of load.tables) await commitTable(tx, place, change, at);
  for (const [resource, cursor] of Object.entries(load.cursors ?? {})) {
    const values = {
      cursorField: cursor.cursorField,
      lastValue: cursor.lastValue,
      boundary: cursor.boundary,
      loadId: load.loadId,
      updatedAt: at,
    };
    await tx.db
      .insert(extractCursors)
      .values({ organizationId: tx.organizationId, ownerId, resource, ...values })
      .onConflictDoUpdate({
        target: [extractCursors.organizationId, extractCursors.ownerId, extractCursors.resource],
        set: values,
      });
  }
}

type Place = { organizationId: string; layer: string; dataset: string };

async function commitTable(tx: WriteContext, place: Place, change: TableChange, at: string): Promise<void> {
  const here = { ...place, tableName: change.table };
  const [before] = await tx.db.select().from(lakeTables).where(tableIs(here));
  if (change.remove !== "all" && (before?.version ?? null) !== change.baseVersion) {
    throw new AppError(
      "dataset_changed",
      `Another run has written to ${place.layer}.${place.dataset} meanwhile.`,
      { retryable: true },
    );
  }
  await removeFiles(tx, here, change.remove, at);
  await addFiles(tx, here, change.add, at);
  const [sums] = await tx.db
    .select({
      rows: sql<number>`coalesce(sum(${lakeFiles.rows}), 0)`,
      bytes: sql<number>`coalesce(sum(${lakeFiles.bytes}), 0)`,
      files: sql<number>`count(*)`,
    })
    .from(lakeFiles)
    .where(and(fileIs(here), isNull(lakeFiles.removedAt)));
  const values = {
    columns: change.columns,
    ...(sums ?? { rows: 0, bytes: 0, files: 0 }),
    version: (before?.version ?? 0) + 1,
    updatedAt: at,
  };
  if (before) await tx.db.update(lakeTables).set(values).where(tableIs(here));
  else await tx.db.insert(lakeTables).values({ ...here, ...values });
}

type Here = Place & { tableName: string };

const tableIs = (here: Here) =>
  and(
    eq(lakeTables.organizationId, here.organizationId),
    eq(lakeTables.layer, here.layer),
    eq(lakeTables.dataset, here.dataset),
    eq(lakeTables.tableName, here.tableName),
  );

const fileIs = (here: Here) =>
  and(
    eq(lakeFiles.organizationId, here.organizationId),
    eq(lakeFiles.layer, here.layer),
    eq(lakeFiles.dataset, here.dataset),
    eq(lakeFiles.tableName, here.tableName),
  );

/** Statements take only so many parameters at once. */
const BATCH = 200;

async function removeFiles(
  tx: WriteContext,
  here: Here,
  remove: TableChange["remove"],
  at: string,
): Promise<void> {
  const live = and(fileIs(here), isNull(lakeFiles.removedAt));
  if (remove === "all") {
    await tx.db.update(lakeFiles).set({ removedAt: at }).where(live);
    return;
  }
  for (let start = 0; start < remove.length; start += BATCH) {
    const ids = remove.slice(start, start + BATCH);
    await tx.db
      .update(lakeFiles)
      .set({ removedAt: at })
      .where(and(live, inArray(lakeFiles.id, ids)));
  }
}

async function addFiles(tx: WriteContext, here: Here, add: readonly LakeFile[], at: string): Promise<void> {
  for (let start = 0; start < add.length; start += BATCH) {
    const rows = add
      .slice(start, start + BATCH)
      .map((file) => ({ ...file, ...here, createdAt: at, removedAt: null }));
    if (rows.length > 0) await tx.db.insert(lakeFiles).values(rows);
  }
}
