import { startModern } from "./mcp-modern.ts";

/** What is forged; `OWN` in a text is the forger's own origin. */
interface Forgery {
  /** URL where the MCP server says that its metadata is. */
  metadataUrl?: string;
  /** The resource that it claims to be. */
  resource?: string;
  /** The authorization servers that it names. */
  issuers?: string[];
  /** Fields of the OAuth server's metadata. */
  server?: Record<string, unknown>;
  /** Response of its token endpoint. */
  token?: () => Response;
}

/** An MCP server and an OAuth server with forged metadata. They accept no one. */
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
