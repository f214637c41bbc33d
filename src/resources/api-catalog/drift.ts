import { and, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ToolDefinition } from "../../catalog/contract.ts";
import { toolHash } from "../../catalog/tools.ts";
import { type Context, SYSTEM, write } from "../../context.ts";
import { record } from "../events/service.ts";
import { entity, itemsOf } from "./find.ts";
import { apiCatalogItems, type ItemRow } from "./table.ts";

/** Minimum interval between updates of the time a tool was last seen, if nothing else changed. */
const SEEN_NOTED_MS = 60 * 60 * 1000;

/**
 * Compares a server's current tools with the approved definitions. A tool whose definition differs is `changed`, and
 * its current definition is stored. One that no longer exists is `missing`. Neither can be called until its definition
 * is the approved one again, or an admin approves the new one. A tool without an approved definition gets the current
 * one.
 */
export async function holdTools(
  ctx: Context,
  apiId: string,
  tools: readonly ToolDefinition[],
): Promise<void> {
  const now = new Map(tools.map((tool) => [tool.upstreamName, tool]));
  const at = timestamp(ctx.clock);
  if (differing(await itemsOf(ctx, apiId), now, at).length === 0) return; // The usual case.
  await write({ ...ctx, actor: SYSTEM }, async (tx) => {
    const changes: JsonObject[] = [];
    for (const { item, next } of differing(await itemsOf(tx, apiId), now, at)) {
      await tx.db
        .update(apiCatalogItems)
        .set(next)
        .where(and(eq(apiCatalogItems.apiId, apiId), eq(apiCatalogItems.name, item.name)));
      if (next.status !== item.status || !samePending(item, next))
        changes.push({ field: `tools.${item.name}.status`, from: item.status, to: next.status });
    }
    if (changes.length > 0) await record(tx, "catalog.drifted", entity(apiId), { changes });
  });
}

/** Items whose state has to change, with the new state. */
function differing(items: readonly ItemRow[], now: ReadonlyMap<string, ToolDefinition>, at: string) {
  return items
    .map((item) => ({ item, next: heldTo(item, now.get(item.name), at) }))
    .filter(({ item, next }) => {
      const isSame =
        next.status === item.status && next.definitionHash === item.definitionHash && samePending(item, next);
      return !isSame || (next.lastSeenAt !== item.lastSeenAt && at > after(item.lastSeenAt));
    });
}

const after = (seenAt: string | null) =>
  seenAt === null ? "" : new Date(Date.parse(seenAt) + SEEN_NOTED_MS).toISOString();

const samePending = (one: ItemRow, other: ItemRow) =>
  (one.pending === null ? null : toolHash(one.pending)) ===
  (other.pending === null ? null : toolHash(other.pending));

function heldTo(item: ItemRow, tool: ToolDefinition | undefined, at: string): ItemRow {
  if (!tool) return { ...item, status: "missing" };
  const seen = { ...item, lastSeenAt: at, firstSeenAt: item.firstSeenAt ?? at };
  const hash = toolHash(tool);
  const own = item.definition as ToolDefinition;
  if (item.definitionHash === null)
    return {
      ...seen,
      status: "active",
      definition: { ...tool, name: own.name },
      definitionHash: hash,
      pending: null,
    };
  if (item.definitionHash === hash) return { ...seen, status: "active", pending: null };
  return { ...seen, status: "changed", pending: tool };
}
