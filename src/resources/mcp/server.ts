import type { McpServerFactory } from "@modelcontextprotocol/server";
import { AppError, InvalidInput } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { valueFaults } from "../../base/json-schema.ts";
import type { Context } from "../../context.ts";
import { version } from "../../version.ts";
import type { ToolUser } from "../agents/tools/contract.ts";
import { withProgress } from "./progress.ts";
import { outsideResources, RESOURCE_TEMPLATES, readResource } from "./resources.ts";
import { type OutsideTool, outsideTool, outsideTools } from "./tools.ts";

const INSTRUCTIONS =
  "Weir runs automations and keeps a data lake. query reads the lake with SQL, datasets lists its tables; action_ and automation_ tools run what the team has set up and wait for its end. Everything is done as the person whose token this is, and appears in the audit log.";

/** Creates the server of one request. If the client disconnects, what its call started is cancelled. */
export async function weirServer(ctx: Context, user: ToolUser, request: Request): Promise<McpServerFactory> {
  const { ResourceNotFoundError, Server } = await import("@modelcontextprotocol/server");
  return () => {
    const server = new Server(
      { name: "weir", version },
      { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
    );
    server.setRequestHandler("tools/list", async () => ({
      tools: (await outsideTools(ctx, user)).map(({ name, description, inputSchema, isReading }) => ({
        name,
        description,
        inputSchema: { ...inputSchema, type: "object" as const },
        annotations: { readOnlyHint: isReading, destructiveHint: !isReading, openWorldHint: !isReading },
      })),
    }));
    server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
      const input = isObject(params.arguments as Json) ? (params.arguments as JsonObject) : {};
      const tool = await outsideTool(ctx, user, params.name);
      const signal = AbortSignal.any([mcpReq.signal, request.signal]);
      const token = mcpReq._meta?.progressToken;
      const work = () => carryOut(ctx, tool as OutsideTool, input, signal);
      if (tool && token === undefined) return work();
      if (tool && token !== undefined)
        return withProgress(
          ctx,
          (progress) =>
            mcpReq.notify({
              method: "notifications/progress",
              params: { progressToken: token, ...progress },
            }),
          work(),
        );
      const isLacking =
        ctx.scopes && !ctx.scopes.includes("run") && /^(action|automation)_/.test(params.name);
      return failed(
        isLacking ? "This access token lacks the scope run." : `There is no tool ${params.name}.`,
      );
    });
    server.setRequestHandler("resources/list", async () => ({ resources: await outsideResources(ctx) }));
    server.setRequestHandler("resources/templates/list", async () => ({
      resourceTemplates: [...RESOURCE_TEMPLATES],
    }));
    server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
      const found = await readResource(ctx, uri).catch((error: unknown) => {
        if (error instanceof AppError && error.code === "not_found") throw new ResourceNotFoundError(uri);
        throw error;
      });
      return { contents: [found] as never };
    });
    return server;
  };
}

/** Handles one MCP request, of revision 2026-07-28 or of an earlier one without a session. */
export async function answerMcp(factory: McpServerFactory, request: Request, body: Json): Promise<Response> {
  const { createMcpHandler } = await import("@modelcontextprotocol/server");
  return createMcpHandler(factory).fetch(request, { parsedBody: body });
}

interface CallResult {
  [key: string]: unknown;
  content: { type: "text"; text: string }[];
  structuredContent?: JsonObject;
  isError?: boolean;
}

/** Errors are returned as the tool's own, so that the model can correct its call. */
async function carryOut(
  ctx: Context,
  tool: OutsideTool,
  input: JsonObject,
  signal: AbortSignal,
): Promise<CallResult> {
  const faults = valueFaults(tool.inputSchema, input).slice(0, 10);
  if (faults.length > 0) {
    return failed(
      `The arguments do not fit: ${faults.map(({ path, message }) => `${path.join(".") || "they"}: ${message}`).join("; ")}`,
    );
  }
  try {
    const value = await tool.call(ctx.ids.uuid(), input, signal);
    const text = JSON.stringify(value);
    return { content: [{ type: "text", text }], ...(isObject(value) ? { structuredContent: value } : {}) };
  } catch (error) {
    if (error instanceof InvalidInput)
      return failed(error.faults.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; "));
    if (error instanceof AppError && error.code !== "internal") return failed(error.message);
    if (signal.aborted) return failed("The call was ended.");
    ctx.log.report(error, { loop: "mcp" });
    return failed("The tool failed unexpectedly.");
  }
}

const failed = (text: string): CallResult => ({ content: [{ type: "text", text }], isError: true });
