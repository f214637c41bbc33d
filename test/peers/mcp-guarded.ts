import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Token } from "oidc-provider";
import { ECHO, type ModernOptions, startModern } from "./mcp-modern.ts";
import { adapterOver, quietly, type Stored } from "./openid.ts";

interface Options {
  /** Lifetime of access tokens. */
  lifetimeSeconds?: number;
  /** False: clients can't register themselves. */
  registers?: boolean;
  /** False: there are no refresh tokens. */
  offline?: boolean;
  /** Registered from the start. */
  clients?: object[];
  /** By tool, the scope that it needs in addition to `tools:read`. */
  rights?: Record<string, string>;
  modern?: ModernOptions;
}

/** Reports each use of a token: whose it is, what for, and with which scopes. */
type Use = Pick<Token, "accountId" | "clientId" | "aud" | "scope">;

const SCOPES = "tools:read tools:write";

/** An MCP server that accepts tokens of a separate OAuth server: oidc-provider over a real socket. */
export async function startGuarded({
  lifetimeSeconds = 600,
  registers = true,
  offline = true,
  clients = [],
  rights = {},
  modern = {},
}: Options = {}) {
  const kept = new Map<string, Map<string, Stored>>();
  const requests: string[] = [];
  const state = { failsTokens: null as { status: number; error?: string } | null, refusesAll: false };
  let handle: ((request: IncomingMessage, response: ServerResponse) => void) | null = null;
  const server = createServer((request, response) => {
    const path = request.url?.split("?")[0] ?? "";
    requests.push(`${request.method} ${path}`);
    if (state.failsTokens && path === "/token") {
      const { status, error } = state.failsTokens;
      const type = { "content-type": "application/json" };
      return error === undefined
        ? response.writeHead(status).end()
        : response.writeHead(status, type).end(JSON.stringify({ error }));
    }
    handle?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const uses: Use[] = [];

  const { default: Provider } = await quietly(() => import("oidc-provider"));
  const provider = await quietly(
    async () =>
      new Provider(issuer, {
        clients,
        adapter: adapterOver(kept),
        scopes: ["openid", "offline_access"],
        cookies: { keys: ["a key of the peer"] },
        features: {
          registration: { enabled: registers },
          clientCredentials: { enabled: true },
          revocation: { enabled: true, allowedPolicy: async () => true },
          resourceIndicators: {
            enabled: true,
            defaultResource: () => undefined,
            useGrantedResource: () => true,
            getResourceServerInfo: (_ctx: unknown, audience: string) => ({
              scope: SCOPES,
              audience,
              accessTokenTTL: lifetimeSeconds,
              accessTokenFormat: "opaque",
            }),
          },
        },
        findAccount: (_ctx: unknown, login: string) => ({
          accountId: login,
          claims: async () => ({ sub: login }),
        }),
        issueRefreshToken: async () => offline,
        pkce: { required: () => true },
        rotateRefreshToken: true,
        ttl: {
          AccessToken: lifetimeSeconds,
          ClientCredentials: lifetimeSeconds,
          AuthorizationCode: 60,
          Grant: 86_400,
          Interaction: 600,
          RefreshToken: 86_400,
          Session: 86_400,
        },
      }),
  );
  handle = provider.callback();

  const find = async (token: string): Promise<Token | undefined> =>
    token.length < 30
      ? undefined
      : ((await provider.AccessToken.find(token)) ?? provider.ClientCredentials.find(token));
  const peer = startModern({
    ...modern,
    tools: modern.tools ?? [ECHO, { ...ECHO, name: "write" }],
    async guard(request, name) {
      const place = new URL(request.url);
      const metadata = `${place.origin}/.well-known/oauth-protected-resource/mcp`;
      const refuse = (status: number, more: string) =>
        new Response(null, {
          status,
          headers: { "www-authenticate": `Bearer resource_metadata="${metadata}"${more}` },
        });
      const token = /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1];
      if (!token) return refuse(401, ', scope="tools:read"');
      const found = state.refusesAll ? undefined : await find(token);
      if (!found || found.isExpired || found.aud !== place.href)
        return refuse(401, ', error="invalid_token"');
      const { accountId, clientId, aud, scope } = found;
      uses.push({ accountId, clientId, aud, scope });
      const needed = ["tools:read", ...(name && rights[name] ? [rights[name]] : [])];
      const has = new Set(scope?.split(" "));
      const lacks = needed.filter((each) => !has.has(each)).join(" ");
      return lacks === "" ? null : refuse(403, `, error="insufficient_scope", scope="${lacks}"`);
    },
  });
  const resource = {
    resource: peer.url,
    authorization_servers: [issuer],
    scopes_supported: ["tools:read"],
  };
  peer.state.documents = { "/.well-known/oauth-protected-resource/mcp": resource };
  return {
    ...peer,
    issuer,
    /** The MCP server's description of itself. Can be changed. */
    resource,
    /**
     * Changes its behavior:
     * `failsTokens` is the response of the token endpoint, `refusesAll` makes the MCP server strict.
     */
    faults: state,
    /** Every request to the OAuth server, such as `POST /token`. */
    requests,
    uses,
    /** Issued tokens, in plain text. */
    secrets: () =>
      ["AccessToken", "RefreshToken", "AuthorizationCode", "ClientCredentials"].flatMap((model) => [
        ...(kept.get(model)?.keys() ?? []),
      ]),
    /** Invalidates all of these. */
    forget: (model: "RefreshToken" | "AccessToken" | "Client") => kept.get(model)?.clear(),
    async [Symbol.asyncDispose]() {
      await peer.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
