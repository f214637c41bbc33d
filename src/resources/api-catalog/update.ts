import { and, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { invalid } from "../../base/errors.ts";
import { canonicalJson, type Json, type JsonObject } from "../../base/json.ts";
import type { EndpointDefinition, ToolDefinition } from "../../catalog/contract.ts";
import { toolHash } from "../../catalog/tools.ts";
import { type Context, touched, type WriteContext, write } from "../../context.ts";
import { changesBetween, record } from "../events/service.ts";
import { protectedBeside } from "./beside.ts";
import { refuseDuplicate } from "./create.ts";
import { checkConnection } from "./faults.ts";
import { entity, findWhole, mine } from "./find.ts";
import {
  adminOnly,
  endpointOf,
  insertItems,
  newEndpoint,
  newTool,
  refuseIncomplete,
  toolOf,
} from "./items.ts";
import { calledBy, isAdmin, protectedLike } from "./protect.ts";
import { type ApiRow, apiCatalog, apiCatalogItems, type ItemRow } from "./table.ts";
import type { CatalogPatch, EndpointInput, ToolInput, WholeApi } from "./wire.ts";

type Change = { field: string; from: Json; to: Json };

/**
 * Changes only the given fields. A given list replaces the existing one. Omitted fields of its items keep their values.
 *
 * Throws `conflict` if the name is taken, `forbidden` if a non-admin changes what needs approval, approves a changed
 * tool or removes a protected one, and `InvalidInput`.
 */
export function updateApi(ctx: Context, id: string, patch: CatalogPatch): Promise<WholeApi> {
  return write(ctx, async (tx) => {
    const before = await findWhole(tx, id);
    const { endpoints, tools, ...fields } = patch;
    refuseForeignList(before.row, patch);
    const changes = changesBetween<Partial<ApiRow>>(before.row, fields) as Change[];
    if (!isAdmin(tx) && changes.some(({ field }) => field === "approvalRequired"))
      throw adminOnly("approvalRequired");
    const wanted = itemsAfter(tx, before, endpoints, tools);
    const isFree = wanted === before.items || isAdmin(tx);
    const items = isFree ? wanted : await protectedNew(tx, before, wanted);
    const moved = itemChanges(before.row, before.items, items, isAdmin(tx));
    if (moved.length === 0 && isReordered(before.items, items)) moved.push(reordering(before, items));
    if (changes.length === 0 && moved.length === 0) return before;
    if (fields.name !== undefined && fields.name !== before.row.name) await refuseDuplicate(tx, fields.name);
    await checkConnection(tx, fields.connectionId);
    await saveItems(tx, before.items, items);
    const count = items.length;
    const counts = before.row.type === "http" ? { endpointCount: count } : { toolCount: count };
    const change = { ...fields, ...counts, ...touched(tx, before.row) };
    await tx.db.update(apiCatalog).set(change).where(mine(tx, id));
    await record(tx, "catalog.updated", entity(id), { changes: [...changes, ...shortened(moved)] });
    return { row: { ...before.row, ...change } as ApiRow, items };
  });
}

/** Requires approval for an item that now makes another call, if that call needs it. */
async function protectedNew(tx: WriteContext, { row, items }: WholeApi, after: readonly ItemRow[]) {
  const own = protectedLike(items, after);
  const was = new Map(items.map((item) => [item.name, calledBy(item)]));
  const isNew = (item: ItemRow) => was.get(item.name) !== calledBy(item);
  const beside = await protectedBeside(tx, row, own.filter(isNew));
  const changed = new Map(beside.map((item) => [item.name, item]));
  return own.map((item) => changed.get(item.name) ?? item);
}

function refuseForeignList({ type }: ApiRow, { endpoints, tools }: CatalogPatch): void {
  if (type === "mcp" && endpoints)
    throw invalid(["body", "endpoints"], "An MCP server has tools, no endpoints");
  if (type === "http" && tools) throw invalid(["body", "tools"], "An HTTP API has endpoints, no tools");
}

function itemsAfter(
  tx: WriteContext,
  { row, items }: WholeApi,
  endpoints: EndpointInput[] | undefined,
  tools: ToolInput[] | undefined,
): readonly ItemRow[] {
  const known = new Map(items.map((item) => [item.name, item]));
  const owner = { apiId: row.id, organizationId: row.organizationId };
  if (endpoints) {
    refuseIncomplete(endpoints, (name) => !known.has(name));
    return endpoints.map((input, position) => {
      const before = known.get(input.name);
      if (!before) return newEndpoint(owner, input, position);
      const definition = endpointOf(input, before.definition as EndpointDefinition);
      return { ...before, ...flagsOf(input, before), position, definition };
    });
  }
  if (tools) {
    return tools.map((input, position) => {
      const before = known.get(input.upstreamName);
      if (!before) return newTool(tx, owner, input, position);
      return { ...toolAfter(tx, before, input), ...flagsOf(input, before), position };
    });
  }
  return items;
}

const flagsOf = (input: EndpointInput | ToolInput, before: ItemRow) => ({
  enabled: input.enabled ?? before.enabled,
  approvalRequired: input.approvalRequired ?? before.approvalRequired,
  trusted: ("trusted" in input ? input.trusted : undefined) ?? before.trusted,
});

/** `status` approves the server's current definition. A definition in the request becomes the approved one. */
function toolAfter(tx: WriteContext, before: ItemRow, input: ToolInput): ItemRow {
  const accepted: ItemRow =
    input.status === "active" && before.status === "changed" && before.pending
      ? {
          ...before,
          status: "active",
          definition: { ...before.pending, name: (before.definition as ToolDefinition).name },
          definitionHash: toolHash(before.pending),
          pending: null,
          lastSeenAt: timestamp(tx.clock),
        }
      : before;
  const definition = toolOf(input, accepted.definition as ToolDefinition);
  const isSame = toolHash(definition) === toolHash(accepted.definition as ToolDefinition);
  const own = definition.inputSchema === null ? null : toolHash(definition);
  return {
    ...accepted,
    definition,
    definitionHash: input.definitionHash ?? (isSame ? accepted.definitionHash : own),
  };
}

/** Returns what differs, item by item. Texts and schemas are hashes, so that an event stays small. */
function itemChanges(
  row: ApiRow,
  before: readonly ItemRow[],
  after: readonly ItemRow[],
  mayUnprotect: boolean,
): Change[] {
  if (before === after) return [];
  const list = row.type === "http" ? "endpoints" : "tools";
  const known = new Map(before.map((item) => [item.name, item]));
  const changes: Change[] = [];
  const refuse = (what: string) => {
    if (!mayUnprotect) throw adminOnly(what);
  };
  for (const item of after) {
    const old = known.get(item.name);
    known.delete(item.name);
    if (item.trusted !== (old?.trusted ?? false)) refuse("trusted");
    if (!old) {
      changes.push({ field: `${list}.${item.name}`, from: null, to: summaryOf(item) });
      continue;
    }
    if (item.approvalRequired !== old.approvalRequired) refuse("approvalRequired");
    if (old.approvalRequired && calledBy(item) !== calledBy(old))
      refuse(`What ${item.name} calls, which needs approval,`);
    if (item.status !== old.status || item.definitionHash !== old.definitionHash)
      refuse("A tool's definition or status");
    for (const { field, from, to } of changesBetween(summaryOf(old), summaryOf(item))) {
      changes.push({ field: `${list}.${item.name}.${field}`, from: from as Json, to: to as Json });
    }
  }
  for (const gone of known.values()) {
    if (gone.approvalRequired || gone.status === "changed")
      refuse(`${gone.name}, which needs approval or was held back,`);
    changes.push({ field: `${list}.${gone.name}`, from: summaryOf(gone), to: null });
  }
  return changes;
}

/** Maximum number of item changes that an event lists. */
const MAX_TOLD = 200;

const shortened = (changes: readonly Change[]): Change[] =>
  changes.length <= MAX_TOLD
    ? [...changes]
    : [...changes.slice(0, MAX_TOLD), { field: "more", from: null, to: changes.length - MAX_TOLD }];

function summaryOf(item: ItemRow): JsonObject {
  const { enabled, approvalRequired, trusted, status } = item;
  const { description, method, path } = item.definition as EndpointDefinition;
  return {
    enabled,
    approvalRequired,
    ...(trusted ? { trusted } : {}),
    status,
    ...(method === undefined ? {} : { method, path }),
    description,
    definition: Bun.SHA256.hash(canonicalJson(item.definition), "hex"),
  };
}

const reordering = ({ row, items }: WholeApi, after: readonly ItemRow[]): Change => ({
  field: row.type === "http" ? "endpoints" : "tools",
  from: items.slice(0, MAX_TOLD).map(({ name }) => name),
  to: after.slice(0, MAX_TOLD).map(({ name }) => name),
});

const isReordered = (before: readonly ItemRow[], after: readonly ItemRow[]) =>
  after.some(({ name }, index) => before[index]?.name !== name);

async function saveItems(
  tx: WriteContext,
  before: readonly ItemRow[],
  after: readonly ItemRow[],
): Promise<void> {
  if (before === after) return;
  const known = new Map(before.map((item) => [item.name, item]));
  const names = new Set(after.map(({ name }) => name));
  const at = ({ apiId, name }: ItemRow) =>
    and(eq(apiCatalogItems.apiId, apiId), eq(apiCatalogItems.name, name));
  for (const item of before) if (!names.has(item.name)) await tx.db.delete(apiCatalogItems).where(at(item));
  for (const item of after) {
    const old = known.get(item.name);
    if (old && canonicalJson(old) !== canonicalJson(item))
      await tx.db.update(apiCatalogItems).set(item).where(at(item));
  }
  await insertItems(
    tx,
    after.filter(({ name }) => !known.has(name)),
  );
}
