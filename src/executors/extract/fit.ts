import { readingOf, ZONED } from "../../lake/readings.ts";
import type { Part } from "./parts.ts";
import {
  fitsDouble,
  instantFromText,
  isDecimal,
  isFloat,
  isInstant,
  isInteger,
  isNumber,
  widen,
} from "./types.ts";

/** Where a value goes: to the column if it fits (`main`), otherwise to a variant column of its type. */
interface Fit {
  main: string;
  /** SQL that is true for rows whose values don't fit `main`. Null if all fit. */
  misfits: string | null;
  /** Whether values lose their time zone, and are stored in UTC. */
  isZoneLost?: boolean;
  /** The wider type that would fit all values, and `main` for that type. */
  wider?: { type: string; main: string };
}

/** Decides how values of `part` are written to a column of type `into`, each exactly or not at all. */
export function fitInto(into: string, part: Part): Fit {
  const { type: from, sql, text } = part;
  if (into === "JSON") return { main: part.json ?? `to_json(${sql})`, misfits: null };
  if (into === "VARCHAR" && from !== "JSON" && from !== "BLOB") {
    return { main: text ?? (from === "VARCHAR" ? sql : `CAST(${sql} AS VARCHAR)`), misfits: null };
  }
  if (into === from) return { main: sql, misfits: null };
  if (from === "JSON") return withRest(sql, `CAST(NULL AS ${into})`);
  if (from === "VARCHAR") return withRest(sql, fromText(sql, into));
  if (isInstant(into) && from === ZONED && into !== ZONED) {
    const main = text ? instantFromText(text, into) : `CAST(${sql} AS ${into})`;
    return { main, misfits: null, isZoneLost: true };
  }
  if (isInteger(from) && isFloat(into) && fitsDouble(from) && into === "DOUBLE") {
    return { main: `CAST(${sql} AS ${into})`, misfits: null };
  }
  const wide = widen(into, from);
  if (wide === into || (from === "DATE" && isInstant(into) && into !== ZONED)) {
    return { main: `CAST(${sql} AS ${into})`, misfits: null };
  }
  const fit = withRest(sql, exact(sql, into, from));
  return wide === null ? fit : { ...fit, wider: { type: wide, main: `CAST(${sql} AS ${wide})` } };
}

const withRest = (sql: string, main: string): Fit => ({
  main,
  misfits: `(${sql} IS NOT NULL AND (${main}) IS NULL)`,
});

/** Converts a text to type `into` if it is a value of it, otherwise to NULL. */
function fromText(sql: string, into: string): string {
  const reading = readingOf(into);
  return reading ? `CASE WHEN ${reading.guard(sql)} THEN ${reading.cast(sql)} END` : `CAST(NULL AS ${into})`;
}

/** Converts the value to type `into` if that is reversible, otherwise to NULL. */
function exact(sql: string, into: string, from: string): string {
  const areNumbers = isNumber(into) && isNumber(from);
  const areDays =
    (isInstant(into) || into === "DATE") &&
    (isInstant(from) || from === "DATE") &&
    into !== ZONED &&
    from !== ZONED;
  if (!areNumbers && !areDays) return `CAST(NULL AS ${into})`;
  // a decimal equals the text of a double, not its bits
  const crosses = (isFloat(into) && isDecimal(from)) || (isFloat(from) && isDecimal(into));
  const there = `TRY_CAST(${crosses ? `CAST(${sql} AS VARCHAR)` : sql} AS ${into})`;
  const back = `TRY_CAST(${crosses ? `CAST(${there} AS VARCHAR)` : there} AS ${from})`;
  return `CASE WHEN ${back} = ${sql} THEN ${there} END`;
}
