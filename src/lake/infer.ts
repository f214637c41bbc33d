import type { Column, SqlSession } from "../sql/contract.ts";
import { quoteName } from "../sql/text.ts";

/** A column of a file as it was read: its name, and the SQL for its values. */
export interface RawColumn {
  name: string;
  /** `text`: a VARCHAR of a file that has only texts. `json`: a JSON value. `typed`: of a file that says its types. */
  kind: "text" | "json" | "typed";
  /** What it is called in the relation that is looked at. */
  source: string;
}

/** What a column of a file becomes. */
export interface Inferred {
  column: Column;
  sql: string;
}

/** So many columns are looked at in one statement. */
const BATCH = 50;

const NUMBER = "-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]{1,3})?";
const DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}";
const TIME = "[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,6})?)?";

const all = (condition: string) => `coalesce(bool_and(${condition}), false)`;
const matches = (text: string, pattern: string) => `regexp_full_match(${text}, '${pattern}')`;
/** The calendar of most has no year 0, and DuckDB would give it back as another text. */
const isDay = (text: string, type: string, pattern: string) =>
  all(`${matches(text, pattern)} AND ${text} >= '0001' AND TRY_CAST(${text} AS ${type}) IS NOT NULL`);

/**
 * The types that hold every value of a text exactly, by the name of the check: a number keeps all of its digits, and
 * `007`, which is none, all of its zeros. The first that holds is taken.
 */
const NUMBERS: Readonly<Record<string, (text: string) => string>> = {
  BIGINT: (t) => all(matches(t, "-?(0|[1-9][0-9]{0,17})")),
  "DECIMAL(38,0)": (t) => all(matches(t, "-?(0|[1-9][0-9]{0,37})")),
  DOUBLE: (t) =>
    all(
      `${matches(t, NUMBER)} AND isfinite(TRY_CAST(${t} AS DOUBLE)) AND (length(regexp_replace(${t}, '[eE].*|[^0-9]', '', 'g')) <= 15 OR CAST(TRY_CAST(${t} AS DOUBLE) AS VARCHAR) = ${t})`,
    ),
};
const DAYS: Readonly<Record<string, (text: string) => string>> = {
  DATE: (t) => isDay(t, "DATE", DATE),
  TIMESTAMP: (t) => isDay(t, "TIMESTAMP", `${DATE}${TIME}`),
  "TIMESTAMP WITH TIME ZONE": (t) =>
    isDay(t, "TIMESTAMP WITH TIME ZONE", `${DATE}${TIME}(Z|[+-][0-9]{2}(:?[0-9]{2})?)`),
};
const BOOLEANS = { BOOLEAN: (t: string) => all(`lower(${t}) IN ('true', 'false')`) };

const typeOf = (checks: object, held: (name: string) => boolean) => Object.keys(checks).find(held);

/** The type of each column, from all of its values in `relation`; a column of nothing but NULL is VARCHAR. */
export async function inferColumns(
  session: SqlSession,
  relation: string,
  columns: readonly RawColumn[],
): Promise<Inferred[]> {
  const inferred: Inferred[] = [];
  for (let start = 0; start < columns.length; start += BATCH) {
    const batch = columns.slice(start, start + BATCH);
    const checks = batch.flatMap((column, at) =>
      checksOf(column).map(([name, sql]) => `${sql} AS "${at} ${name}"`),
    );
    const [row = {}] =
      checks.length === 0 ? [] : await session.run(`SELECT ${checks.join(", ")} FROM ${relation}`);
    for (const [at, column] of batch.entries())
      inferred.push(chosen(column, (name) => row[`${at} ${name}`] === true));
  }
  return inferred;
}

function checksOf({ kind, source }: RawColumn): [name: string, sql: string][] {
  const made = (checks: Readonly<Record<string, (text: string) => string>>, text: string) =>
    Object.entries(checks).map(([name, check]): [string, string] => [name, check(text)]);
  const column = quoteName(source);
  if (kind === "typed") return [];
  if (kind === "text") return made({ ...BOOLEANS, ...NUMBERS, ...DAYS }, column);
  const is = (...types: string[]) =>
    all(`json_type(${column}) IN (${["NULL", ...types].map((type) => `'${type}'`).join(", ")})`);
  return [
    ["texts", is("VARCHAR")],
    ["numbers", is("BIGINT", "UBIGINT", "HUGEINT", "DOUBLE")],
    ["booleans", is("BOOLEAN")],
    ["nothing", `count(*) FILTER (json_type(${column}) <> 'NULL') = 0`],
    ...made(NUMBERS, jsonValue(source)),
    ...made(DAYS, jsonValue(source)),
  ];
}

/** The text of a JSON value, without quotes; nothing for `null`. */
const jsonValue = (source: string) => `(${quoteName(source)} ->> '$')`;

function chosen({ name, kind, source }: RawColumn, holds: (check: string) => boolean): Inferred {
  const as = (dataType: string, text: string): Inferred => ({
    column: { name, dataType, nullable: true },
    sql: `CAST(${text} AS ${dataType}) AS ${quoteName(name)}`,
  });
  const column = quoteName(source);
  if (kind === "typed") {
    return { column: { name, dataType: "", nullable: true }, sql: `${column} AS ${quoteName(name)}` };
  }
  if (kind === "text") return as(typeOf({ ...BOOLEANS, ...NUMBERS, ...DAYS }, holds) ?? "VARCHAR", column);
  const value = jsonValue(source);
  if (holds("nothing")) return as("VARCHAR", value);
  if (holds("texts")) return as(typeOf(DAYS, holds) ?? "VARCHAR", value);
  if (holds("numbers")) return as(typeOf(NUMBERS, holds) ?? "VARCHAR", value);
  if (holds("booleans")) return as("BOOLEAN", value);
  return as("JSON", `CASE WHEN json_type(${column}) <> 'NULL' THEN ${column} END`);
}
