import { AppError } from "../../../base/errors.ts";
import type { Json } from "../../../base/json.ts";
import { measure } from "../../../base/measure.ts";
import { runQuery } from "../../query/service.ts";
import type { QueryResult } from "../../query/wire.ts";
import type { ToolSource } from "./contract.ts";

const MAX_ROWS = 200;
/** Maximum length of all rows as JSON, in characters. Models read little more. */
const MAX_CHARACTERS = 100_000;

/** Runs SQL over the organization's tables. It stores nothing and can't access anything else. */
export const queryTool: ToolSource = {
  async open(ctx) {
    return [
      {
        name: "query",
        description:
          "Runs one DuckDB SELECT over the organization's tables and returns the rows. Tables are named layer.dataset__table, or layer.dataset where a table has its dataset's own name; the tool datasets lists them. Aggregate in SQL instead of reading many rows.",
        inputSchema: {
          type: "object",
          properties: {
            sql: { type: "string", minLength: 1, maxLength: 100_000 },
            limit: {
              type: "integer",
              minimum: 1,
              maximum: MAX_ROWS,
              description: "Maximum number of rows. Default: 100",
            },
          },
          required: ["sql"],
          additionalProperties: false,
        },
        approvalRequired: false,
        fingerprint: "query",
        async call({ input, signal }) {
          const limit = typeof input.limit === "number" ? input.limit : 100;
          const found = await runQuery(ctx, { sql: String(input.sql), parameters: {}, limit }, signal).catch(
            plain,
          );
          return { ...found, ...cut(found) } as unknown as Json;
        },
      },
    ];
  },
};

/** Returns what replaces the rows if they are too long. */
function cut({ rows }: QueryResult) {
  let characters = 0;
  const fitting = rows.findIndex((row) => {
    characters += measure(row, MAX_CHARACTERS);
    return characters > MAX_CHARACTERS;
  });
  if (fitting === -1) return {};
  const note = `Rows from number ${fitting + 1} on were left out: together, rows can have ${MAX_CHARACTERS.toLocaleString("en-US")} characters. Select fewer or shorter columns.`;
  return { rows: rows.slice(0, fitting), rowCount: fitting, truncated: true, note };
}

/** SQL errors are returned in DuckDB's words, so that the model can correct them. */
function plain(error: unknown): never {
  if (error instanceof AppError && error.loc.length > 0) throw new AppError(error.code, error.message);
  throw error;
}
