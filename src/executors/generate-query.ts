import { Type } from "@sinclair/typebox";
import { AppError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { anything, described, map, named, nullable, object, optional, uuid } from "../base/shape.ts";
import { type Done, defineExecutor } from "./contract.ts";
import { sourceFaults } from "./explain-schema.ts";
import { answerOf } from "./model/answer.ts";
import { openSchema, schemaText } from "./schema/live.ts";
import { namesIn } from "./schema/mentions.ts";

const DEFAULT_ROWS = 100;

const SYSTEM =
  "You write SQL for people who ask in words. Write one read-only SELECT in the dialect that is named, over the tables that are listed and no others, with their names exactly as they stand. Where the question can't be answered from them, say so in the explanation and select what comes nearest.";

const ANSWER: JsonObject = {
  type: "object",
  required: ["sql", "explanation"],
  properties: { sql: { type: "string", minLength: 1, maxLength: 50_000 }, explanation: { type: "string" } },
  additionalProperties: false,
};
type Answer = JsonObject & { sql: string; explanation: string };

/**
 * Turns a question into one SELECT whose names are resolved against the live schema, and runs it if requested.
 *
 * A second attempt is safe: it only reads, although the model may answer differently.
 */
export const generateQuery = defineExecutor({
  kind: "generate_query",
  title: "Generate a query",
  description:
    "Has a model write one read-only SELECT for a question, and checks it against the actual tables.",
  providers: [],
  hasEffects: () => false,
  definition: object({
    question: described("Question that the SQL should answer", named(10_000)),
    connectionId: optional(
      described("ID of the connection to a database. If omitted, the SQL is for the lake", uuid()),
    ),
    datasets: optional(
      described(
        "Datasets of the lake that the SQL can use, by name or as layer.dataset. Default: all",
        Type.Array(named(400), { maxItems: 100 }),
      ),
    ),
    dialect: optional(
      described(
        "Expected SQL dialect: duckdb, postgres or mysql. The run fails if the source has another one",
        named(100),
      ),
    ),
    execute: optional(
      described("Whether to run the SQL and return its rows", Type.Boolean({ default: false })),
    ),
    maxRows: optional(
      described(
        "Maximum number of rows",
        Type.Integer({ minimum: 1, maximum: 10_000, default: DEFAULT_ROWS }),
      ),
    ),
  }),
  result: object({
    sql: Type.String(),
    explanation: Type.String(),
    tables: Type.Array(Type.String()),
    columns: Type.Array(Type.String()),
    valid: Type.Boolean(),
    rows: nullable(Type.Array(map(anything()))),
    truncated: Type.Boolean(),
    warnings: optional(Type.Array(Type.String())),
    usage: object({ inputTokens: Type.Integer(), outputTokens: Type.Integer() }),
  }),
  check: sourceFaults,

  async execute(
    ctx,
    { question, dialect, execute = false, maxRows = DEFAULT_ROWS, ...source },
  ): Promise<Done> {
    ctx.progress({ phase: "read", message: "Reading the schema" });
    const schema = await openSchema(ctx, source);
    if (dialect !== undefined && dialect.toLowerCase() !== schema.dialect) {
      throw new AppError(
        "definition_invalid",
        `The SQL is for ${schema.dialect}, and the definition's dialect is ${dialect}. Remove it.`,
      );
    }
    ctx.progress({ phase: "ask", message: "Asking the model" });
    let wrong = "";
    const { value, usage } = await answerOf<Answer>(
      ctx,
      { system: `${SYSTEM}\n\n${schemaText(schema)}`, prompt: question, schema: ANSWER },
      async ({ sql }) => {
        wrong = await schema.check(sql).then(
          () => "",
          (error: unknown) => {
            if (error instanceof AppError && error.code === "sql_error") return error.message;
            throw error;
          },
        );
        return wrong === "" ? null : `The SQL does not hold: ${wrong}`;
      },
    ).catch((error: unknown) => {
      if (wrong === "") throw error;
      throw new AppError(
        "unknown_identifier",
        `The model's SQL doesn't match the tables, even after a correction: ${wrong}`,
        { cause: error },
      );
    });
    const { sql, explanation } = value;
    const named = schema.named(sql);
    const tables = schema.tables.filter(({ name }) => named.has(name));
    const used = namesIn(sql);
    const columns = [
      ...new Set(tables.flatMap((table) => table.columns.map((column) => column.name))),
    ].filter((name) => used.has(name.toLowerCase()));
    const done = execute ? await schema.select(sql, maxRows) : null;
    ctx.log("info", `The SQL holds${done ? `, and returned ${done.rows.length} rows` : ""}.`);
    return {
      reads: done ? schema.reads(sql) : [],
      result: {
        sql,
        explanation,
        tables: tables.map(({ name }) => name),
        columns,
        valid: true,
        rows: done?.rows ?? null,
        truncated: done?.truncated ?? false,
        ...(done?.truncated ? { warnings: [`Only the first ${maxRows} rows were kept.`] } : {}),
        usage: { ...usage },
      },
    };
  },
});
