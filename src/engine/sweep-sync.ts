import { and, asc, eq, inArray, isNull, type SQL, sql } from "drizzle-orm";
import type { App } from "../context.ts";
import { actions } from "../resources/actions/table.ts";
import { automations } from "../resources/automations/table.ts";
import { syncFiles } from "../resources/sync/table.ts";

const BATCH = 500;

/** Deletes sync manifests whose action or automation was deleted. Steps from owner to owner, whatever their size. */
export async function* sweepManifests(app: App): AsyncGenerator<void> {
  const { organizationId, ownerId } = syncFiles;
  let after: SQL | undefined;
  for (;;) {
    const [owner] = await app.store.db
      .select({ organizationId, ownerId })
      .from(syncFiles)
      .where(after)
      .orderBy(asc(organizationId), asc(ownerId))
      .limit(1);
    if (!owner) return;
    after = sql`(${organizationId}, ${ownerId}) > (${owner.organizationId}, ${owner.ownerId})`;
    if (!(await isThere(app, owner.ownerId))) yield* forget(app, owner);
    yield;
  }
}

/** Whether an action, or the automation of a step, still exists. */
async function isThere({ store }: App, owner: string): Promise<boolean> {
  const [id = "", step] = owner.split(":");
  const from = step === undefined ? actions : automations;
  const [row] = await store.db
    .select({ id: from.id })
    .from(from)
    .where(and(eq(from.id, id), isNull(from.deletedAt)));
  return row !== undefined;
}

async function* forget(
  { store }: App,
  { organizationId, ownerId }: { organizationId: string; ownerId: string },
): AsyncGenerator<void> {
  const own = and(eq(syncFiles.organizationId, organizationId), eq(syncFiles.ownerId, ownerId));
  for (;;) {
    const rows = await store.db
      .select({ place: syncFiles.place, path: syncFiles.path })
      .from(syncFiles)
      .where(own)
      .limit(BATCH);
    if (rows.length === 0) return;
    const paths = rows.map(({ path }) => path);
    const pairs = [...new Set(rows.map(({ place }) => place))];
    await store.write(
      async (db) =>
        void (await db
          .delete(syncFiles)
          .where(and(own, inArray(syncFiles.place, pairs), inArray(syncFiles.path, paths)))),
    );
    yield;
  }
}
