import { join } from "node:path";
import { AppError } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { SqlJob } from "../../sql/contract.ts";
import type { Done } from "../contract.ts";
import { asJson, newRows, outputSql, testRows, type Work } from "./work.ts";

/** Maximum number of rows of a result. */
const MAX_ITEMS = 100_000;
/** Rows up to this size are parsed and have an artifact of their own. Longer ones are the result's artifact. */
const MAX_READ_CHARACTERS = 200 * 1024;

/** Returns the rows as the result. Long ones are in `items`, as JSON text. */
export async function intoResult(work: Work, job: SqlJob): Promise<Done & { items?: string[] }> {
  const { ctx, definition } = work;
  const maxRows = Math.min(definition.maxRows ?? MAX_ITEMS, MAX_ITEMS);
  const checkedJob = definition.tests ? await testedRows(work, job) : job;
  const { columns, rows, truncated, json } = await ctx.sql.queryText(checkedJob, maxRows);
  if (truncated && rows < maxRows)
    throw new AppError(
      "result_too_large",
      `The first ${rows} rows already fill a result. Request fewer or shorter ones, or set output.`,
    );
  const warning = `Only the first ${rows} rows were kept.`;
  if (truncated) ctx.log("warn", warning);
  else ctx.log("info", `${rows} rows.`);
  const shown = columns.map(asJson);
  const result = { rows, columns: shown, output: null, ...(truncated ? { warnings: [warning] } : {}) };
  const characters = json.reduce((sum, text) => sum + text.length, 0);
  if (characters > MAX_READ_CHARACTERS) return { result, items: json };
  const items: Json = JSON.parse(json.join(""));
  const data = { columns: shown, rows: items, truncated };
  return { result: { ...result, items }, artifacts: [{ title: "Rows", kind: "json", data }] };
}

/** A result whose items aren't checked. */
export function wholeResult(
  result: JsonObject & { rows?: Json },
  items: readonly string[],
): Pick<Done, "result" | "whole"> {
  const head = JSON.stringify(result).slice(0, -1);
  const json = Buffer.concat([head, ',"items":', ...items, "}"].map((text) => Buffer.from(text)));
  const fields = { ...result, items: `list of ${Number(result.rows)}` };
  return { result: fields, whole: { json, summary: { fields, large: ["items"] } } };
}

/** The rows, after the tests have checked them. */
async function testedRows(work: Work, job: SqlJob): Promise<SqlJob> {
  const { ctx, tables } = work;
  const made = await ctx.sql.materialize(job, join(await ctx.workFolder(), "rows"));
  const output = newRows(made);
  await testRows(work, tables, [output]);
  return { tables: [output], sql: outputSql(made.columns), signal: ctx.signal };
}
