import { eq } from "drizzle-orm";
import { type Context, write } from "../../context.ts";
import { record } from "../events/service.ts";
import { entity, findApi, mine } from "./find.ts";
import { apiCatalog, apiCatalogItems } from "./table.ts";

/** With all that belongs to it. Throws `not_found`. */
export function deleteApi(ctx: Context, id: string): Promise<void> {
  return write(ctx, async (tx) => {
    const { name, type } = await findApi(tx, id);
    await tx.db.delete(apiCatalogItems).where(eq(apiCatalogItems.apiId, id));
    await tx.db.delete(apiCatalog).where(mine(tx, id));
    await record(tx, "catalog.deleted", entity(id), { name, type });
  });
}
