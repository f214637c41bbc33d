import type { SqlSession } from "../sql/contract.ts";
import { sampleRows } from "./csv-source.ts";
import {
  AFTER_DECIMALS,
  AS_TEXT,
  BEFORE_DECIMALS,
  DAYS,
  decimalReading,
  MAX_DECIMAL_DIGITS,
  type Reading,
  readingOf,
} from "./readings.ts";

/** A column of texts whose type is to be inferred. */
export interface TextColumn {
  /** SQL of its texts over the relation. */
  sql: string;
  /** The type to use if all texts match it. Null for the narrowest type that matches. */
  known: string | null;
  /** True for JSON strings, which are dates, timestamps or plain texts: a JSON number has no quotes. */
  isJson?: boolean;
}

/** How a file writes values, if not as in ISO 8601 and JSON. */
export interface TextStyle {
  /** The decimal separator. */
  decimal?: "." | ",";
  /** A date or timestamp format for `strptime`. */
  dateFormat?: string;
}

/** Maximum number of columns to check in one statement. */
const BATCH = 50;

/** Stands for all decimals until the precision is known. */
const DECIMAL = "decimal";
type Candidate = Reading | typeof DECIMAL;

/** A sample may rule types out, but only all values can confirm one. */
export const SAMPLE_ROWS = 2_048;

interface Search {
  sql: string;
  /** Candidates that no text has ruled out so far, the narrowest first. */
  left: Candidate[];
  /** True if all values so far are NULL. */
  wanted: Reading | null;
  found: Reading | null;
}

/**
 * Finds the narrowest type that holds every text of each column in `relation`, tried in the order of `candidates`. A
 * column with only NULL gets its known type, or none.
 */
export async function readingsOf(
  session: SqlSession,
  relation: string,
  columns: readonly TextColumn[],
  style: TextStyle = {},
): Promise<(Reading | null)[]> {
  const search = searchFor(columns, style);
  await narrow(session, relation, search, style);
  return search.map(({ found }) => found);
}

/** Finds the same types, but checks all rows only for those that the first rows haven't ruled out. */
export async function provenReadings(
  session: SqlSession,
  relation: string,
  columns: readonly TextColumn[],
  style: TextStyle = {},
): Promise<(Reading | null)[]> {
  if (columns.length === 0) return [];
  const search = searchFor(columns, style);
  await sampleRows(session, relation, SAMPLE_ROWS);
  await narrow(session, "weir_sample", search, style);
  await narrow(session, relation, search, style);
  return search.map(({ found }) => found);
}

const searchFor = (columns: readonly TextColumn[], style: TextStyle): Search[] =>
  columns.map(({ sql, known, isJson = false }) => {
    const wanted = known === null ? null : wantedReading(known, style);
    const others = isJson ? [...DAYS, AS_TEXT] : candidates(style);
    return { sql, left: wanted ? [wanted, ...others] : others, wanted, found: null };
  });

/** Rules out types until the first remaining one holds in `relation`. */
async function narrow(
  session: SqlSession,
  relation: string,
  search: readonly Search[],
  style: TextStyle,
): Promise<void> {
  for (let open = search; open.length > 0; ) {
    const failed: Search[] = [];
    for (let start = 0; start < open.length; start += BATCH) {
      const batch = open.slice(start, start + BATCH);
      const selected = batch.map(
        ({ sql, left }, at) => `count(${sql}) AS n${at}, ${checkOf(left[0] ?? AS_TEXT, sql, at, style)}`,
      );
      const [row = {}] = await session.run(`SELECT ${selected.join(", ")} FROM ${relation}`);
      for (const [at, column] of batch.entries()) {
        const candidate = column.left[0] ?? AS_TEXT;
        column.found = null;
        if (Number(row[`n${at}`] ?? 0) === 0) column.found = column.wanted;
        else if (row[`ok${at}`] === true)
          column.found = candidate === DECIMAL ? decimalFor(Number(row[`s${at}`]), style) : candidate;
        else {
          column.left.shift();
          failed.push(column);
        }
      }
    }
    open = failed;
  }
}

function wantedReading(known: string, style: TextStyle): Reading | null {
  const wanted = readingOf(known);
  const isNumber = wanted !== null && /^(DECIMAL|DOUBLE|FLOAT|.*INT)/.test(wanted.type);
  return isNumber && style.decimal === "," ? withComma(wanted) : wanted;
}

function candidates(style: TextStyle): Candidate[] {
  const dates = style.dateFormat === undefined ? [] : [formatted(style.dateFormat)];
  const isComma = style.decimal === ",";
  return [
    ...BEFORE_DECIMALS.map((reading) =>
      isComma && reading.type === "BIGINT" ? withComma(reading) : reading,
    ),
    DECIMAL,
    ...dates,
    ...AFTER_DECIMALS.filter(({ type }) => !(isComma && type === "DOUBLE")),
    AS_TEXT,
  ];
}

/** Digits with an optional fraction, but no negative zero. */
const DIGITS = "-?(0|[1-9][0-9]*)([.][0-9]+)?";

