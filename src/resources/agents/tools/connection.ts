import { AppError } from "../../../base/errors.ts";
import type { Json } from "../../../base/json.ts";
import type { AgentTool } from "../../../models/contract.ts";
import { listColumns, listFiles, listTables } from "../../connections/browse.ts";
import { providerOf } from "../../connections/input.ts";
import { findConnectionBySlug } from "../../connections/service.ts";
import type { ToolSource } from "./contract.ts";
import { toolName } from "./names.ts";

const MAX_TABLES = 500;

/** Lists what a connected system contains: names of files, tables and columns. Never returns content or credentials. */
export const connectionTool: ToolSource = {
  async open(ctx, slug) {
    const row = await findConnectionBySlug(ctx, slug).catch((error: unknown) => {
      throw error instanceof AppError && error.code === "not_found"
        ? new AppError("not_found", `connection ${slug} not found`)
        : error;
    });
    if (row.status === "disabled")
      throw new AppError("connection_disabled", `the connection ${slug} is disabled`);
    const provider = providerOf(ctx, row);
    const purposeOf = (isApproved: boolean) => (isApproved ? "approved" : "read");
    const common = {
      approvalRequired: row.approvalRequired === "all",
      fingerprint: `${row.id} ${row.updatedAt}`,
    };
    const of = `of the connection "${row.name}" (${provider.title})`;
    const tools: AgentTool[] = [];
    if (provider.files)
      tools.push({
        ...common,
        name: toolName("connection", slug, "files"),
        description: `Lists a folder ${of}.`,
        inputSchema: {
          type: "object",
          properties: {
            path: { type: "string", maxLength: 1024 },
            pageToken: { type: "string", maxLength: 2048 },
          },
          additionalProperties: false,
        },
        async call({ input: { path = "/", pageToken }, signal, isApproved }) {
          const page = typeof pageToken === "string" ? { page_token: pageToken } : {};
          return (await listFiles(
            ctx,
            row.id,
            { path: String(path), ...page },
            signal,
            purposeOf(isApproved),
          )) as unknown as Json;
        },
      });
    if (provider.tables)
      tools.push(
        {
          ...common,
          name: toolName("connection", slug, "tables"),
          description: `Lists the tables ${of}.`,
          inputSchema: { type: "object", properties: {}, additionalProperties: false },
          async call({ signal, isApproved }) {
            const tables = await listTables(ctx, row.id, false, signal, purposeOf(isApproved));
            return { tables: tables.slice(0, MAX_TABLES), total: tables.length } as unknown as Json;
          },
        },
        {
          ...common,
          name: toolName("connection", slug, "columns"),
          description: `Lists the columns of a table ${of}.`,
          inputSchema: {
            type: "object",
            properties: {
              schema: { type: "string", minLength: 1, maxLength: 255 },
              table: { type: "string", minLength: 1, maxLength: 255 },
            },
            required: ["schema", "table"],
            additionalProperties: false,
          },
          async call({ input, signal, isApproved }) {
            const table = { schema: String(input.schema), table: String(input.table) };
            return {
              ...table,
              columns: await listColumns(ctx, row.id, table, signal, purposeOf(isApproved)),
            } as unknown as Json;
          },
        },
      );
    if (tools.length === 0) throw new AppError("bad_request", `${provider.title} has no files or tables`);
    return tools;
  },
};
