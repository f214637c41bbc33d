import { AppError } from "../base/errors.ts";
import type { Column, SqlFile, SqlSession } from "../sql/contract.ts";
import { quoteName, quoteText, scanOf } from "../sql/text.ts";
import { countOf, type ExistingFile, namesOf, pathsOf, sameKey, writeRows } from "./merge.ts";
import { withoutZeros } from "./readings.ts";

/** Number of values to request at a time. */
const BATCH = 500;

const PATH_COLUMN = "__weir_path";

/** A column that identifies texts which the source considers equal although their bytes differ. */
export interface KeyFill {
  /** The column that holds the value. */
  column: string;
  /** The columns it is computed from. */
  parts: readonly string[];
  /** Prefix of each valid value. Rows with another prefix get a new value. */
  tag: string;
  of(rows: AsyncIterable<readonly (string | null)[][]>): AsyncGenerator<string[]>;
}

/** Which row to keep if several rows turn out to have one key. */
export type Keep = "oldest" | "newest" | "all";

/**
 * Rewrites files whose rows don't match the current form of the key: numbers in `digits` become texts without
 * trailing zeros in their fractions, and rows without a value in `fill` get one. If rows with different old keys now
 * share one, those of one load stay, as `keep` says. The session must have permission to read all files and to write
 * to `out`. Doesn't change the lake itself.
 */
export async function rewriteKeys(
  session: SqlSession,
  tables: {
    existing: readonly ExistingFile[];
    /** All of the table's columns, with those of `digits` in the type that the files have. */
    columns: readonly Column[];
    digits: readonly string[];
    fill: KeyFill | null;
    /** The key columns from now on. */
    key: readonly string[];
    keep: Keep;
    out: string;
  },
): Promise<{ add: SqlFile[]; remove: string[]; filled: number; trimmed: number; deleted: number }> {
  const { existing, columns, digits, fill, key, keep } = tables;
  const nothing = { add: [], remove: [], filled: 0, trimmed: 0, deleted: 0 };
  if (existing.length === 0) return nothing;
  const scan = scanOf(pathsOf(existing), columns, { pathColumn: PATH_COLUMN });
  const filled = fill ? await stageFill(session, scan, fill) : 0;
  const texts = columns.filter(({ name, dataType }) => digits.includes(name) && dataType === "VARCHAR");
  const odd = texts.map(({ name }) => `${quoteName(name)} <> ${digitsOf(quoteName(name))}`).join(" OR ");
  const trimmed = odd === "" ? 0 : await countOf(session, `SELECT count(*) FROM (${scan}) t WHERE ${odd}`);
  if (filled === 0 && trimmed === 0 && texts.length === digits.length) return nothing;

  const sqlOf = (name: string): string => {
    const value = `t.${quoteName(name)}`;
    if (digits.includes(name)) return digitsOf(`CAST(${value} AS VARCHAR)`);
    return filled > 0 && name === fill?.column ? `COALESCE(f.value, ${value})` : value;
  };
  const known = (from: string): string => {
    if (!fill || filled === 0) return `(${from}) t`;
    return `(${from}) t LEFT JOIN weir_fill f ON ${sameKey(fill.parts, "t", "f")}`;
  };
  // Columns in which equal keys may differ in the files.
  const parts = [
    ...(filled > 0 ? (fill?.parts ?? []) : []),
    ...(trimmed > 0 ? texts.map(({ name }) => name) : []),
  ];
  const keyed = `SELECT t."_dlt_id" AS id, t."_dlt_load_id" AS load, t.${PATH_COLUMN} AS path, ${key.map((name) => `${sqlOf(name)} AS ${quoteName(name)}`).join(", ")}${parts.map((name, at) => `, t.${quoteName(name)} AS p${at}`).join("")} FROM ${known(scan)}`;
  await session.run("CREATE OR REPLACE TEMP TABLE weir_twice AS SELECT '' AS id, '' AS path WHERE false");
  if (parts.length > 0 && keep !== "all") {
    const [best, worse] = keep === "newest" ? ["max", "<"] : ["min", ">"];
    const differ = parts.map((_, at) => `min(p${at}) <> max(p${at})`).join(" OR ");
    const names = key.map(quoteName).join(", ");
    await session.run(
      `INSERT INTO weir_twice SELECT k.id, k.path FROM (${keyed}) k JOIN (SELECT ${names}, ${best}(load) AS load FROM (${keyed}) GROUP BY ${names} HAVING ${differ}) s ON ${sameKey(key, "k", "s")} AND k.load ${worse} s.load`,
    );
  }
  const deleted = await countOf(session, "SELECT count(*) FROM weir_twice");
  const paths =
    trimmed > 0 || texts.length < digits.length
      ? null
      : new Set(
          (
            await session.run(
              `SELECT DISTINCT ${PATH_COLUMN} AS path FROM (${scan}) t WHERE ${isStale("t", fill)} UNION SELECT path FROM weir_twice`,
            )
          ).map(({ path }) => path),
        );
  const touched = existing.filter(({ path }) => paths === null || paths.has(path));
  const values = columns.map(({ name }) => `${sqlOf(name)} AS ${quoteName(name)}`);
  const add = await writeRows(
    session,
    `SELECT ${namesOf(columns)} FROM (SELECT ${values.join(", ")} FROM ${known(scanOf(pathsOf(touched), columns))}) n ANTI JOIN weir_twice w ON n."_dlt_id" = w.id`,
    tables.out,
  );
  for (const table of ["weir_twice", ...(fill ? ["weir_fill"] : [])])
    await session.run(`DROP TABLE IF EXISTS ${table}`);
  checkRows(touched, add, deleted);
  return { add, remove: touched.map(({ id }) => id), filled, trimmed, deleted };
}

