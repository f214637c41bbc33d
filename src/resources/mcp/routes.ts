import { parseJsonInSlices } from "../../base/json.ts";
import { anything } from "../../base/shape.ts";
import { MAX_VALUES, readBytes } from "../../http/body.ts";
import { operation, Reply } from "../../http/operation.ts";
import { answerMcp, weirServer } from "./server.ts";

/** Headers that are kept from the library's responses. Weir sets all others. */
const KEPT = ["content-type", "cache-control", "allow"];

const REFUSAL = { jsonrpc: "2.0", id: null, error: { code: -32600, message: "Bad Request" } };

/** Spells out an `Accept` that takes any type, or none: the library requires the names of both types. */
function withTypes(sent: Headers): Headers {
  const headers = new Headers(sent);
  const accept = headers.get("accept") ?? "*/*";
  if (accept.includes("*/*")) headers.set("accept", "application/json, text/event-stream");
  return headers;
}

/** Returns the endpoint's operations, with the server that `serverFor` creates. */
export const mcpOperationsOver = (serverFor: typeof weirServer) => [
  operation({
    method: "POST",
    path: "/mcp",
    audience: "viewer",
    challenge: (app) => `resource_metadata="${app.baseUrl()}/.well-known/oauth-protected-resource/mcp"`,
    ownPagesOnly: true, // Required by the protocol: `Origin` is checked first.
    tag: "MCP",
    summary: "MCP endpoint",
    description:
      "Serves actions, automations, SQL and approvals as MCP tools, and datasets, runs and artifacts as resources, with the role of the access token or API key. Long calls report progress. Supports revision 2026-07-28 and earlier, without sessions.",
    consumes: "application/json",
    bodyExample: { jsonrpc: "2.0", id: 1, method: "tools/list" },
    response: anything(),
    example: { jsonrpc: "2.0", id: 1, result: { tools: [] } },
    replies: {
      202: { description: "A notification or a response was accepted." },
      ...Object.fromEntries(
        [400, 404, 406, 415].map((status) => [
          status,
          { description: "The MCP response.", body: anything(), example: REFUSAL },
        ]),
      ),
    },
    async handle({ app, ctx, visit, identity }) {
      const text = new TextDecoder().decode(await readBytes(app, visit));
      const body = await parseJsonInSlices(text, { maxValues: MAX_VALUES });
      visit.keepOpen();
      const { headers, method, signal, url } = visit.request;
      const request = new Request(url, { headers: withTypes(headers), method, signal });
      const user = { id: identity.credentialId, name: "MCP" };
      const response = await answerMcp(await serverFor(ctx, user, request), request, body);
      const names = Object.fromEntries(
        KEPT.flatMap((name) =>
          response.headers.has(name) ? [[name, response.headers.get(name) ?? ""]] : [],
        ),
      );
      return new Reply(response.status, response.body ?? new Blob(), names);
    },
  }),
];

export const mcpOperations = mcpOperationsOver(weirServer);
