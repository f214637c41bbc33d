import type { Way } from "../sql/ways.ts";
import { bad, elementOf, exactly, isNested, kindOf, listText, MICROS, where } from "../sql/ways.ts";

/** A column's type in the system catalog, with domains resolved. */
export interface TargetType {
  /** `pg_type.typname` of a built-in type and of `citext`; empty for all others. */
  base: string;
  /** `pg_type.typtype` and `typcategory`. */
  kind: string;
  category: string;
  /** `atttypmod`; -1 if there is none. */
  modifier: number;
}

/** Type of a column to create. */
interface NewType extends TargetType {
  sql: string;
}

const of = (sql: string, base: string, modifier = -1): NewType => ({
  sql,
  base,
  kind: "b",
  category: "",
  modifier,
});

const NEW_TYPES: Readonly<Record<string, NewType>> = {
  TINYINT: of("smallint", "int2"),
  UTINYINT: of("smallint", "int2"),
  SMALLINT: of("smallint", "int2"),
  USMALLINT: of("integer", "int4"),
  INTEGER: of("integer", "int4"),
  UINTEGER: of("bigint", "int8"),
  BIGINT: of("bigint", "int8"),
  UBIGINT: of("numeric(20,0)", "numeric", numericModifier(20, 0)),
  FLOAT: of("real", "float4"),
  DOUBLE: of("double precision", "float8"),
  BOOLEAN: of("boolean", "bool"),
  VARCHAR: of("text", "text"),
  JSON: of("jsonb", "jsonb"),
  BLOB: of("bytea", "bytea"),
  UUID: of("uuid", "uuid"),
  DATE: of("date", "date"),
  TIME: of("time", "time"),
  TIMESTAMP: of("timestamp", "timestamp"),
  TIMESTAMP_NS: of("timestamp", "timestamp"),
  "TIMESTAMP WITH TIME ZONE": of("timestamptz", "timestamptz"),
};

/** The type of a new column, and its element type if it is an array; null if there is none. */
export function newType(dataType: string): (NewType & { element: NewType | null }) | null {
  const element = elementOf(dataType);
  if (element !== null && !isNested(element)) {
    const made = newType(element);
    return made && { ...of(`${made.sql}[]`, "", -1), category: "A", element: made };
  }
  if (isNested(dataType)) return { ...of("jsonb", "jsonb"), element: null };
  const decimal = /^DECIMAL\((\d+),(\d+)\)$/.exec(dataType);
  if (decimal) {
    const [precision, scale] = [Number(decimal[1]), Number(decimal[2])];
    return {
      ...of(`numeric(${precision},${scale})`, "numeric", numericModifier(precision, scale)),
      element: null,
    };
  }
  const found = NEW_TYPES[dataType];
  return found ? { ...found, element: null } : null;
}

function numericModifier(precision: number, scale: number): number {
  return ((precision << 16) | scale) + 4;
}

/** Signed since PostgreSQL 15; null if the numeric is unlimited. */
const scaleOf = (modifier: number): number | null =>
  modifier < 4 ? null : (((modifier - 4) & 0x7ff) ^ 1024) - 1024;

/**
 * How values of `dataType` are written to a column; null if they can't be. The checks cover what the server would
 * silently round, cut or fold; it refuses the rest itself.
 */
export function wayInto(dataType: string, target: TargetType, element: TargetType | null): Way | null {
  if (element) {
    const from = elementOf(dataType);
    const way = from === null || isNested(from) ? null : wayInto(from, element, null);
    return way && { ...listText(way), isQuoted: true };
  }
  const kind = kindOf(dataType);
  const way = INTO[target.base]?.(kind, target.modifier, dataType);
  if (way !== undefined || target.base in INTO) return way ?? null;
  // Enums, ranges, networks …: text, if no length could change it.
  const takesText = target.kind !== "c" && target.category !== "A" && !REFUSED.has(target.base);
  const isExact = target.modifier < 0 || target.base === "bit" || target.base === "varbit";
  return kind === "text" && takesText && isExact ? exactly("text") : null;
}

/** Their texts depend on settings, or are cut. */
const REFUSED = new Set(["money", "char"]);

type Into = (kind: ReturnType<typeof kindOf>, modifier: number, dataType: string) => Way | null;

const NUMBER_TEXT = "[+-]?(\\d+(\\.\\d*)?|\\.\\d+)([eE][+-]?\\d+)?|NaN|[+-]?Infinity";

const integer: Into = (kind) => {
  if (kind === "integer") return exactly("number");
  if (kind !== "decimal" && kind !== "double") return null;
  return where(
    "CAST($ AS HUGEINT)",
    bad("$ IS DISTINCT FROM trunc($) OR NOT isfinite(CAST($ AS DOUBLE))", "not integers"),
  );
};

const text: Into = (kind) => (["text", "uuid", "json"].includes(kind) ? exactly("text") : null);

