import { timestamp } from "../../base/clock.ts";
import { AppError, type Fault, InvalidInput } from "../../base/errors.ts";
import type { EndpointDefinition, ToolDefinition } from "../../catalog/contract.ts";
import { toolHash } from "../../catalog/tools.ts";
import type { WriteContext } from "../../context.ts";
import { insertInto } from "../../store/prepared.ts";
import { apiCatalogItems, type ItemRow } from "./table.ts";
import type { EndpointInput, ToolInput } from "./wire.ts";

/** The entry that an item belongs to. */
export interface ItemOwner {
  apiId: string;
  organizationId: string;
}

/** Merges an endpoint from a request with its previous definition. A new one needs method and path. */
export function endpointOf(input: EndpointInput, before: EndpointDefinition | null): EndpointDefinition {
  const listing = kept(input.listing, before?.listing, null);
  return {
    name: input.name,
    description: kept(input.description, before?.description, null),
    method: input.method ?? before?.method ?? "GET",
    path: input.path ?? before?.path ?? "/",
    headers: kept(input.headers, before?.headers, {}),
    queryTemplate: kept(input.queryTemplate, before?.queryTemplate, {}),
    bodyTemplate: kept(input.bodyTemplate, before?.bodyTemplate, null),
    inputSchema: kept(input.inputSchema, before?.inputSchema, null),
    responseExtract: kept(input.responseExtract, before?.responseExtract, null) || null,
    source: kept(input.source, before?.source, null),
    unverified: input.unverified ?? before?.unverified ?? false,
    ...(listing ? { listing } : {}),
  };
}

/** Returns the given value. Undefined keeps the previous value, null removes it. */
const kept = <T>(value: T | null | undefined, before: T | undefined, nothing: T): T =>
  value === undefined ? (before ?? nothing) : (value ?? nothing);

export function toolOf(input: ToolInput, before: ToolDefinition | null): ToolDefinition {
  return {
    upstreamName: input.upstreamName,
    name: kept(input.name, before?.name, input.upstreamName),
    title: kept(input.title, before?.title, null),
    description: kept(input.description, before?.description, null),
    inputSchema: kept(input.inputSchema, before?.inputSchema, null),
    outputSchema: kept(input.outputSchema, before?.outputSchema, null),
    annotations: kept(input.annotations, before?.annotations, null),
  };
}

export const newEndpoint = (owner: ItemOwner, input: EndpointInput, position: number): ItemRow => ({
  ...owner,
  name: input.name,
  position,
  enabled: input.enabled ?? true,
  approvalRequired: input.approvalRequired ?? false,
  trusted: false,
  status: "active",
  definition: endpointOf(input, null),
  definitionHash: null,
  pending: null,
  firstSeenAt: null,
  lastSeenAt: null,
});

/**
 * Returns a new tool. If the request has a definition, the server's must match it from the start,
 * otherwise from the first query of the server on.
 */
export function newTool(tx: WriteContext, owner: ItemOwner, input: ToolInput, position: number): ItemRow {
  const definition = toolOf(input, null);
  const isKnown = definition.inputSchema !== null;
  const at = isKnown ? timestamp(tx.clock) : null;
  return {
    ...owner,
    name: input.upstreamName,
    position,
    enabled: input.enabled ?? true,
    approvalRequired: input.approvalRequired ?? false,
    trusted: input.trusted ?? false,
    status: "active",
    definition,
    definitionHash: input.definitionHash ?? (isKnown ? toolHash(definition) : null),
    pending: null,
    firstSeenAt: at,
    lastSeenAt: at,
  };
}

/** Returns required fields that a new endpoint lacks. */
export function refuseIncomplete(inputs: readonly EndpointInput[], isNew: (name: string) => boolean): void {
  const faults: Fault[] = inputs.flatMap((input, index) =>
    isNew(input.name)
      ? (["method", "path"] as const)
          .filter((field) => input[field] === undefined)
          .map((field) => ({
            loc: ["body", "endpoints", String(index), field],
            msg: "Field required for a new endpoint",
            type: "missing",
          }))
      : [],
  );
  if (faults.length > 0) throw new InvalidInput(faults);
}

const insertRows = insertInto(apiCatalogItems);
/** Number of rows per statement. */
const BATCH = 20;

export async function insertItems(tx: WriteContext, items: readonly ItemRow[]): Promise<void> {
  const whole = items.length - (items.length % BATCH);
  for (let start = 0; start < whole; start += BATCH) {
    await insertRows(tx.db, ...items.slice(start, start + BATCH));
  }
  for (const item of items.slice(whole)) await insertRows(tx.db, item);
}

/** Only admins can decide what needs approval (docs/decisions/sign-in.md). */
export const adminOnly = (what: string) =>
  new AppError(
    "forbidden",
    `${what} can only be changed by an admin: it decides what is called without approval.`,
  );
