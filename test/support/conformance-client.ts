/**
 * The client that the conformance suite of the Model Context Protocol runs, once for each scenario:
 * Weir's own, with a user who approves everything.
 */
import { systemClock } from "../../src/base/clock.ts";
import { openEgress } from "../../src/base/egress.ts";
import { AppError } from "../../src/base/errors.ts";
import type { JsonObject } from "../../src/base/json.ts";
import type { Authority } from "../../src/catalog/contract.ts";
import { openMcp } from "../../src/mcp/client.ts";
import { LIST_PATIENCE } from "../../src/mcp/limits.ts";
import { readChallenge, scopesOf } from "../../src/oauth/challenge.ts";
import {
  authorizationUrl,
  methodFor,
  type OAuthClient,
  ownTokens,
  redeem,
  registerClient,
  scopeFor,
} from "../../src/oauth/client.ts";
import { type AuthorizationServer, discoverAuthorization } from "../../src/oauth/discovery.ts";

const url = process.argv.at(-1) ?? "";
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const context: Record<string, string> = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

const BASE = "http://127.0.0.1:8484";
const REDIRECT = `${BASE}/api/v1/api-catalog/oauth/callback`;
const DOCUMENT = "https://conformance-test.local/client-metadata.json";
const MAX_SIGN_INS = 2;

const egress = openEgress({ allow: ["127.0.0.0/8", "::1"], self: () => null, clock: systemClock });
/** All scenarios run at once. */
const patienceMs = 100_000;
Object.assign(LIST_PATIENCE, { idleMs: patienceMs, totalMs: patienceMs });
const reach = { egress, signal: AbortSignal.timeout(patienceMs) };
const random = () => crypto.randomUUID() + crypto.randomUUID();

let token: string | null = null;
let scope: string | null = null;
let signIns = 0;

function clientOf(server: AuthorizationServer): Promise<OAuthClient> | OAuthClient {
  const { client_id: id, client_secret: secret = null } = context;
  if (id) return { id, secret, method: methodFor(server, secret) };
  if (server.takesDocuments) return { id: DOCUMENT, secret: null, method: "none" };
  return registerClient(reach, server, REDIRECT, BASE);
}

/** Acts like a user: follows redirects, and returns with the result. */
async function signIn(challenge: ReturnType<typeof readChallenge>): Promise<void> {
  const found = await discoverAuthorization(reach, { url, challenge });
  const { server, resource } = found;
  const client = await clientOf(server);
  const isPerson = !scenario.startsWith("auth/client-credentials");
  scope = scopeFor(found, { chosen: null, challenged: challenge?.scope ?? null, before: scope }, isPerson);
  if (!isPerson) {
    token = (await ownTokens(reach, { server, client, resource }, scope)).accessToken;
    return;
  }
  const checks = { redirectUri: REDIRECT, state: random(), verifier: random() };
  const start = await authorizationUrl(reach, { server, client, resource, scope, checks });
  const back = (await fetch(start, { redirect: "manual" })).headers.get("location") ?? "";
  const tokens = await redeem(reach, { server, client, resource }, new URL(back).searchParams, checks);
  token = tokens.accessToken;
}

const authority: Authority = {
  authorize: async () =>
    token === null ? null : { headers: { authorization: `Bearer ${token}` }, query: {}, secrets: [token] },
  async refused({ status, challenge: header }) {
    const challenge = readChallenge(header);
    const mayMend = status === 401 || scopesOf(challenge?.scope) !== null;
    if (!mayMend || ++signIns > MAX_SIGN_INS) return false;
    await signIn(challenge);
    return true;
  },
  secrets: () => [],
};

/** Arguments for a tool: those that the scenario requires, otherwise none. */
const calls = (): { name: string; arguments: JsonObject }[] | null => {
  const given: unknown = (context as Record<string, unknown>).toolCalls;
  return Array.isArray(given) ? given : null;
};

/** Accepts every form unchanged. */
const answer = () => ({});
const client = await openMcp({ url, transport: "http", egress, authority, signal: reach.signal, answer });
try {
  const { tools, warnings } = await client.listTools();
  for (const warning of warnings) console.error(warning);
  const wanted =
    calls() ??
    tools.map(({ upstreamName }) => ({ name: upstreamName, arguments: argumentsOf(upstreamName) }));
  for (const { name, arguments: input } of wanted) {
    const tool = tools.find(({ upstreamName }) => upstreamName === name);
    if (!tool) continue; // Left out for its annotations, which is what the scenario is about.
    try {
      await client.callTool(tool, input);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      console.error(error.message);
      if (error.details?.signIn !== undefined) throw error;
    }
  }
} finally {
  await client.close();
}

function argumentsOf(tool: string): JsonObject {
  return tool === "add_numbers" ? { a: 5, b: 3 } : {};
}
