import { and, eq } from "drizzle-orm";
import type { Fault } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { keepTyped } from "../../base/typed-secrets.ts";
import type { App, Context } from "../../context.ts";
import { ACTION_KINDS, type ActionKind } from "../../executors/contract.ts";
import type { Provider } from "../../providers/contract.ts";
import { httpTemplateProvider } from "../../providers/http-template/http-template.ts";
import { definitionFaults, faultsAt, type Rules, typedFaults } from "../../queue/definition.ts";
import { connections } from "../connections/table.ts";
import { actions } from "./table.ts";

/**
 * Returns why `kind` can't use this connection:
 * it must belong to the organization, and its provider must be supported by the kind.
 */
export async function connectionFault(
  ctx: Context,
  id: string,
  kind: ActionKind | undefined,
): Promise<{ msg: string; type: string } | null> {
  const [row] = await ctx.db
    .select({ provider: connections.provider })
    .from(connections)
    .where(and(eq(connections.organizationId, ctx.organizationId), eq(connections.id, id)));
  if (!row) return { msg: "Connection not found", type: "not_found" };
  const providers = kind ? ctx.executors[kind]?.providers : null;
  if (!providers || providers.includes(row.provider)) return null;
  const msg =
    providers.length === 0
      ? `${kind} doesn't use a connection`
      : `${kind} requires a connection of ${providers.join(", ")}`;
  return { msg, type: "value_error" };
}

/**
 * Returns why a definition can't use the connections that it names by ID: each must belong to the organization and suit
 * its purpose. Empty for a definition that its kind rejects anyway.
 */
export async function namedConnectionFaults(
  ctx: Context,
  kind: ActionKind | undefined,
  definition: JsonObject | undefined,
  loc: readonly string[],
): Promise<Fault[]> {
  const faults: Fault[] = [];
  // A kind without a connection of its own checks each named connection itself.
  const isOwn = kind !== undefined && ctx.executors[kind]?.providers?.length !== 0;
  for (const { path, id, refusal } of (kind &&
    definition &&
    ctx.executors[kind]?.connections?.(definition)) ||
    []) {
    const fieldPath = [...loc, ...path];
    const fault = await connectionFault(ctx, id, isOwn ? kind : undefined);
    if (fault) faults.push({ loc: fieldPath, ...fault });
    else {
      const named = await settingsFor(ctx, id);
      const msg = named ? refusal(named.provider, named.config) : null;
      if (msg) faults.push({ loc: fieldPath, msg, type: "value_error" });
    }
  }
  return faults;
}

/** Returns why a definition doesn't suit its connection, or lacks one. */
export async function sourceFaults(
  ctx: Context,
  { definition, ...work }: Work & { definition?: JsonObject },
  loc: readonly string[],
): Promise<Fault[]> {
  const check = definition && Object.keys(definition).length > 0 ? await sourceRules(ctx, work) : null;
  return check && definition ? faultsAt(loc, check(definition)) : [];
}

interface Work {
  kind?: ActionKind;
  connectionId?: string | null;
}

/** Returns a kind's rules for definitions with this connection. Null if it has none, or for an unknown connection. */
async function sourceRules(ctx: Context, { kind, connectionId }: Work): Promise<Rules | null> {
  const check = kind && ctx.executors[kind]?.checkSource;
  if (!check) return null;
  const provider = (connectionId ? await settingsFor(ctx, connectionId) : null)?.provider ?? null;
  return provider || !connectionId ? (definition) => check(definition, provider) : null;
}

/**
 * Returns what is wrong with the definition and the connection in the raw body of a create request, as far as they can
 * be read.
 */
export async function creationFaults(app: App, raw: Json, ctx: Context | null): Promise<Fault[]> {
  return isObject(raw) ? workFaults(app, raw, ctx) : [];
}

/** `before` is the stored definition, if any. */
async function workFaults(app: App, raw: JsonObject, ctx: Context | null, before?: JsonObject) {
  const { definition = {}, connectionId = null } = raw;
  const kind = ACTION_KINDS.find((each) => each === raw.kind);
  if (!kind) return [];
  const isReadable = ctx !== null && (connectionId === null || typeof connectionId === "string");
  const rules = isReadable ? await sourceRules(ctx, { kind, connectionId }) : null;
  const fault = isReadable && connectionId !== null ? await connectionFault(ctx, connectionId, kind) : null;
  const loc = ["body", "definition"];
  const isDraft = !isObject(definition) || Object.keys(definition).length === 0;
  return [
    ...(isDraft ? [] : definitionFaults(app, kind, definition, loc, rules)),
    ...(isDraft ? [] : typedFaults(definition, loc, before)),
    ...(fault ? [{ loc: ["body", "connectionId"], ...fault }] : []),
  ];
}

/** Returns the errors in the definition and connection of an update that has others. */
export async function updateFaults(ctx: Context, id: string, raw: JsonObject): Promise<Fault[]> {
  const [action] = await ctx.db
    .select()
    .from(actions)
    .where(and(eq(actions.organizationId, ctx.organizationId), eq(actions.id, id)));
  if (!action) return [];
  const { kind, connectionId, definition: before } = action;
  const definition = isObject(raw.definition) ? keepTyped(raw.definition, before) : {};
  return workFaults(ctx, { connectionId, ...raw, kind, definition }, ctx, before);
}

/** Null if this version has no such provider. */
async function settingsFor(
  ctx: Context,
  id: string,
): Promise<{ provider: Provider; config: JsonObject } | null> {
  const { provider: name, definition, config } = connections;
  const [row] = await ctx.db
    .select({ name, definition, config })
    .from(connections)
    .where(and(eq(connections.organizationId, ctx.organizationId), eq(connections.id, id)));
  const provider = row?.definition
    ? httpTemplateProvider(row.definition)
    : ctx.providers.get(row?.name ?? "");
  return row && provider ? { provider, config: row.config } : null;
}
