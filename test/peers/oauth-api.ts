import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** How a system deviates from RFC 6749. */
interface Oddities {
  /** Refresh tokens are only issued with `access_type=offline` (Google). */
  needsOffline?: boolean;
  /** Each refresh returns another refresh token; using the previous one again revokes everything (Xero, HubSpot). */
  rotates?: boolean;
  /** `expires_in` is a string (QuickBooks). */
  textSeconds?: boolean;
  /** Errors have status 200 (GitHub, Slack). */
  errorsAs200?: boolean;
  /** Granted scopes, whatever was requested. */
  grants?: string;
  /** Omitted if null. */
  tokenType?: string | null;
  /** Responses of the token endpoint are forms. */
  formReplies?: boolean;
  /** Parameters with other names (Amazon). */
  names?: { client: string; code: string };
  /** Identifies the issuer (RFC 9207). */
  issuer?: string;
  noRefresh?: boolean;
  /** A refresh returns the existing access token, extended (Salesforce). */
  keepsToken?: boolean;
}

export const OAUTH_CLIENT = { clientId: "weir:app+1", clientSecret: "a secret of:weir+and/its app" };

interface Grant {
  id: string;
  refreshToken: string | null;
  isRevoked: boolean;
  accessToken?: string;
}

/**
 * An HTTP API whose users sign in by OAuth 2.0 (authorization code with PKCE), at one origin: `/authorize` accepts
 * everyone immediately, `/token` is strict, `/api/me` and `/api/items` require a token. `await using` ends it.
 */
