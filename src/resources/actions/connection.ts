import { and, eq } from "drizzle-orm";
import type { Fault } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { WriteContext } from "../../context.ts";
import type { ActionKind } from "../../executors/contract.ts";
import type { Provider } from "../../providers/contract.ts";
import { httpTemplateProvider } from "../../providers/http-template/http-template.ts";
import { connections } from "../connections/table.ts";

/**
 * Returns why `kind` can't use this connection:
 * it must belong to the organization, and its provider must be supported by the kind.
 */
export async function connectionFault(
  tx: WriteContext,
  id: string,
  kind: ActionKind | undefined,
): Promise<{ msg: string; type: string } | null> {
  const [row] = await tx.db
    .select({ provider: connections.provider })
    .from(connections)
    .where(and(eq(connections.organizationId, tx.organizationId), eq(connections.id, id)));
  if (!row) return { msg: "Connection not found", type: "not_found" };
  const providers = kind ? tx.executors[kind]?.providers : null;
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
  tx: WriteContext,
  kind: ActionKind | undefined,
  definition: JsonObject | undefined,
  loc: readonly string[],
): Promise<Fault[]> {
  const faults: Fault[] = [];
  // A kind without a connection of its own checks each named connection itself.
  const isOwn = kind !== undefined && tx.executors[kind]?.providers?.length !== 0;
  for (const { path, id, refusal } of (kind && definition && tx.executors[kind]?.connections?.(definition)) ||
    []) {
    const fieldPath = [...loc, ...path];
    const fault = await connectionFault(tx, id, isOwn ? kind : undefined);
    if (fault) faults.push({ loc: fieldPath, ...fault });
    else {
      const named = await settingsFor(tx, id);
      const msg = named ? refusal(named.provider, named.config) : null;
      if (msg) faults.push({ loc: fieldPath, msg, type: "value_error" });
    }
  }
  return faults;
}

/** Returns why a definition doesn't suit its connection, or lacks one. */
export async function sourceFaults(
  tx: WriteContext,
  {
    kind,
    connectionId,
    definition,
  }: { kind?: ActionKind; connectionId?: string | null; definition?: JsonObject },
  loc: readonly string[],
): Promise<Fault[]> {
  const check = kind && tx.executors[kind]?.checkSource;
  if (!check || !definition || Object.keys(definition).length === 0) return [];
  const provider = (connectionId ? await settingsFor(tx, connectionId) : null)?.provider ?? null;
  return (provider || !connectionId ? check(definition, provider) : []).map(({ path, message }) => ({
    loc: [...loc, ...path],
    msg: message,
    type: "value_error",
  }));
}

/** Null if this version has no such provider. */
async function settingsFor(
  tx: WriteContext,
  id: string,
): Promise<{ provider: Provider; config: JsonObject } | null> {
  const { provider: name, definition, config } = connections;
  const [row] = await tx.db
    .select({ name, definition, config })
    .from(connections)
    .where(and(eq(connections.organizationId, tx.organizationId), eq(connections.id, id)));
  const provider = row?.definition ? httpTemplateProvider(row.definition) : tx.providers.get(row?.name ?? "");
  return row && provider ? { provider, config: row.config } : null;
}
