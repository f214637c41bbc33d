/**
 * A server of the Model Context Protocol, revision 2025-11-25, with a session,
 * and with streamed responses in which it sends requests of its own.
 */
export function startLegacy(
  options: { version?: string; tools?: object[]; pings?: number; breaksOff?: number } = {},
) {
  const sessions = new Set<string>();
  const pongs: unknown[] = [];
  /** The event from which each stream was resumed. */
  const resumed: (string | null)[] = [];
  let held: object | null = null;
  const ended: string[] = [];
  let count = 0;
  const tools = options.tools ?? [{ name: "echo", inputSchema: { type: "object" } }];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const session = request.headers.get("mcp-session-id") ?? "";
      if (request.method === "GET") {
        resumed.push(request.headers.get("last-event-id"));
        const isOver = resumed.length >= (options.breaksOff ?? 0);
        const text = isOver
          ? `data: ${JSON.stringify(held)}\n\n`
          : `id: e${resumed.length + 1}\nretry: 5\ndata: \n\n`;
        return held
          ? new Response(text, { headers: { "content-type": "text/event-stream" } })
          : new Response(null, { status: 405 });
      }
      if (request.method === "DELETE") {
        ended.push(session);
        sessions.delete(session);
        return new Response(null, { status: 200 });
      }
      if (request.method !== "POST") return new Response(null, { status: 405 });
      const { id, method, result, error } = await request.json();
      const fail = (status: number, message: string) =>
        Response.json({ jsonrpc: "2.0", id: null, error: { code: -32000, message } }, { status });
      if (method === "initialize") {
        const fresh = `session-${++count}`;
        sessions.add(fresh);
        const protocolVersion = options.version ?? "2025-11-25";
        const body = {
          protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "legacy", version: "1" },
        };
        return Response.json({ jsonrpc: "2.0", id, result: body }, { headers: { "mcp-session-id": fresh } });
      }
      if (session === "") return fail(400, "Bad Request: Server not initialized");
      if (!sessions.has(session)) return fail(404, "Session not found");
      if (method === undefined) {
        pongs.push(result ?? error);
        return new Response(null, { status: 202 });
      }
      if (id === undefined) return new Response(null, { status: 202 });
      if (method === "tools/list") return Response.json({ jsonrpc: "2.0", id, result: { tools } });
      if (options.breaksOff) {
        held = { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "late" }] } };
        return new Response("id: e1\nretry: 5\ndata: \n\n", {
          headers: { "content-type": "text/event-stream" },
        });
      }
      const asks = [
        { jsonrpc: "2.0", id: "ping-1", method: "ping" },
        { jsonrpc: "2.0", id: "roots-1", method: "roots/list" },
        { jsonrpc: "2.0", id: "ask-1", method: "elicitation/create", params: { message: "Which region?" } },
        { jsonrpc: "2.0", id: "think-1", method: "sampling/createMessage", params: { messages: [] } },
        ...Array.from({ length: options.pings ?? 0 }, (_, n) => ({ jsonrpc: "2.0", id: n, method: "ping" })),
        { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: session }] } },
      ];
      const text = asks
        .map((message) => `event: message\r\ndata: ${JSON.stringify(message)}\r\n\r\n`)
        .join("");
      return new Response(text, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    pongs,
    resumed,
    ended,
    /** Deletes all sessions, as a restart of the server does. */
    forget: () => sessions.clear(),
    stop: () => server.stop(true),
  };
}
