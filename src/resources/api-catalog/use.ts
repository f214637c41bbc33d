import { AppError, InvalidInput, invalid } from "../../base/errors.ts";
import { canonicalJson, type JsonObject } from "../../base/json.ts";
import { within } from "../../base/within.ts";
import type { CatalogUse, EndpointDefinition, ToolDefinition } from "../../catalog/contract.ts";
import { type Context, write } from "../../context.ts";
import type { ApiReference } from "../../executors/contract.ts";
import { callApi, checkInput } from "../../executors/http/api.ts";
import { type CallResult, small } from "../../executors/http/result.ts";
import type { Outbox } from "../../executors/http/send.ts";
import { signInAuthority } from "../catalog-sign-ins/authority.ts";
import { needsApproval } from "../connections/approval.ts";
import type { OpenedConnection } from "../connections/link.ts";
import { record } from "../events/service.ts";
import { approvedBeside } from "./beside.ts";
import { holdTools } from "./drift.ts";
import { entity, findApi, findItem } from "./find.ts";
import { mayChange } from "./protect.ts";
import { openConnection } from "./reach.ts";
import type { ApiRow, ItemRow } from "./table.ts";

/** Finds an item that exists, is enabled and matches its approved definition. Throws `not_found`, `invalid_state`. */
async function findCallable(
  ctx: Context,
  { apiId, endpoint, tool }: ApiReference,
): Promise<{ row: ApiRow; item: ItemRow }> {
  const row = await findApi(ctx, apiId);
  const name = row.type === "http" ? endpoint : tool;
  const what = row.type === "http" ? "endpoint" : "tool";
  if (name === undefined)
    throw new AppError("not_found", `The API ${row.name} has ${what}s. Name one as ${what}.`);
  const item = await findItem(ctx, row.id, name);
  if (!item) throw new AppError("not_found", `The API ${row.name} has no ${what} ${name}.`);
  const refuse = (message: string) => new AppError("invalid_state", message);
  if (row.status === "disabled") throw refuse(`The API ${row.name} is disabled.`);
  if (!item.enabled) throw refuse(`The ${what} ${item.name} of ${row.name} is disabled.`);
  refuseDrifted(row, item);
  return { row, item };
}

function refuseDrifted(row: ApiRow, item: ItemRow): void {
  if (item.status === "active") return;
  const message =
    item.status === "missing"
      ? `${row.name} no longer offers the tool ${item.name}.`
      : `The definition of ${item.name} changed since it was approved. An admin must review it.`;
  throw new AppError("invalid_state", message);
}

/** Returns a text that changes when the effect of a call changes. An approval is for this text and the arguments. */
export function fingerprintOf(row: ApiRow, { definition }: ItemRow): string {
  const { type, url, baseUrl, transport, connectionId } = row;
  const text = canonicalJson({ type, url, baseUrl, transport, connectionId, definition });
  return Bun.SHA256.hash(text, "hex");
}

type Open = (connectionId: string | null) => Promise<OpenedConnection | null>;

/**
 * Returns an endpoint or tool, ready to be called with its connection. Throws `not_found`, and `invalid_state` if it
 * can't be called, or if a tool needs approval and its definition isn't known.
 */
