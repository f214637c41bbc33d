import { rm } from "node:fs/promises";
import { join } from "node:path";
import { eq, isNotNull, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import type { App } from "../context.ts";
import { contextForRun, SYSTEM } from "../context.ts";
import { lakeTables } from "../resources/datasets/table.ts";
import { eraseTrail } from "../resources/events/seals.ts";
import { publishedAmong } from "../resources/iceberg/published.ts";
import { stopWork } from "../resources/organization-removal/remove.ts";
import { organizations, RESTORABLE_MS } from "../resources/organizations/table.ts";
import { keyOf, tablesWith } from "../store/schema.ts";
import type { WriteDb } from "../store/store.ts";

const BATCH = 500;

/** Tables whose rows others refer to. */
const FIRST = ["chat_messages", "chat_turns", "connection_tokens", "actions"];

/** Tables without an organization column, by the table that they belong to. */
const PARTS: Readonly<Record<string, readonly (readonly [table: string, column: string])[]>> = {
  action_runs: [["run_logs", "run_id"]],
  automation_runs: [
    ["automation_run_items", "automation_run_id"],
    ["automation_run_results", "automation_run_id"],
    ["automation_run_configs", "automation_run_id"],
  ],
  automations: [
    ["automation_versions", "automation_id"],
    ["webhook_signatures", "automation_id"],
  ],
  connections: [
    ["connection_marks", "connection_id"],
    ["connection_quotas", "connection_id"],
  ],
  outbound_deliveries: [["outbound_attempts", "delivery_id"]],
  webhook_deliveries: [["delivery_attempts", "delivery_id"]],
};

/**
 * Stops work of removed organizations that began during their removal, and erases those that can no longer be
 * restored: all rows, including the audit log and encrypted credentials, and all files. Every step can be repeated.
 */
export async function* sweepOrganizations(app: App): AsyncGenerator<void> {
  const removed = await app.store.db
    .select({ id: organizations.id, removedAt: organizations.removedAt })
    .from(organizations)
    .where(isNotNull(organizations.removedAt));
  for (const { id, removedAt } of removed) {
    const correlationId = app.ids.uuid();
    await stopWork(contextForRun(app, { organizationId: id, actor: { ...SYSTEM }, correlationId }));
    yield;
    if (removedAt === null || removedAt > timestamp(app.clock, -RESTORABLE_MS)) continue;
    yield* erase(app, id);
    app.log.write("info", "organization erased", { organizationId: id, correlationId });
  }
}

async function* erase(app: App, id: string): AsyncGenerator<void> {
  await rm(join(app.filesFolder, id), { recursive: true, force: true });
  yield* eraseFiles(app, id);
  const tables = await tablesOf(app);
  for (const table of tables) yield* eraseRows(app, table, id);
  while (!(await app.store.write((db) => eraseLast(app, db, id)))) yield;
}

/** Erases part of the audit log. With its head goes the organization, since one without a head isn't valid. */
async function eraseLast(app: App, db: WriteDb, id: string): Promise<boolean> {
  if (!(await eraseTrail(app, db, id))) return false;
  await db.run(sql`update sessions set organization_id = null where organization_id = ${id}`);
  await db.run(sql`delete from organizations where id = ${id}`);
  return true;
}

/** Files in the lake and the blob store of artifacts. The rows that name them are deleted afterwards. */
async function* eraseFiles(app: App, id: string): AsyncGenerator<void> {
  const { layer, dataset, tableName, organizationId } = lakeTables;
  const tables = await app.store.db
    .select({ layer, dataset, tableName })
    .from(lakeTables)
    .where(eq(organizationId, id));
  for (const table of tables) {
    const folder = `${id}/${table.layer}/${table.dataset}/${table.tableName}`;
    await app.lake.remove([...(await publishedAmong(app, [folder]))]);
    yield;
  }
  for (const [table, remove] of [
    ["lake_files", (paths: string[]) => app.lake.remove(paths)],
    [
      "artifacts",
      async (paths: string[]) => void (await Promise.all(paths.map((p) => app.artifacts.remove(p)))),
    ],
  ] as const) {
    for (let after = ""; ; ) {
      const rows = await app.store.db.all<{ id: string; path: string | null }>(
        sql`select id as "id", path as "path" from ${sql.identifier(table)}
          where organization_id = ${id} and id > ${after} order by id limit ${BATCH}`,
      );
      await remove(rows.flatMap(({ path }) => path ?? []));
      after = rows.at(-1)?.id ?? "";
      if (rows.length < BATCH) break;
      yield;
    }
  }
}

/** Every table with rows of organizations, in an order that allows deletion. `counts` is updated by triggers. */
async function tablesOf(app: App): Promise<string[]> {
  const tables = await tablesWith(app.store.db, "organization_id");
  const rank = (name: string) => (FIRST.includes(name) ? FIRST.indexOf(name) : name === "counts" ? 99 : 50);
  return tables.filter((name) => !KEPT.includes(name)).sort((a, b) => rank(a) - rank(b));
}

const KEPT = ["events", "trail_erasures", "trail_heads", "trail_redactions", "trail_seals", "sessions"];

async function* eraseRows(app: App, table: string, id: string): AsyncGenerator<void> {
  const name = sql.identifier(table);
  const parts = PARTS[table] ?? [];
  const key = sql.join(
    (await keyOf(app.store.db, table)).map((column) => sql.identifier(column)),
    sql`, `,
  );
  const some = sql`select ${key} from ${name} where organization_id = ${id} limit ${BATCH}`;
  for (;;) {
    const { changes } = await app.store.write(async (db) => {
      if (parts.length === 0) return db.run(sql`delete from ${name} where (${key}) in (${some})`);
      const rows = await db.all<{ id: string }>(some);
      const ids = sql`(select value from json_each(${JSON.stringify(rows.map((row) => row.id))}))`;
      for (const [part, column] of parts)
        await db.run(sql`delete from ${sql.identifier(part)} where ${sql.identifier(column)} in ${ids}`);
      return db.run(sql`delete from ${name} where id in ${ids}`);
    });
    yield;
    if (changes < BATCH) return;
  }
}
