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

/** A column of texts whose type is to be found. */
export interface TextColumn {
  /** SQL of its texts over the relation. */
  sql: string;
  /** The type that it should have where all texts are of it; null for the narrowest. */
  known: string | null;
  /** True for texts of JSON, which are days, instants or just texts: a number there is written as one. */
  isJson?: boolean;
}

/** How a file writes what is not written as in ISO 8601 and JSON. */
export interface TextStyle {
  /** What stands before a fraction. */
  decimal?: "." | ",";
  /** A format of days or instants, as `strptime` takes it. */
  dateFormat?: string;
}

/** So many columns are looked at in one statement. */
const BATCH = 50;

/** Stands for all decimals until the digits are known. */
const DECIMAL = "decimal";
type Candidate = Reading | typeof DECIMAL;

/** A sample may rule types out; all values have to prove the one that is left. */
export const SAMPLE_ROWS = 2_048;

interface Search {
  sql: string;
  /** Candidates that no text so far has ruled out, the narrowest first. */
  left: Candidate[];
  /** Where all is NULL so far. */
  wanted: Reading | null;
  found: Reading | null;
}

/**
 * Finds the reading of each column that holds every text of it in `relation`: the narrowest, tried in the order of
 * `candidates`. A column of nothing but NULL has the one of its known type, or none.
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

/** Finds the same, and asks all rows only for the types that the first rows have not ruled out. */
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

/** Rules out what does not hold in `relation`, until the first type that is left does. */
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
      const asked = batch.map(
        ({ sql, left }, at) => `count(${sql}) AS n${at}, ${checkOf(left[0] ?? AS_TEXT, sql, at, style)}`,
      );
      const [row = {}] = await session.run(`SELECT ${asked.join(", ")} FROM ${relation}`);
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

/** Digits with an optional fraction; no sign of a negative zero. */
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

/** A reading of numbers with a comma before the fraction, and maybe points between thousands. */
const withComma = ({ type, attempt, guard, cast }: Reading): Reading => ({
  type,
  ...(attempt ? { attempt: (text) => attempt(withPoint(text)) } : {}),
  guard: (text, value) => `${hasComma(text)} AND ${guard(withPoint(text), value)}`,
  cast: (text, value) => cast(withPoint(text), value),
});

/** Days or instants in a format of the file's own; what the format would write in another way is none. */
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

/** DuckDB takes +99:00 too. */
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

/** What a format lacks that a day needs, or has that no column holds; null where it is right. */
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
 * A date format as `strptime` takes it, from one such or one of Unicode (`dd.MM.yyyy HH:mm`). Null where a part of it is
 * not known.
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