/** Removes trailing zeros from a text that is a number. Other texts stay as they are. */
const digitsOf = (text: string) =>
  `CASE WHEN regexp_full_match(${text}, '-?[0-9]+[.][0-9]+') THEN ${withoutZeros(text)} ELSE ${text} END`;

/** Rows without a value in `fill` although its parts have one, or with another prefix. */
function isStale(table: string, fill: KeyFill | null): string {
  if (!fill) return "false";
  const value = `${table}.${quoteName(fill.column)}`;
  const parts = fill.parts.map((name) => `${table}.${quoteName(name)} IS NOT NULL`).join(" OR ");
  return `(${parts}) AND (${value} IS NULL OR NOT starts_with(${value}, ${quoteText(fill.tag)}))`;
}

/** Requests the missing values into the table `weir_fill`, and returns the number of rows without one. */
async function stageFill(session: SqlSession, scan: string, fill: KeyFill): Promise<number> {
  const stale = `FROM (${scan}) t WHERE ${isStale("t", fill)}`;
  const rows = await countOf(session, `SELECT count(*) ${stale}`);
  if (rows === 0) return 0;
  const names = fill.parts.map(quoteName).join(", ");
  await session.run(
    `CREATE OR REPLACE TEMP TABLE weir_parts AS SELECT row_number() OVER () AS n, * FROM (SELECT DISTINCT ${names} ${stale})`,
  );
  await session.run("CREATE OR REPLACE TEMP TABLE weir_values (n BIGINT, value VARCHAR)");
  let from = 0;
  for await (const values of fill.of(batches(session, fill.parts))) {
    const pairs = values.map((value, at) => `(${from + at + 1}, ${quoteText(value)})`);
    await session.run(`INSERT INTO weir_values VALUES ${pairs.join(", ")}`);
    from += values.length;
  }
  await session.run(
    `CREATE OR REPLACE TEMP TABLE weir_fill AS SELECT p.* EXCLUDE (n), v.value FROM weir_parts p JOIN weir_values v ON p.n = v.n`,
  );
  await session.run("DROP TABLE weir_parts");
  await session.run("DROP TABLE weir_values");
  return rows;
}

async function* batches(session: SqlSession, parts: readonly string[]): AsyncGenerator<(string | null)[][]> {
  const texts = parts.map((name, at) => `CAST(${quoteName(name)} AS VARCHAR) AS p${at}`).join(", ");
  for (let from = 0; ; from += BATCH) {
    const rows = await session.run(
      `SELECT ${texts} FROM weir_parts WHERE n > ${from} AND n <= ${from + BATCH} ORDER BY n`,
    );
    if (rows.length === 0) return;
    yield rows.map((row) => parts.map((_, at) => (row[`p${at}`] === null ? null : String(row[`p${at}`]))));
    if (rows.length < BATCH) return;
  }
}

function checkRows(before: readonly { rows: number }[], after: readonly { rows: number }[], deleted: number) {
  const count = (all: readonly { rows: number }[]) => all.reduce((sum, { rows }) => sum + rows, 0);
  if (count(after) === count(before) - deleted) return;
  throw new AppError(
    "row_count_mismatch",
    `${before.length} files should have ${count(before) - deleted} rows with other keys, and have ${count(after)}. Nothing was loaded.`,
  );
}
