import { and, eq, like, or } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import { freeSlug, slugify } from "../../base/slug.ts";
import { addressKey } from "../../catalog/addresses.ts";
import { type Context, created, type WriteContext, write } from "../../context.ts";
import { record } from "../events/service.ts";
import { protectedBeside } from "./beside.ts";
import { checkConnection } from "./faults.ts";
import { entity } from "./find.ts";
import { adminOnly, insertItems, newEndpoint, newTool } from "./items.ts";
import { isAdmin } from "./protect.ts";
import { type ApiRow, apiCatalog, type ItemRow } from "./table.ts";
import type { HttpApiCreate, McpApiCreate, WholeApi } from "./wire.ts";

/**
 * Throws `conflict` if the name is taken, `forbidden` if a non-admin trusts a tool, and `InvalidInput` for a connection
 * that doesn't exist.
 */
export function createHttpApi(ctx: Context, input: HttpApiCreate): Promise<WholeApi> {
  return write(ctx, (tx) =>
    insertApi(tx, input, (ids) => ({
      row: { type: "http", url: null, baseUrl: input.baseUrl, transport: null },
      items: input.endpoints.map((endpoint, index) => newEndpoint(ids, endpoint, index)),
    })),
  );
}

/** Throws as `createHttpApi` does. The server isn't queried. */
export function createMcpApi(ctx: Context, input: McpApiCreate): Promise<WholeApi> {
  return write(ctx, (tx) =>
    insertApi(tx, input, (ids) => ({
      row: { type: "mcp", url: input.url, baseUrl: null, transport: input.transport },
      items: input.tools.map((tool, index) => newTool(tx, ids, tool, index)),
    })),
  );
}

type Own = Pick<ApiRow, "type" | "url" | "baseUrl" | "transport">;

async function insertApi(
  tx: WriteContext,
  input: Pick<HttpApiCreate, "name" | "description" | "connectionId" | "approvalRequired" | "authHints">,
  make: (ids: { apiId: string; organizationId: string }) => { row: Own; items: ItemRow[] },
): Promise<WholeApi> {
  await checkConnection(tx, input.connectionId);
  await refuseDuplicate(tx, input.name);
  const id = tx.ids.uuid();
  const { row: own, items: newItems } = make({ apiId: id, organizationId: tx.organizationId });
  if (!isAdmin(tx) && newItems.some(({ trusted }) => trusted)) throw adminOnly("trusted");
  const row: ApiRow = {
    ...created(tx),
    ...own,
    id,
    name: input.name,
    slug: await deriveSlug(tx, input.name),
    description: input.description,
    status: "active",
    addressKey: addressKey(own.baseUrl ?? own.url ?? ""),
    connectionId: input.connectionId ?? null,
    approvalRequired: input.approvalRequired ?? false,
    endpointCount: own.type === "http" ? newItems.length : 0,
    toolCount: own.type === "mcp" ? newItems.length : 0,
    authHints: input.authHints ?? null,
  };
  const items = isAdmin(tx) ? newItems : await protectedBeside(tx, row, newItems);
  await tx.db.insert(apiCatalog).values(row);
  await insertItems(tx, items);
  const { name, type, endpointCount, toolCount } = row;
  const address = row.baseUrl ?? row.url;
  await record(tx, "catalog.created", entity(id), { name, type, address, endpointCount, toolCount });
  return { row, items };
}

/** Names are unique, since agents use them. Throws `conflict`. */
export async function refuseDuplicate(tx: WriteContext, name: string): Promise<void> {
  const [taken] = await tx.db
    .select({ id: apiCatalog.id })
    .from(apiCatalog)
    .where(and(eq(apiCatalog.organizationId, tx.organizationId), eq(apiCatalog.name, name)));
  if (taken)
    throw new AppError("conflict", `Another API of the catalog has the name ${name}. Choose another.`);
}

async function deriveSlug(tx: WriteContext, name: string): Promise<string> {
  const base = slugify(name, "api");
  const near = or(eq(apiCatalog.slug, base), like(apiCatalog.slug, `${base.slice(0, 90)}%`));
  const taken = await tx.db
    .select({ slug: apiCatalog.slug })
    .from(apiCatalog)
    .where(and(eq(apiCatalog.organizationId, tx.organizationId), near));
  return freeSlug(base, new Set(taken.map(({ slug }) => slug)));
}
