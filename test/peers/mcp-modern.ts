/** A server of the Model Context Protocol, revision 2026-07-28, built from its specification, and faulty on demand. */

export interface ModernTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: object;
  annotations?: object;
}

export interface ModernOptions {
  tools?: ModernTool[];
  /** Number of tools on each page of the list. */
  pageSize?: number;
  /** Returns the same cursor forever. */
  repeatsCursor?: boolean;
  /** Responds to calls with a stream instead of JSON. */
  streams?: boolean;
  /** Sends comments repeatedly, and never a response. */
  drips?: boolean;
  /** Redirects everything there. */
  redirectsTo?: string;
  /** Responds to all requests with this status and body. */
  refuses?: { status: number; body?: object; headers?: Record<string, string> };
  /** Result of a call. Default: its arguments. */
  result?: (name: string, input: Record<string, unknown>) => object;
  /** The required token. */
  token?: string;
  /** Responds to a request instead of the server. Null passes it on. */
  guard?: (request: Request, name: string | null) => Promise<Response | null>;
  /** Documents of its host, by path. */
  documents?: Record<string, object>;
  /** Sends requests of its own before the result of a call, which depends on their answers. */
  asks?: { inputRequests?: object; requestState?: string; isNeverContent?: boolean };
}

export const ECHO: ModernTool = {
  name: "echo",
  title: "Echo",
  description: "Says what it hears.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
};

const VERSION = "2026-07-28";
const META = "io.modelcontextprotocol/protocolVersion";

export function startModern(options: ModernOptions = {}) {
  const heard: { method: string; params: Record<string, unknown>; headers: Record<string, string> }[] = [];
  const state = { ...options, tools: options.tools ?? [ECHO] };
  let closed = 0;

  const listed = (cursor: unknown) => {
    const start = Number(cursor ?? 0);
    const size = state.pageSize ?? state.tools.length;
    const next = start + size;
    const more = state.repeatsCursor
      ? { nextCursor: "0" }
      : next < state.tools.length
        ? { nextCursor: String(next) }
        : {};
    return {
      resultType: "complete",
      tools: state.tools.slice(start, next),
      ...more,
      ttlMs: 0,
      cacheScope: "private",
    };
  };

  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      if (state.redirectsTo) return Response.redirect(state.redirectsTo, 307);
      if (state.refuses) {
        const { status, body, headers } = state.refuses;
        return body ? Response.json(body, { status, headers }) : new Response(null, { status, headers });
      }
      const document = state.documents?.[new URL(request.url).pathname];
      if (document) return Response.json(document);
      if (request.method !== "POST") return new Response(null, { status: 405 });
      if (state.token && request.headers.get("authorization") !== `Bearer ${state.token}`)
        return new Response(null, { status: 401, headers: { "www-authenticate": 'Bearer realm="tools"' } });
      const message = await request.json();
      const { id, method, params = {} } = message;
      const headers = Object.fromEntries(request.headers);
      const refusal = await state.guard?.(request, params.name ?? null);
      if (refusal) return refusal;
      heard.push({ method, params, headers });
      const fail = (status: number, code: number, text: string, data?: object) =>
        Response.json(
          { jsonrpc: "2.0", id, error: { code, message: text, ...(data ? { data } : {}) } },
          { status },
        );
      const asked = params._meta?.[META];
      if (asked !== VERSION || headers["mcp-protocol-version"] !== asked)
        return fail(400, -32022, "Unsupported protocol version", {
          supported: [VERSION],
          requested: asked ?? null,
        });
      if (headers["mcp-method"] !== method) return fail(400, -32020, "Header mismatch");
      const answer = (result: object) => {
        const body = { jsonrpc: "2.0", id, result };
        if (!state.streams) return Response.json(body);
        const text = `: hello\n\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\ndata: ${JSON.stringify(body)}\n\n`;
        return new Response(text, { headers: { "content-type": "text/event-stream" } });
      };
      switch (method) {
        case "server/discover":
          return answer({
            resultType: "complete",
            supportedVersions: [VERSION],
            capabilities: { tools: {} },
            serverInfo: { name: "modern", version: "1" },
          });
        case "tools/list":
          return answer(listed(params.cursor));
        case "tools/call": {
          if (headers["mcp-name"] !== params.name) return fail(400, -32020, "Header mismatch");
          if (!state.tools.some(({ name }) => name === params.name)) return fail(400, -32602, "Unknown tool");
          if (state.drips) return drip(() => closed++);
          if (state.asks && (params.inputResponses === undefined || state.asks.isNeverContent)) {
            const { inputRequests, requestState } = state.asks;
            const wants = {
              ...(inputRequests ? { inputRequests } : {}),
              ...(requestState ? { requestState } : {}),
            };
            const isOver = inputRequests === undefined && params.requestState !== undefined;
            if (!isOver) return answer({ resultType: "input_required", ...wants });
          }
          const result = state.result?.(params.name, params.arguments) ?? {
            content: [{ type: "text", text: JSON.stringify(params.arguments) }],
          };
          return answer({ resultType: "complete", ...result });
        }
        default:
          return fail(404, -32601, "Method not found");
      }
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    /** Changes the server's behavior. */
    state,
    heard,
    /** Number of clients that disconnected from a dripping call. */
    closed: () => closed,
    stop: () => server.stop(true),
  };
}

function drip(gone: () => void): Response {
  let timer: Timer;
  const body = new ReadableStream({
    start(controller) {
      timer = setInterval(() => controller.enqueue(new TextEncoder().encode(": still here\n\n")), 20);
    },
    cancel() {
      clearInterval(timer);
      gone();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
