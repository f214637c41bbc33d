import { Type } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import { isObject, type Json } from "../../base/json.ts";
import { anything, described, map, object, optional } from "../../base/shape.ts";
import type { Sql, SqlJob } from "../../sql/contract.ts";

/** A test that must pass before anything is written. */
export interface TransformTest {
  name: string;
  sql: string;
  expect?: Json;
  parameters?: Record<string, Json>;
}

export const TransformTestShape = object({
  name: Type.String({
    minLength: 1,
    maxLength: 255,
    description: "Name of the test, shown if it fails",
    examples: ["No order twice"],
  }),
  sql: Type.String({
    minLength: 1,
    maxLength: 100_000,
    description:
      "One SELECT. It can read the new rows as `output`, and all tables; the written table is as it will be afterwards.",
  }),
  expect: optional(
    Type.Unsafe<Json>({
      description:
        "Expected result: a list of rows, an object with fields of the first row, or the value of its first column. Default: no rows.",
    }),
  ),
  parameters: optional(described("Values for $name in the SQL", map(anything()))),
});

/** Maximum number of rows to compare; of more, the first ones are shown. */
const MAX_ROWS = 1_000;
const MAX_SHOWN_CHARACTERS = 300;

/**
 * Runs all tests. Throws `test_failed` naming the failed ones, each with its result, and `sql_error` for invalid SQL.
 */
export async function runTests(
  sql: Sql,
  tests: readonly TransformTest[],
  jobOf: (test: TransformTest) => Promise<SqlJob>,
): Promise<void> {
  const failed: { name: string; message: string }[] = [];
  for (const test of tests) {
    const { rows } = await sql.query(await jobOf(test), MAX_ROWS).catch((error: unknown) => {
      if (!(error instanceof AppError) || error.code !== "sql_error") throw error;
      throw new AppError("sql_error", `The test ${quote(test.name)}: ${error.message}`, { cause: error });
    });
    const message = faultOf(test.expect, rows);
    if (message !== null) failed.push({ name: test.name, message });
  }
  const [first, ...others] = failed;
  if (!first) return;
  const more =
    others.length === 0 ? "" : ` These failed too: ${others.map(({ name }) => quote(name)).join(", ")}.`;
  throw new AppError(
    "test_failed",
    `The test ${quote(first.name)} failed: ${first.message} Nothing was written.${more}`,
    { details: { tests: failed } },
  );
}

const quote = (text: string) => `"${text}"`;

/** Returns what is wrong with the rows, as a sentence. Null if they are as expected. */
function faultOf(expect: Json | undefined, rows: readonly Record<string, Json>[]): string | null {
  const [first] = rows;
  if (expect === undefined) {
    if (!first) return null;
    const count = rows.length < MAX_ROWS ? String(rows.length) : `at least ${MAX_ROWS}`;
    return `it should return no rows, but returned ${count}, the first ${shown(first)}.`;
  }
  if (Array.isArray(expect)) {
    return same(expect, rows as Json)
      ? null
      : `it should return ${shown(expect)}, but returned ${shown(rows)}.`;
  }
  if (!first) return `it should return ${shown(expect)}, but returned no rows.`;
  if (isObject(expect)) {
    const wrong = Object.keys(expect).filter((name) => !same(expect[name] ?? null, first[name] ?? null));
    return wrong.length === 0 ? null : `it should return ${shown(expect)}, but returned ${shown(first)}.`;
  }
  const value = Object.values(first)[0] ?? null;
  return same(expect, value) ? null : `it should return ${shown(expect)}, but returned ${shown(value)}.`;
}

/** Decimals and large numbers are text here, compared by their value. */
function same(expected: Json, actual: Json): boolean {
  if (typeof expected === "number" && typeof actual === "string")
    return actual.trim() !== "" && Number(actual) === expected;
  if (Array.isArray(expected) && Array.isArray(actual))
    return expected.length === actual.length && expected.every((item, at) => same(item, actual[at] ?? null));
  if (isObject(expected) && isObject(actual)) {
    const names = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    return [...names].every((name) => same(expected[name] ?? null, actual[name] ?? null));
  }
  return expected === actual;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text;
}