function checkOf(candidate: Candidate, sql: string, at: number, style: TextStyle): string {
  if (candidate !== DECIMAL)
    return `coalesce(bool_and(coalesce(${candidate.guard(sql)}, false)) FILTER (${sql} IS NOT NULL), false) AS ok${at}`;
  const number = style.decimal === "," ? withPoint(sql) : sql;
  const isNumber = `regexp_full_match(${number}, '${DIGITS}') AND NOT regexp_full_match(${number}, '-0([.]0+)?')${style.decimal === "," ? ` AND ${hasComma(sql)}` : ""}`;
  const whole = `max(length(ltrim(split_part(${number}, '.', 1), '-')))`;
  const scale = `max(length(split_part(${number}, '.', 2)))`;
  return `coalesce(bool_and(${isNumber}) FILTER (${sql} IS NOT NULL) AND ${whole} + ${scale} <= ${MAX_DECIMAL_DIGITS}, false) AS ok${at}, ${whole} AS w${at}, ${scale} AS s${at}`;
}

function decimalFor(scale: number, style: TextStyle): Reading {
  const reading = decimalReading(MAX_DECIMAL_DIGITS, scale);
  return style.decimal === "," ? withComma(reading) : reading;
}

const hasComma = (text: string) =>
  `regexp_full_match(${text}, '-?[0-9]{1,3}([.][0-9]{3})*(,[0-9]+)?|-?[0-9]+(,[0-9]+)?')`;
const withPoint = (text: string) => `replace(replace(${text}, '.', ''), ',', '.')`;

/** Numbers with a decimal comma, and optionally points between thousands. */
const withComma = ({ type, attempt, guard, cast }: Reading): Reading => ({
  type,
  ...(attempt ? { attempt: (text) => attempt(withPoint(text)) } : {}),
  guard: (text, value) => `${hasComma(text)} AND ${guard(withPoint(text), value)}`,
  cast: (text, value) => cast(withPoint(text), value),
});

/** Dates or timestamps in a custom format. A text must be exactly what the format would print. */
function formatted(format: string): Reading {
  const type = /%z/.test(format)
    ? "TIMESTAMP WITH TIME ZONE"
    : /%[-]?[HIMSfgnpXc]/.test(format)
      ? "TIMESTAMP"
      : "DATE";
  const pattern = `'${format.replaceAll("'", "''")}'`;
  const parsed = (text: string) => `try_strptime(${text}, ${pattern})`;
  return {
    type,
    attempt: parsed,
    guard: (text, value = parsed(text)) =>
      type === "TIMESTAMP WITH TIME ZONE"
        ? `${value} >= TIMESTAMPTZ '0001-01-02 00:00:00+00' AND regexp_matches(${text}, '${ZONE_IN_TEXT}')`
        : `strftime(${value}, ${pattern}) = ${text} AND ${value} >= TIMESTAMP '0001-01-01'`,
    cast: (text, value = parsed(text)) => `CAST(${value} AS ${type})`,
  };
}

/** DuckDB also accepts +99:00. */
const ZONE_IN_TEXT = "(Z|UTC|GMT|[+-](0[0-9]|1[0-5])(:?[0-5][0-9])?)([^0-9:]|$)";

const UNICODE: Readonly<Record<string, string>> = {
  yyyy: "%Y",
  yy: "%y",
  MMMM: "%B",
  MMM: "%b",
  MM: "%m",
  M: "%-m",
  dd: "%d",
  d: "%-d",
  HH: "%H",
  H: "%-H",
  hh: "%I",
  h: "%-I",
  mm: "%M",
  ss: "%S",
  SSSSSS: "%f",
  SSS: "%g",
  a: "%p",
  ["X".repeat(3)]: "%z",
  xx: "%z",
};

/** Why a format can't describe a date, or a part that no column type can hold. Null if it is valid. */
export function dateFormatFault(format: string): string | null {
  const known = strptimeFormat(format);
  if (known === null) return `Unknown date format ${format}. Use a form such as dd.MM.yyyy or %d.%m.%Y.`;
  if (/%n/.test(known)) return "Columns hold microseconds (SSSSSS or %f), not nanoseconds.";
  if (/%-?I/.test(known) && !known.includes("%p")) return "Twelve hours (hh or %I) need a or %p with them.";
  if (/%[cxs]/.test(known)) return null;
  const isDay =
    /%[Yy]/.test(known) && (/%-?j/.test(known) || (/%(-?m|b|B)/.test(known) && /%-?d/.test(known)));
  return isDay ? null : `The date format ${format} needs a year, a month and a day.`;
}

/**
 * Converts a date format of `strptime` or Unicode (`dd.MM.yyyy HH:mm`) to `strptime`. Null if it has an unknown
 * part.
 */
export function strptimeFormat(format: string): string | null {
  if (format.includes("%")) return format;
  let out = "";
  for (const [part, quoted] of format.matchAll(/'([^']*)'|([a-zA-Z])\2*|[^a-zA-Z']+/g)) {
    if (quoted !== undefined) out += quoted === "" ? "'" : quoted;
    else if (/^[a-zA-Z]/.test(part) && part !== "T") {
      const known = UNICODE[part];
      if (known === undefined) return null;
      out += known;
    } else out += part;
  }
  return out;
}