export async function openUse(ctx: Context, reference: ApiReference, open: Open): Promise<CatalogUse> {
  const { row, item } = await findCallable(ctx, reference);
  const { type, url, baseUrl, transport, connectionId } = row;
  const connection = await open(connectionId);
  const approvalRequired =
    row.approvalRequired ||
    item.approvalRequired ||
    (connection !== null && needsApproval(connection.approvalRequired, mayChange(item) ? "write" : "read")) ||
    (await approvedBeside(ctx, [row]))(row, item);
  if (approvalRequired && type === "mcp" && item.definitionHash === null) {
    const message = `${item.name} has no definition yet. Refresh ${row.name} first.`;
    throw new AppError("invalid_state", message);
  }
  const target: CatalogUse["target"] =
    type === "http"
      ? { kind: "endpoint", baseUrl: baseUrl ?? "", endpoint: item.definition as EndpointDefinition }
      : {
          kind: "tool",
          url: url ?? "",
          transport: transport ?? "http",
          tool: item.definition as ToolDefinition,
        };
  return {
    apiId: row.id,
    apiName: row.name,
    target,
    approvalRequired,
    fingerprint: fingerprintOf(row, item),
    connection,
    signIn:
      type === "mcp" && connectionId === null && url !== null
        ? signInAuthority(ctx, { url, entryId: row.id })
        : null,
    async verify(tools, isHeld) {
      const now = await verified(ctx, row, item.name, tools);
      const isSame = fingerprintOf(await findApi(ctx, row.id), now) === fingerprintOf(row, item);
      if (isHeld && !isSame)
        throw new AppError("invalid_state", `${item.name} changed since it was approved. Ask again.`);
      return now.definition as ToolDefinition;
    },
  };
}

async function verified(
  ctx: Context,
  row: ApiRow,
  name: string,
  tools: readonly ToolDefinition[],
): Promise<ItemRow> {
  await holdTools(ctx, row.id, tools);
  const item = await findItem(ctx, row.id, name);
  if (!item) throw new AppError("not_found", `${row.name} no longer offers the tool ${name}.`);
  refuseDrifted(row, item);
  return item;
}

/** Opens an item for a call outside a run. */
export const openUseFor = (ctx: Context, reference: ApiReference, signal: AbortSignal): Promise<CatalogUse> =>
  openUse(ctx, reference, async (id) =>
    id === null ? null : openConnection(ctx, id, { signal, purpose: "approved" }),
  );

const TEST_MS = 30_000;
const MAX_TEST_BYTES = 1024 * 1024;

/**
 * Calls an endpoint or tool once. Returns any status. Throws `InvalidInput` for invalid arguments, and `invalid_state`
 * if approval is needed.
 */
export async function testEndpoint(
  ctx: Context,
  apiId: string,
  name: string,
  input: JsonObject,
  signal: AbortSignal,
): Promise<CallResult & { durationSeconds: number }> {
  const limited = within(TEST_MS, name, signal);
  const use = await openUseFor(ctx, { apiId, endpoint: name, tool: name }, limited);
  checkBody(use, input);
  if (use.approvalRequired) {
    const message = `${name} requires approval. Call it from an http_request action.`;
    throw new AppError("invalid_state", message);
  }
  const started = ctx.clock.monotonic();
  const outbox = outboxOf(ctx, ctx.ids.uuid(), limited);
  const result = small(await callApi(outbox, use, input, { tellsFailures: true, maxBytes: MAX_TEST_BYTES }));
  const durationSeconds = Math.round(ctx.clock.monotonic() - started) / 1000;
  const { status } = result;
  await write(ctx, (tx) =>
    record(tx, "catalog.tested", entity(apiId), { endpoint: name, status, durationSeconds }),
  );
  return { ...result, durationSeconds };
}

/** Context of a call outside a run: responses are short, and none is stored as a file. */
export const outboxOf = (ctx: Context, id: string, signal: AbortSignal): Outbox => ({
  egress: ctx.egress,
  compute: ctx.compute,
  clock: ctx.clock,
  ids: ctx.ids,
  signal,
  log: () => undefined,
  room: tooLongToHold,
  workFolder: tooLongToHold,
  run: { id, organizationId: ctx.organizationId },
});

const tooLongToHold = () =>
  Promise.reject(new AppError("internal", "The response is too long for an approval outside a run."));

function checkBody(use: CatalogUse, input: JsonObject): void {
  try {
    checkInput(use, input);
  } catch (error) {
    const faults = error instanceof AppError ? error.details?.faults : undefined;
    if (!Array.isArray(faults))
      throw error instanceof AppError ? invalid(["body", "input"], error.message) : error;
    throw new InvalidInput(
      faults.map((fault) => ({ ...fault, loc: ["body", "input", ...fault.loc.slice(1)] })),
    );
  }
}
