import { AppError, type Fault } from "../../base/errors.ts";
import { withoutSecrets } from "../../base/hide.ts";
import { isObject, type Json } from "../../base/json.ts";
import { within } from "../../base/within.ts";
import { addressKey } from "../../catalog/addresses.ts";
import type { AuthHint, EndpointDefinition, ToolDefinition } from "../../catalog/contract.ts";
import { type Attempt, type Discovery, discoverHttp } from "../../catalog/discover.ts";
import { hintsOfChallenge } from "../../catalog/openapi-auth.ts";
import { apiReader } from "../../catalog/reader.ts";
import { toolHash } from "../../catalog/tools.ts";
import type { Context } from "../../context.ts";
import { type Access, authorityOf } from "../../executors/http/send.ts";
import { openMcp } from "../../mcp/client.ts";
import { declineAll } from "../../mcp/questions.ts";
import { signInAuthority } from "../catalog-sign-ins/authority.ts";
import { addressFaults } from "./faults.ts";
import { findByAddress } from "./find.ts";
import { accessFor } from "./reach.ts";
import type { DiscoveryRequest, DiscoveryResult } from "./wire-import.ts";

/** Timeout of all requests together. */
const BUDGET_MS = 15_000;

/** Returns what is wrong with the raw body beyond its shape. */
export function discoveryFaults(raw: Json): Fault[] {
  if (!isObject(raw)) return [];
  const { sourceType, baseUrl, specUrl, mcpUrl } = raw;
  const lacks = (field: string, msg: string): Fault => ({ loc: ["body", field], msg, type: "missing" });
  const isGiven = (value: Json | undefined) => value !== undefined && value !== null;
  const faults = [
    ...addressFaults(baseUrl, "baseUrl", "http"),
    ...addressFaults(specUrl, "specUrl", "mcp"),
    ...addressFaults(mcpUrl, "mcpUrl", "mcp"),
  ];
  if (sourceType === "http" && !isGiven(baseUrl) && !isGiven(specUrl))
    faults.push(lacks("baseUrl", "Field required, or specUrl"));
  if (sourceType === "mcp" && !isGiven(mcpUrl)) faults.push(lacks("mcpUrl", "Field required"));
  return faults;
}

/**
 * Discovers what an API offers. Writes nothing. An unreachable server is reported in `attempts`, not thrown. Throws
 * `egress_blocked`, and `InvalidInput` for a connection that can't be used.
 */
export async function discover(
  ctx: Context,
  input: DiscoveryRequest,
  signal: AbortSignal,
): Promise<DiscoveryResult> {
  const limited = within(BUDGET_MS, "The search for what the API can do", signal);
  const access = await accessFor(ctx, input.connectionId, { signal: limited, purpose: "read" });
  try {
    return await (input.sourceType === "http"
      ? discoverApi(ctx, input, access, limited)
      : discoverTools(ctx, input, access, limited));
  } catch (error) {
    throw withoutSecrets(error, access?.secrets() ?? []);
  }
}

async function discoverApi(
  ctx: Context,
  { baseUrl = null, specUrl = null, connectionId = null }: DiscoveryRequest,
  access: Access | null,
  signal: AbortSignal,
): Promise<DiscoveryResult> {
  const authorize = access && (async (url: string) => (isOfOrigin(access, url) ? access.authorize() : null));
  const reach = {
    egress: ctx.egress,
    signal,
    authorize,
    reader: apiReader(ctx.self, signal, ctx.organizationId),
  };
  const found = await discoverHttp(reach, { baseUrl, specUrl });
  const address = found.api?.baseUrl ?? baseUrl;
  const authHints = found.api?.authHints.length ? found.api.authHints : found.challengeHints;
  return {
    ...nothing,
    sourceType: "http",
    transport: null,
    url: null,
    specUrl: found.specUrl ?? specUrl,
    baseUrl: address,
    connectionId,
    count: found.api?.endpoints.length ?? 0,
    endpoints: found.api?.endpoints ?? [],
    existingApi: address === null ? null : await findByAddress(ctx, "http", addressKey(address)),
    authRequired: found.api?.authRequired === true || found.challengeHints.length > 0 || isRefused(found),
    authHints,
    attempts: hidden(found.attempts, access),
    warnings: found.api?.warnings ?? [],
  };
}

/** A 401 without `WWW-Authenticate` gives no hints. */
const isRefused = ({ api, attempts }: Discovery): boolean =>
  api === null && attempts.some(({ status }) => status === 401);

const nothing = {
  kind: "api_capability_discovery" as const,
  endpoints: [] as EndpointDefinition[],
  tools: [] as DiscoveryResult["tools"],
};

const isOfOrigin = ({ baseUrl }: Access, url: string) => new URL(url).origin === new URL(baseUrl).origin;

const hidden = (attempts: Attempt[], access: Pick<Access, "secrets"> | null): Attempt[] =>
  attempts.map(({ error, ...attempt }) => {
    const described =
      error === null ? null : withoutSecrets(new AppError("upstream", error), access?.secrets() ?? []);
    return { ...attempt, error: described === null ? null : (described as AppError).message };
  });

async function discoverTools(
  ctx: Context,
  { mcpUrl, mcpTransport: transport, connectionId = null }: DiscoveryRequest,
  access: Access | null,
  signal: AbortSignal,
): Promise<DiscoveryResult> {
  const url = mcpUrl ?? "";
  if (access && !isOfOrigin(access, url)) {
    const message = `The connection's credentials are sent only to ${new URL(access.baseUrl).host}, not to ${new URL(url).host}.`;
    throw new AppError("invalid", message, { loc: ["body", "connectionId"] });
  }
  const authority = access ? authorityOf(access) : signInAuthority(ctx, { url, entryId: null });
  const attempt: Attempt = { url, status: null, error: null };
  let tools: ToolDefinition[] = [];
  let warnings: string[] = [];
  let authHints: AuthHint[] = [];
  let authRequired = false;
  try {
    const client = await openMcp({
      url,
      transport,
      egress: ctx.egress,
      signal,
      authority,
      answer: declineAll,
    });
    try {
      ({ tools, warnings } = await client.listTools());
    } finally {
      await client.close();
    }
    attempt.status = 200;
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "egress_blocked") throw error;
    const { status, challenge } = (error.details ?? {}) as { status?: number; challenge?: string };
    attempt.status = status ?? null;
    attempt.error = error.message;
    authRequired = status === 401;
    authHints = hintsOfChallenge(challenge ?? null);
  }
  return {
    ...nothing,
    sourceType: "mcp",
    transport,
    url,
    specUrl: null,
    baseUrl: null,
    connectionId,
    count: tools.length,
    tools: tools.map((tool) => ({ ...tool, definitionHash: toolHash(tool) })),
    existingApi: await findByAddress(ctx, "mcp", addressKey(url)),
    authRequired,
    authHints,
    attempts: hidden([attempt], authority),
    warnings,
  };
}