export async function startOAuthApi(odd: Oddities = {}) {
  const codes = new Map<
    string,
    { redirectUri: string; challenge: string | null; offline: boolean; scope: string }
  >();
  const tokens = new Map<string, { grant: Grant; until: number; scope: string }>();
  const grants: Grant[] = [];
  const spent = new Map<string, Grant>();
  const requests: string[] = [];
  const authorizations: URLSearchParams[] = [];
  const state = {
    lifetimeSeconds: 3_600,
    /** Milliseconds that a refresh takes. */
    delayMs: 0,
    refreshes: 0,
    /** Instead of the token endpoint's response. */
    instead: null as { status: number; body: string } | null,
    denies: false,
    /** Rejects all access tokens. */
    isShut: false,
    /** Called for each refresh, when its token is used up and no response is sent yet. */
    asked: (() => undefined) as () => void,
    /** Called for each refresh, right after its response was sent. */
    answered: (() => undefined) as () => void,
    now: () => Date.now(),
  };
  let made = 0;
  const next = (name: string) => `${name}-${++made}-${crypto.randomUUID()}`;

  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? "/", origin);
    requests.push(`${request.method} ${url.pathname}`);
    if (url.pathname === "/authorize") return authorize(url.searchParams, response);
    if (url.pathname === "/token")
      return token(request, new URLSearchParams(Buffer.concat(chunks).toString()), response);
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    const held = tokens.get(bearer ?? "");
    if (!held || state.isShut || held.grant.isRevoked || held.until <= state.now())
      return json(response, 401, { error: "expired" });
    if (url.pathname === "/api/items") return json(response, 200, [{ id: 1 }, { id: 2 }]);
    json(response, 200, { name: "Grace", scope: held.scope });
  }

  const json = (response: ServerResponse, status: number, body: object) =>
    void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    authorizations.push(query);
    const back = new URL(query.get("redirect_uri") ?? "");
    back.searchParams.set("state", query.get("state") ?? "");
    if (odd.issuer !== undefined) back.searchParams.set("iss", odd.issuer);
    const isKnown = query.get(odd.names?.client ?? "client_id") === OAUTH_CLIENT.clientId;
    if (!isKnown || query.get("response_type") !== "code")
      return json(response, 400, { error: "invalid_request" });
    if (state.denies) back.searchParams.set("error", "access_denied");
    else {
      const code = next("code");
      codes.set(code, {
        redirectUri: query.get("redirect_uri") ?? "",
        challenge: query.get("code_challenge"),
        offline: query.get("access_type") === "offline",
        scope: query.get("scope") ?? "",
      });
      back.searchParams.set(odd.names?.code ?? "code", code);
    }
    response.writeHead(302, { location: back.href }).end();
  }

  async function token(
    request: IncomingMessage,
    form: URLSearchParams,
    response: ServerResponse,
  ): Promise<void> {
    const reply = (body: Record<string, unknown>, status = 200) => {
      if (!odd.formReplies) return json(response, status, body);
      const text = new URLSearchParams(body as Record<string, string>).toString();
      response.writeHead(status, { "content-type": "application/x-www-form-urlencoded" }).end(text);
    };
    const refuse = (error: string, status = 400) =>
      reply({ error, error_description: "No." }, odd.errorsAs200 ? 200 : status);
    if (state.instead) return void response.writeHead(state.instead.status).end(state.instead.body);
    if (!isClient(request, form)) return refuse("invalid_client", 401);
    if (form.get("grant_type") === "refresh_token") {
      state.refreshes++;
      const sent = form.get("refresh_token") ?? "";
      const family = spent.get(sent);
      if (family) family.isRevoked = true; // A used token may have been stolen.
      const grant = grants.find((each) => each.refreshToken === sent && !each.isRevoked);
      if (!grant) return refuse("invalid_grant");
      if (odd.rotates) {
        spent.set(sent, grant);
        grant.refreshToken = next("refresh");
      }
      state.asked();
      await Bun.sleep(state.delayMs);
      response.once("finish", () => state.answered());
      return reply(issue(grant, odd.grants ?? "read", odd.rotates ? grant.refreshToken : null));
    }
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    if (!code || code.redirectUri !== form.get("redirect_uri")) return refuse("invalid_grant");
    const hashed = new Bun.CryptoHasher("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    if (code.challenge !== null && hashed !== code.challenge) return refuse("invalid_grant");
    const isLasting = !odd.noRefresh && (!odd.needsOffline || code.offline);
    const grant: Grant = {
      id: next("grant"),
      refreshToken: isLasting ? next("refresh") : null,
      isRevoked: false,
    };
    grants.push(grant);
    reply(issue(grant, odd.grants ?? code.scope, grant.refreshToken));
  }

  function issue(grant: Grant, scope: string, refreshToken: string | null) {
    const access = (odd.keepsToken ? grant.accessToken : undefined) ?? next("access");
    grant.accessToken = access;
    tokens.set(access, { grant, scope, until: state.now() + state.lifetimeSeconds * 1000 });
    const type = odd.tokenType === undefined ? "Bearer" : odd.tokenType;
    return {
      access_token: access,
      ...(type === null ? {} : { token_type: type }),
      expires_in: odd.textSeconds ? String(state.lifetimeSeconds) : state.lifetimeSeconds,
      scope,
      ...(refreshToken === null ? {} : { refresh_token: refreshToken }),
    };
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    origin,
    state,
    requests,
    authorizations,
    /** Expires every access token. */
    endTokens: () => {
      for (const held of tokens.values()) held.until = 0;
    },
    /** Revokes the app's access. */
    revoke: () => {
      for (const grant of grants) grant.isRevoked = true;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function isClient(request: IncomingMessage, form: URLSearchParams): boolean {
  const { clientId, clientSecret } = OAUTH_CLIENT;
  const basic = /^Basic (.+)$/.exec(request.headers.authorization ?? "")?.[1];
  if (basic === undefined)
    return form.get("client_id") === clientId && form.get("client_secret") === clientSecret;
  const [id, secret] = Buffer.from(basic, "base64")
    .toString()
    .split(":")
    .map((part) => decodeURIComponent(part.replaceAll("+", " ")));
  return id === clientId && secret === clientSecret;
}
