import { and, eq, sql } from "drizzle-orm";
import { notFound } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import { type Context, touched, type WriteContext } from "../../context.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { changesBetween, record } from "../events/service.ts";
import { type ConnectionRow, connections } from "./table.ts";

/** Every query here uses this condition: connections of other organizations don't exist. */
export const mine = (ctx: Context, id: string) =>
  and(eq(connections.organizationId, ctx.organizationId), eq(connections.id, id));

export const entity = (id: string) => ({ type: "connection" as const, id });

const byId = prepared((db: ReadDb) =>
  db
    .select()
    .from(connections)
    .where(
      and(
        eq(connections.organizationId, sql.placeholder("organizationId")),
        eq(connections.id, sql.placeholder("id")),
      ),
    )
    .prepare(),
);

/** Throws `not_found`. */
export async function findConnection(ctx: Context, id: string): Promise<ConnectionRow> {
  const [row] = await byId(ctx.db).all({ organizationId: ctx.organizationId, id: id.toLowerCase() });
  if (!row) throw notFound("connection");
  return row;
}

/** Throws `not_found`. */
export async function findConnectionBySlug(ctx: Context, slug: string): Promise<ConnectionRow> {
  const [row] = await ctx.db
    .select()
    .from(connections)
    .where(and(eq(connections.organizationId, ctx.organizationId), eq(connections.slug, slug)));
  if (!row) throw notFound("connection");
  return row;
}

/** Writes changed fields, with an event. If nothing changed, the row stays as it is. */
export async function saveChange(
  tx: WriteContext,
  before: ConnectionRow,
  change: Partial<ConnectionRow>,
): Promise<ConnectionRow> {
  const { sealedCredentials, ...shown } = change;
  const changes: JsonObject[] = changesBetween(before, shown).map(({ field, from, to }) => ({
    field,
    from: maskSecrets(from as Json),
    to: maskSecrets(to as Json),
  }));
  if (sealedCredentials !== undefined) {
    const to = change.hasCredentials ? "***" : null;
    changes.push({ field: "credentials", from: before.hasCredentials ? "***" : null, to });
  }
  if (changes.length === 0) return before;
  const saved = { ...change, ...touched(tx, before) };
  await tx.db.update(connections).set(saved).where(mine(tx, before.id));
  await record(tx, "connection.updated", entity(before.id), { changes });
  return { ...before, ...saved };
}
