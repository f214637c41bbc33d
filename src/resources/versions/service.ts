import { and, desc, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { notFound } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import type { Context, WriteContext } from "../../context.ts";
import type { Change } from "../events/service.ts";
import { type VersionedType, type VersionRow, versions } from "./table.ts";

/** The resource that has versions. */
export interface Versioned {
  type: VersionedType;
  id: string;
}

const of = (ctx: Context, { type, id }: Versioned) =>
  and(
    eq(versions.organizationId, ctx.organizationId),
    eq(versions.entityType, type),
    eq(versions.entityId, id),
  );

/** Stores a version, in the transaction of the change. */
export async function keepVersion(
  tx: WriteContext,
  { type, id }: Versioned,
  { version, content, changes = [] }: { version: number; content: JsonObject; changes?: readonly Change[] },
): Promise<void> {
  await tx.db.insert(versions).values({
    entityType: type,
    entityId: id,
    version,
    organizationId: tx.organizationId,
    content,
    changes: maskSecrets(changes as unknown as Json) as JsonObject[],
    createdAt: timestamp(tx.clock),
    createdBy: tx.actor.id,
  });
}

/** For a permanently deleted resource. */
export const forgetVersions = async (tx: WriteContext, versioned: Versioned): Promise<void> =>
  void (await tx.db.delete(versions).where(of(tx, versioned)));

/** Newest first. */
export async function listVersions(
  ctx: Context,
  versioned: Versioned,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: VersionRow[]; total: number }> {
  const where = of(ctx, versioned);
  const rows = await ctx.db
    .select()
    .from(versions)
    .where(where)
    .orderBy(desc(versions.version))
    .limit(limit)
    .offset(offset);
  return { rows, total: await ctx.db.$count(versions, where) };
}

/** Throws `not_found`. */
export async function findVersion(ctx: Context, versioned: Versioned, version: number): Promise<VersionRow> {
  const [row] = await ctx.db
    .select()
    .from(versions)
    .where(and(of(ctx, versioned), eq(versions.version, version)));
  if (!row) throw notFound("version");
  return row;
}
