import { and, eq } from "drizzle-orm";
import { addressKey } from "../../catalog/addresses.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { forget } from "../catalog-sign-ins/end.ts";
import { record } from "../events/service.ts";
import { refuseUnprotecting } from "./beside.ts";
import { entity, findWhole, mine } from "./find.ts";
import { apiCatalog, apiCatalogItems } from "./table.ts";

/**
 * Deletes an entry with everything that belongs to it.
 * Throws `not_found`, and `forbidden` if only an admin may remove it.
 */
export function deleteApi(ctx: Context, id: string): Promise<void> {
  return write(ctx, async (tx) => {
    const whole = await findWhole(tx, id);
    await refuseUnprotecting(tx, whole);
    const { name, type, url } = whole.row;
    await tx.db.delete(apiCatalogItems).where(eq(apiCatalogItems.apiId, id));
    await tx.db.delete(apiCatalog).where(mine(tx, id));
    if (url !== null && !(await isUsed(tx, url))) await forget(tx, url);
    await record(tx, "catalog.deleted", entity(id), { name, type });
  });
}

/** Returns whether another entry has the same URL: they share a sign-in. */
async function isUsed(tx: WriteContext, url: string): Promise<boolean> {
  const others = await tx.db
    .select({ id: apiCatalog.id })
    .from(apiCatalog)
    .where(
      and(
        eq(apiCatalog.organizationId, tx.organizationId),
        eq(apiCatalog.type, "mcp"),
        eq(apiCatalog.addressKey, addressKey(url)),
      ),
    )
    .limit(1);
  return others.length > 0;
}
