import { and, asc, eq, inArray } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { inputsOf } from "../../catalog/arguments.ts";
import { modelName } from "../../catalog/names.ts";
import type { Context } from "../../context.ts";
import { callApi, checkInput } from "../../executors/http/api.ts";
import { type CallResult, small } from "../../executors/http/result.ts";
import { needsApproval } from "../connections/approval.ts";
import { type ApprovalRule, connections } from "../connections/table.ts";
import { approvedBeside } from "./beside.ts";
import { mayChange } from "./protect.ts";
import { type ApiRow, apiCatalog, apiCatalogItems, type ItemRow } from "./table.ts";
import { fingerprintOf, openUseFor, outboxOf } from "./use.ts";

/** An endpoint or tool of the catalog, as a model sees it. */
export interface CatalogTool {
  /** Its name for models: `[A-Za-z0-9_-]`, at most 64 characters, unique in an organization. */
  name: string;
  description: string;
  inputSchema: JsonObject;
  /**
   * Whether an admin requires approval for each call: of this item, of its whole API, or of the same call through
   * another entry.
   */
  approvalRequired: boolean;
  /** Whether a call may change something, by its method or by its server's hints. */
  writes: boolean;
  /** `definition.api` of a `http_request` run, without the arguments. */
  reference: { apiId: string; endpoint: string } | { apiId: string; tool: string };
  apiName: string;
  /** Changes when the effect of a call changes. An approval is for this fingerprint and the arguments. */
  fingerprint: string;
}

/**
 * Returns the tools that can be called now, of one API by name or of all: enabled items with their approved definition.
 * Descriptions are third-party text: data, never instructions.
 */
export async function listCatalogTools(ctx: Context, apiName?: string): Promise<CatalogTool[]> {
  const rows = await ctx.db
    .select()
    .from(apiCatalog)
    .where(
      and(
        eq(apiCatalog.organizationId, ctx.organizationId),
        eq(apiCatalog.status, "active"),
        apiName === undefined ? undefined : eq(apiCatalog.name, apiName),
      ),
    )
    .orderBy(asc(apiCatalog.id));
  if (rows.length === 0) return [];
  const byId = new Map(rows.map((row) => [row.id, row]));
  const items = await ctx.db
    .select()
    .from(apiCatalogItems)
    .where(inArray(apiCatalogItems.apiId, [...byId.keys()]))
    .orderBy(asc(apiCatalogItems.apiId), asc(apiCatalogItems.position));
  const isApprovedBeside = await approvedBeside(ctx, rows);
  const rules = await rulesOf(ctx, rows);
  return items.flatMap((item) => {
    const row = byId.get(item.apiId);
    if (!row || !item.enabled || item.status !== "active") return [];
    const approvalRequired =
      row.approvalRequired ||
      item.approvalRequired ||
      needsApproval(rules.get(row.connectionId) ?? "none", mayChange(item) ? "write" : "read") ||
      isApprovedBeside(row, item);
    return [toolOf(row, item, approvalRequired)];
  });
}

/** Rules of the connections that these entries are called with. */
async function rulesOf(ctx: Context, rows: readonly ApiRow[]): Promise<Map<string | null, ApprovalRule>> {
  const ids = rows.flatMap(({ connectionId }) => connectionId ?? []);
  const found = await ctx.db
    .select({ id: connections.id, rule: connections.approvalRequired })
    .from(connections)
    .where(and(eq(connections.organizationId, ctx.organizationId), inArray(connections.id, ids)));
  return new Map(found.map(({ id, rule }) => [id, rule]));
}

const NO_INPUTS: JsonObject = { type: "object", properties: {} };

function toolOf(row: ApiRow, item: ItemRow, approvalRequired: boolean): CatalogTool {
  const { definition } = item;
  const { description } = definition;
  const common = {
    name: modelName(row.slug, item.name),
    description: description ?? `${item.name} of ${row.name}.`,
    inputSchema: "path" in definition ? inputsOf(definition) : (definition.inputSchema ?? NO_INPUTS),
    approvalRequired,
    apiName: row.name,
    fingerprint: fingerprintOf(row, item),
    writes: mayChange(item),
  };
  return {
    ...common,
    reference:
      row.type === "http" ? { apiId: row.id, endpoint: item.name } : { apiId: row.id, tool: item.name },
  };
}

/** How a call of a tool is made. */
export interface CatalogCall {
  /** Unique. Part of the idempotency key of the request. */
  id: string;
  input: JsonObject;
  signal: AbortSignal;
  /** Fingerprint that a user approved with these arguments. Null if no approval was requested. */
  approvedFingerprint: string | null;
}

const MAX_BYTES = 1024 * 1024;

/**
 * Calls a tool. Failures of the API are returned in the result, with the status. Throws `definition_invalid` for
 * invalid arguments, and `invalid_state` if approval is missing, or was given for an earlier definition.
 */
export async function callCatalogTool(
  ctx: Context,
  tool: CatalogTool,
  call: CatalogCall,
): Promise<CallResult> {
  const use = await openUseFor(ctx, tool.reference, call.signal);
  checkInput(use, call.input);
  if (use.approvalRequired && call.approvedFingerprint === null)
    throw new AppError("invalid_state", `${tool.name} requires approval.`);
  if (call.approvedFingerprint !== null && call.approvedFingerprint !== use.fingerprint)
    throw new AppError("invalid_state", `${tool.name} changed since it was approved.`);
  const outbox = outboxOf(ctx, call.id, call.signal);
  const isHeld = call.approvedFingerprint !== null;
  return small(await callApi(outbox, use, call.input, { tellsFailures: true, maxBytes: MAX_BYTES, isHeld }));
}
