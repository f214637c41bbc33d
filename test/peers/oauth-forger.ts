import { startModern } from "./mcp-modern.ts";

/** What is said wrongly; `OWN` in a text is the forger's own origin. */
interface Forgery {
  /** Where the MCP server says that it is described. */
  metadataUrl?: string;
  /** What it calls itself. */
  resource?: string;
  /** Who it says lets people in. */
  issuers?: string[];
  /** Of the OAuth server's description. */
  server?: Record<string, unknown>;
  /** What its token endpoint gives. */
  token?: () => Response;
}

/** An MCP server and an OAuth server that describe themselves as they are told to; they let in nobody. */
export async function startForgedSignIn({
  metadataUrl,
  resource,
  issuers,
  server = {},
  token = () => Response.json({ access_token: "x", token_type: "Bearer" }),
}: Forgery) {
  const requests: string[] = [];
  const oauth = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request): Response {
      const { origin, pathname } = new URL(request.url);
      requests.push(`${request.method} ${pathname}`);
      if (pathname === "/reg") return Response.json({ client_id: "weir" }, { status: 201 });
      if (!pathname.startsWith("/.well-known/")) return token();
      const told: Record<string, unknown> = {
        issuer: origin,
        authorization_endpoint: `${origin}/auth`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/reg`,
        code_challenge_methods_supported: ["S256"],
        ...server,
      };
      return Response.json(JSON.parse(JSON.stringify(told).replaceAll("OWN", origin)));
    },
  });
  const peer = startModern({
    async guard(request) {
      const place = metadataUrl ?? `${new URL(request.url).origin}/.well-known/oauth-protected-resource/mcp`;
      return new Response(null, {
        status: 401,
        headers: { "www-authenticate": `Bearer resource_metadata="${place}"` },
      });
    },
  });
  const own = new URL(peer.url).origin;
  peer.state.documents = {
    "/.well-known/oauth-protected-resource/mcp": {
      resource: (resource ?? peer.url).replace("OWN", own),
      authorization_servers: issuers ?? [oauth.url.origin],
    },
  };
  return {
    url: peer.url,
    requests,
    async [Symbol.asyncDispose]() {
      await Promise.all([peer.stop(), oauth.stop(true)]);
    },
  };
}