/** The server cuts excess blanks and refuses other characters; both are checked before. */
const limitedText: Into = (kind, modifier, dataType) => {
  const way = text(kind, modifier, dataType);
  const length = modifier - 4;
  if (!way || modifier < 4) return way;
  return {
    ...way,
    checks: [bad(`length(CAST($ AS VARCHAR)) > ${length}`, `longer than ${length} characters`)],
  };
};

/** Fractional seconds that a type keeps; null if it keeps all digits that PostgreSQL supports. */
const fraction = (micros: string, modifier: number) =>
  modifier < 0 || modifier >= 6
    ? []
    : [bad(`${micros} % ${10 ** (6 - modifier)} <> 0`, `more than ${modifier} digits of a second`)];

const BEFORE_CHRIST = bad("isfinite($) AND $ < '0001-01-01'", "a date before the year 1");
const NANOS = bad("epoch_ns($) % 1000 <> 0", "more than 6 digits of a second");

const INTO: Readonly<Record<string, Into>> = {
  int2: integer,
  int4: integer,
  int8: integer,
  oid: integer,
  numeric(kind, modifier) {
    const scale = scaleOf(modifier);
    if (kind === "text") {
      if (scale !== null) return null;
      return {
        ...exactly("text"),
        checks: [bad(`NOT regexp_full_match($, '${NUMBER_TEXT}')`, "no numbers")],
      };
    }
    if (kind !== "integer" && kind !== "decimal" && kind !== "double" && kind !== "float") return null;
    const sql = kind === "float" ? "CAST($ AS DOUBLE)" : "$";
    if (scale === null || (kind === "integer" && scale >= 0)) return where(sql);
    return where(
      sql,
      bad(`${sql} IS DISTINCT FROM round(${sql}, ${scale})`, `more than ${scale} digits after the point`),
    );
  },
  float4(kind, _, dataType) {
    if (kind === "float") return exactly("number");
    if (kind !== "integer" && kind !== "decimal" && kind !== "double") return null;
    return where("TRY_CAST($ AS FLOAT)", inexact("FLOAT", dataType));
  },
  float8(kind, _, dataType) {
    if (kind === "double") return exactly("number");
    if (kind === "float") return where("CAST($ AS DOUBLE)");
    if (kind !== "integer" && kind !== "decimal") return null;
    return where("CAST($ AS DOUBLE)", inexact("DOUBLE", dataType));
  },
  bool: (kind) => (kind === "boolean" ? exactly("number") : null),
  text,
  citext: text,
  varchar: limitedText,
  bpchar: limitedText,
  name: (kind, modifier, dataType) => {
    const way = text(kind, modifier, dataType);
    return way && { ...way, checks: [bad("strlen(CAST($ AS VARCHAR)) > 63", "longer than 63 bytes")] };
  },
  date(kind) {
    if (kind === "date") return where("$", BEFORE_CHRIST);
    if (kind !== "timestamp") return null;
    return where("CAST($ AS DATE)", BEFORE_CHRIST, bad("$ <> date_trunc('day', $)", "a time of day"));
  },
  time: (kind, modifier) => (kind === "time" ? where("$", ...fraction(MICROS.time, modifier)) : null),
  timestamp(kind, modifier) {
    if (kind === "timestamp") return where("$", BEFORE_CHRIST, ...fraction(MICROS.timestamp, modifier));
    if (kind !== "nanos") return null;
    return where("CAST($ AS TIMESTAMP)", NANOS, ...fraction(MICROS.timestamp, modifier));
  },
  // The session's time zone is UTC.
  timestamptz: (kind, modifier) =>
    kind === "instant"
      ? where(
          "CASE WHEN isfinite($) THEN make_timestamp(epoch_us($)) ELSE CAST(CAST($ AS VARCHAR) AS TIMESTAMP) END",
          BEFORE_CHRIST,
          ...fraction(MICROS.timestamp, modifier),
        )
      : null,
  uuid: (kind) => (kind === "uuid" || kind === "text" ? exactly("text") : null),
  json,
  jsonb: json,
  bytea: (kind) => (kind === "bytes" ? where("'\\x' || hex($)") : null),
};

function json(kind: ReturnType<typeof kindOf>): Way | null {
  if (kind === "json" || kind === "text") return exactly("text");
  return kind === "nested" || kind === "list"
    ? { ...where("CAST(to_json($) AS VARCHAR)"), isQuoted: true }
    : null;
}

/** Integers and decimals that a binary fraction can't represent exactly. */
const inexact = (type: "FLOAT" | "DOUBLE", dataType: string) =>
  bad(
    `TRY_CAST(TRY_CAST($ AS ${type}) AS ${dataType}) IS DISTINCT FROM $`,
    `numbers that ${type === "FLOAT" ? "a real" : "a double"} does not hold exactly`,
  );
