import { and, lt, sql } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import type { App } from "../../context.ts";
import type { WriteDb } from "../../store/store.ts";
import { type Here, tableIs } from "../datasets/commit.ts";
import { lakeSnapshots, lakeTables } from "../datasets/table.ts";
import { HINT, publishTable, snapshotsOf } from "./publish.ts";

/** Returns which of these metadata files the published metadata refers to. */
export async function publishedAmong(app: App, paths: readonly string[]): Promise<Set<string>> {
  const named = new Set<string>();
  for (const folder of new Set(paths.map((path) => path.split("/").slice(0, 4).join("/")))) {
    const [organizationId = "", layer = "", dataset = "", tableName = ""] = folder.split("/");
    const here = { organizationId, layer, dataset, tableName };
    const [table] = await app.store.db.select().from(lakeTables).where(tableIs(here));
    if (!table) continue;
    named.add(`${folder}/metadata/${HINT}`);
    if (table.published) named.add(`${folder}/${table.published.metadata}`);
    for (const { name } of table.published?.manifests ?? []) named.add(`${folder}/${name}`);
    const snapshots = await app.store.db
      .select({ published: lakeSnapshots.published })
      .from(lakeSnapshots)
      .where(snapshotsOf(here));
    for (const { published } of snapshots)
      for (const name of published ? [published.list, ...published.manifests] : [])
        named.add(`${folder}/${name}`);
  }
  return named;
}

/**
 * Removes snapshots whose files are about to be deleted from the database, and then from the metadata, so that it never
 * refers to a deleted file.
 */
export async function dropSnapshots(
  app: App,
  files: readonly (Here & { removedSnapshot: number | null })[],
): Promise<void> {
  const tables = new Map<string, Here & { below: number }>();
  for (const { organizationId, layer, dataset, tableName, removedSnapshot } of files) {
    if (removedSnapshot === null) continue;
    const key = JSON.stringify([organizationId, layer, dataset, tableName]);
    const below = Math.max(removedSnapshot, tables.get(key)?.below ?? 0);
    tables.set(key, { organizationId, layer, dataset, tableName, below });
  }
  for (const { below, ...here } of tables.values()) {
    const isStale = await app.store.write((db) => forget(db, here, below));
    if (!isStale) continue;
    try {
      await publishTable(app, here);
    } catch (error) {
      // A deleted table, or one that was never published, refers to nothing.
      if (!(error instanceof AppError && ["not_found", "invalid_state"].includes(error.code))) throw error;
    }
  }
}

/** Returns whether the metadata must be rewritten without them. */
async function forget(db: WriteDb, here: Here, below: number): Promise<boolean> {
  const dropped = await db
    .delete(lakeSnapshots)
    .where(and(snapshotsOf(here), lt(lakeSnapshots.number, below)))
    .returning({ number: lakeSnapshots.number });
  if (dropped.length > 0) {
    const stale = sql`case when ${lakeTables.publishedSnapshot} < 0 then ${lakeTables.publishedSnapshot} - 1 else -1 end`;
    await db.update(lakeTables).set({ publishedSnapshot: stale }).where(tableIs(here));
  }
  const [table] = await db.select({ at: lakeTables.publishedSnapshot }).from(lakeTables).where(tableIs(here));
  return table !== undefined && table.at < 0;
}
