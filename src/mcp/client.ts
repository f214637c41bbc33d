import { hideSecrets } from "../base/hide.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import type { ToolDefinition } from "../catalog/contract.ts";
import { cleanTool } from "../catalog/tools.ts";
import { sseWire } from "./http-sse.ts";
import { legacyWire } from "./legacy.ts";
import { CALL_PATIENCE, LIST_PATIENCE, MAX_PAGES, MAX_TOOLS, type Patience } from "./limits.ts";
import { MODERN_VERSION, modernWire, probeModern } from "./modern.ts";
import { headersFor, paramHeaders } from "./param-headers.ts";
import { type McpServer, type McpWire, OtherEra } from "./wire.ts";

export type { McpServer };

/** A client of an MCP server of any revision. */
export interface McpClient {
  readonly era: McpWire["era"];
  /** Requests to the person or a model that were declined during calls, as sentences. */
  readonly declined: readonly string[];
  /** Returns all tools, sanitized. `warnings` lists what can't be used. */
  listTools(): Promise<{ tools: ToolDefinition[]; warnings: string[] }>;
  /** Throws `upstream` if the server rejects the call. A tool that fails says so in its result. */
  callTool(
    tool: Pick<ToolDefinition, "upstreamName" | "inputSchema">,
    input: JsonObject,
  ): Promise<JsonObject>;
  /** Ends the session, if any. Never throws. */
  close(): Promise<void>;
}

/** Revision last used with each server, by URL. Kept as long as its egress policy. */
const eras = new WeakMap<object, Map<string, "modern" | "legacy">>();
const MAX_ERAS = 1_000;

/**
 * Detects the server's revision, newest first: 2026-07-28, then a session, then HTTP+SSE.
 * Throws `upstream`, `timeout`, `egress_blocked`, and the signal's reason.
 */
export async function openMcp(server: McpServer, patience: Patience = CALL_PATIENCE): Promise<McpClient> {
  return clientOf(await connect(server), patience, server);
}

/** Shorter secrets could be ordinary words in a tool's description. */
const LEAST_SECRET_CHARACTERS = 16;

async function connect(server: McpServer): Promise<McpWire> {
  if (server.transport === "sse") return sseWire(server);
  const known = eras.get(server.egress) ?? new Map<string, "modern" | "legacy">();
  eras.set(server.egress, known);
  const wire = await (known.get(server.url) === "legacy" ? legacyFirst(server) : modernFirst(server));
  if (known.size >= MAX_ERAS) known.clear();
  if (wire.era !== "sse") known.set(server.url, wire.era);
  return wire;
}

async function modernFirst(server: McpServer): Promise<McpWire> {
  try {
    await probeModern(server);
    return modernWire(server);
  } catch (error) {
    if (!(error instanceof OtherEra)) throw error;
    if (error.supported.includes(MODERN_VERSION)) return modernWire(server);
    return legacyOrSse(server);
  }
}

async function legacyFirst(server: McpServer): Promise<McpWire> {
  try {
    return await legacyWire(server);
  } catch (error) {
    if (!(error instanceof OtherEra)) throw error;
    return modernFirst(server); // upgraded in the meantime
  }
}

async function legacyOrSse(server: McpServer): Promise<McpWire> {
  try {
    return await legacyWire(server);
  } catch (error) {
    if (!(error instanceof OtherEra)) throw error;
    return sseWire(server);
  }
}

const clientOf = (wire: McpWire, patience: Patience, { authority }: McpServer): McpClient => ({
  era: wire.era,
  declined: wire.declined,
  async listTools() {
    const listed = await listTools(wire);
    const secrets = authority?.secrets().filter(({ length }) => length >= LEAST_SECRET_CHARACTERS) ?? [];
    return hideSecrets(listed as unknown as JsonObject, secrets) as unknown as typeof listed;
  },
  close: () => wire.close(),
  async callTool({ upstreamName, inputSchema }, input) {
    const wanted = wire.era === "modern" ? paramHeaders(inputSchema) : [];
    const headers = "fault" in wanted ? {} : headersFor(wanted, input);
    return wire.request("tools/call", { name: upstreamName, arguments: input }, patience, headers);
  },
});

async function listTools(wire: McpWire): Promise<{ tools: ToolDefinition[]; warnings: string[] }> {
  const tools = new Map<string, ToolDefinition>();
  const warnings: string[] = [];
  const seen = new Set<string>();
  let cursor: string | null = null;
  for (let page = 1; ; page++) {
    const result: JsonObject = await wire.request(
      "tools/list",
      cursor === null ? {} : { cursor },
      LIST_PATIENCE,
    );
    for (const raw of Array.isArray(result.tools) ? result.tools : []) take(wire, raw, tools, warnings);
    const next = result.nextCursor;
    if (typeof next !== "string" || next === "") break;
    if (seen.has(next)) {
      warnings.push("The server returned the same next page twice. Further tools are missing.");
      break;
    }
    if (page >= MAX_PAGES || tools.size >= MAX_TOOLS) {
      warnings.push(
        `The server has more than ${MAX_PAGES} pages or ${MAX_TOOLS} tools. The rest is omitted.`,
      );
      break;
    }
    seen.add(next);
    cursor = next;
  }
  return { tools: [...tools.values()].slice(0, MAX_TOOLS), warnings: warnings.slice(0, 100) };
}

function take(wire: McpWire, raw: Json, tools: Map<string, ToolDefinition>, warnings: string[]): void {
  const { tool, warnings: own } = cleanTool(raw);
  warnings.push(...own);
  if (tool === null) return;
  const headers = wire.era === "modern" && isObject(raw) ? paramHeaders(tool.inputSchema) : [];
  if ("fault" in headers) warnings.push(`The tool ${tool.upstreamName} is omitted: ${headers.fault}.`);
  else if (tools.has(tool.upstreamName))
    warnings.push(`The tool ${tool.upstreamName} is listed twice. The first one is used.`);
  else tools.set(tool.upstreamName, tool);
}
