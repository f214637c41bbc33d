import { quoteText } from "../../sql/text.ts";
import { bad, isNested, type Kind, kindOf, MICROS, type Misfit, type Way, where } from "../sql/ways.ts";

/** A column of the destination, from `information_schema.columns`. */
export interface TargetType {
  /** `data_type`, in lower case. */
  base: string;
  /** `column_type`, such as `decimal(10,2) unsigned`. */
  type: string;
  scale: number | null;
  /** Fractional digits of seconds. */
  fraction: number | null;
  characters: number | null;
  bytes: number | null;
  charset: string | null;
}

interface NewType extends TargetType {
  /** The type in CREATE TABLE. */
  sql: string;
}

const of = (sql: string, more: Partial<TargetType> = {}): NewType => ({
  sql,
  base: /^\w+/.exec(sql)?.[0] ?? "",
  type: sql,
  scale: null,
  fraction: null,
  characters: null,
  bytes: null,
  charset: null,
  ...more,
});

const KEY_LENGTH = 255;

const NEW_TYPES: Readonly<Record<string, NewType>> = {
  TINYINT: of("tinyint"),
  UTINYINT: of("tinyint unsigned"),
  SMALLINT: of("smallint"),
  USMALLINT: of("smallint unsigned"),
  INTEGER: of("int"),
  UINTEGER: of("int unsigned"),
  BIGINT: of("bigint"),
  UBIGINT: of("bigint unsigned"),
  FLOAT: of("float"),
  DOUBLE: of("double"),
  BOOLEAN: of("tinyint(1)"),
  VARCHAR: of("longtext CHARACTER SET utf8mb4", { charset: "utf8mb4" }),
  JSON: of("json"),
  BLOB: of("longblob"),
  UUID: of("char(36) CHARACTER SET ascii", { characters: 36, charset: "ascii" }),
  DATE: of("date"),
  TIME: of("time(6)", { fraction: 6 }),
  TIMESTAMP: of("datetime(6)", { fraction: 6 }),
  TIMESTAMP_NS: of("datetime(6)", { fraction: 6 }),
  "TIMESTAMP WITH TIME ZONE": of("timestamp(6)", { fraction: 6 }),
};

/** Types for key columns whose usual type isn't suitable: equal values have equal bytes. */
const NEW_KEYS: Readonly<Record<string, NewType | null>> = {
  VARCHAR: of(`varchar(${KEY_LENGTH}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`, {
    characters: KEY_LENGTH,
    charset: "utf8mb4",
  }),
  BLOB: of(`varbinary(${KEY_LENGTH})`, { bytes: KEY_LENGTH }),
  JSON: null,
};

const MAX_SCALE = 30;

/** The type of a new column; null if there is none. */
export function newType(dataType: string, isKey: boolean): NewType | null {
  if (isNested(dataType)) return isKey ? null : of("json");
  const decimal = /^DECIMAL\((\d+),(\d+)\)$/.exec(dataType);
  if (decimal)
    return Number(decimal[2]) > MAX_SCALE
      ? null
      : of(`decimal(${decimal[1]},${decimal[2]})`, { scale: Number(decimal[2]) });
  if (isKey && dataType in NEW_KEYS) return NEW_KEYS[dataType] ?? null;
  return NEW_TYPES[dataType] ?? null;
}

/**
 * How values of `dataType` become literals of a column's type; null if they can't. The checks cover what the server
 * would silently round, cut or fold; its strict mode refuses the rest.
 */
export const wayInto = (dataType: string, target: TargetType): Way | null =>
  INTO[target.base]?.(kindOf(dataType), target, dataType) ?? null;

type Into = (kind: Kind, target: TargetType, dataType: string) => Way | null;

const TEXT_OF = "CAST($ AS VARCHAR)";
const number = where(TEXT_OF);
/** The server would first convert a number without an exponent to a decimal. */
const approximate = (value: string) =>
  `CASE WHEN contains(CAST(${value} AS VARCHAR), 'e') THEN CAST(${value} AS VARCHAR) ELSE CAST(${value} AS VARCHAR) || 'e0' END`;
const literal = (value: string) =>
  `'''' || replace(replace(replace(${value}, '\\', '\\\\'), '''', '\\'''), chr(10), '\\n') || ''''`;
const day = (value: string) => `'''' || CAST(${value} AS VARCHAR) || ''''`;

const integer: Into = (kind) => {
  if (kind === "integer") return number;
  if (kind !== "decimal" && kind !== "double") return null;
  const isBroken = bad("$ IS DISTINCT FROM trunc($) OR NOT isfinite(CAST($ AS DOUBLE))", "not an integer");
  return where("CAST(CAST($ AS HUGEINT) AS VARCHAR)", isBroken);
};

const tooFine = (scale: number): Misfit =>
  bad(`$ IS DISTINCT FROM round($, ${scale})`, `more than ${scale} digits after the point`);

const decimal: Into = (kind, { scale }) => {
  const digits = scale ?? 0;
  if (kind === "integer") return number;
  if (kind === "decimal") return where(TEXT_OF, tooFine(digits));
  if (kind === "double") return where(TEXT_OF, UNBOUNDED, tooFine(digits));
  if (kind === "float") return where("CAST(CAST($ AS DOUBLE) AS VARCHAR)", UNBOUNDED, tooFine(digits));
  if (kind !== "text") return null;
  const isOther = `NOT regexp_full_match($, '[+-]?\\d+(\\.\\d{1,${Math.max(digits, 1)}})?')`;
  return where("$", bad(isOther, `no number of at most ${digits} digits after the point`));
};

const UNBOUNDED = bad("NOT isfinite($)", "an infinity or NaN");

const real =
  (type: "FLOAT" | "DOUBLE"): Into =>
  (kind, { scale }, dataType) => {
    if (kind !== "integer" && kind !== "decimal" && kind !== "float" && kind !== "double") return null;
    const isOwn = kind === "float" || (kind === "double" && type === "DOUBLE");
    const what = `a number that ${type === "FLOAT" ? "a float" : "a double"} does not hold exactly`;
    const checks = [
      ...(kind === "float" || kind === "double" ? [UNBOUNDED] : []),
      ...(isOwn ? [] : [bad(`TRY_CAST(TRY_CAST($ AS ${type}) AS ${dataType}) IS DISTINCT FROM $`, what)]),
      ...(scale === null ? [] : [tooFine(scale)]),
    ];
    return where(approximate("CAST($ AS DOUBLE)"), ...checks);
  };

const isUtf8 = (charset: string | null) => charset === null || charset.startsWith("utf8");

const text: Into = (kind, { base, characters, bytes, charset }) => {
  const isJson = kind === "nested" || kind === "list";
  if (!["text", "uuid", "json"].includes(kind) && !(isJson && base.endsWith("text"))) return null;
  const value = isJson ? "CAST(to_json($) AS VARCHAR)" : TEXT_OF;
  const isLimited = base === "char" || base === "varchar";
  const size = isUtf8(charset) ? `strlen(${value})` : `length(${value})`;
  const checks = isLimited
    ? [bad(`length(${value}) > ${characters ?? 0}`, `a text of more than ${characters ?? 0} characters`)]
    : bytes === null
      ? []
      : [bad(`${size} > ${bytes}`, `a text of more than ${bytes} bytes`)];
  const loses = base === "char" ? [bad(`ends_with(${value}, ' ')`, "a blank at the end")] : [];
  return where(literal(value), ...checks, ...loses);
};

const bytesOf: Into = (kind, { base, bytes }) => {
  if (kind !== "bytes") return null;
  const isFixed = base === "binary";
  const wrong = bad(
    `octet_length($) ${isFixed ? "<>" : ">"} ${bytes ?? 0}`,
    isFixed ? `not exactly ${bytes} bytes` : `more than ${bytes} bytes`,
  );
  return where("'X''' || hex($) || ''''", ...(bytes === null ? [] : [wrong]));
};

const OUTSIDE = "a date outside the years 1 to 9999";
const YEARS = bad("NOT isfinite($) OR $ < '0001-01-01' OR $ >= '10000-01-01'", OUTSIDE);
const NANOS = bad("epoch_ns($) % 1000 <> 0", "more than 6 digits of a second");
const finer = (micros: string, fraction: number | null): Misfit[] =>
  (fraction ?? 0) >= 6
    ? []
    : [
        bad(
          `${micros} % ${10 ** (6 - (fraction ?? 0))} <> 0`,
          `more than ${fraction ?? 0} digits of a second`,
        ),
      ];

/** The significant digits of a number: without sign, point, exponent, and zeros at both ends. */
const digitsOf = (number: string) =>
  `trim(regexp_replace(regexp_replace(${number}, '[eE].*', ''), '[-.]', '', 'g'), '0')`;
const BARE = `regexp_replace(${TEXT_OF}, '"(\\\\.|[^"\\\\])*"', '""', 'g')`;
const IS_WHOLE =
  "coalesce(TRY_CAST(n AS HUGEINT) BETWEEN -9223372036854775808 AND 18446744073709551615, false)";

/**
 * The server stores numbers in JSON as doubles or 64-bit integers. Numbers that may be neither are long or have a large
 * exponent.
 */
const LONG_NUMBERS = bad(
  `regexp_matches(${BARE}, '[0-9.]{17,}|[eE][+-]?[0-9]{3}') AND len(list_filter(
    regexp_extract_all(${BARE}, '-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?'),
    lambda n: NOT (regexp_full_match(n, '-?[0-9]+') AND ${IS_WHOLE})
      AND ${digitsOf("n")} IS DISTINCT FROM ${digitsOf("CAST(TRY_CAST(n AS DOUBLE) AS VARCHAR)")})) > 0`,
  "JSON with a number that the server would round",
);

const members = (type: string) =>
  [...type.matchAll(/'((?:[^']|'')*)'/g)].map(([, name = ""]) => quoteText(name.replaceAll("''", "'")));

const INTO: Readonly<Record<string, Into>> = {
  tinyint: (kind, target, dataType) =>
    kind === "boolean" ? where("CAST(CAST($ AS TINYINT) AS VARCHAR)") : integer(kind, target, dataType),
  smallint: integer,
  mediumint: integer,
  int: integer,
  bigint: integer,
  bit: (kind) =>
    kind === "boolean" ? where("CAST(CAST($ AS TINYINT) AS VARCHAR)") : kind === "integer" ? number : null,
  year: (kind) =>
    kind === "integer" ? where(TEXT_OF, bad("$ < 1901 OR $ > 2155", "a year outside 1901 to 2155")) : null,
  decimal,
  float: real("FLOAT"),
  double: real("DOUBLE"),
  char: text,
  varchar: text,
  tinytext: text,
  text,
  mediumtext: text,
  longtext: text,
  json(kind) {
    if (kind === "json" || kind === "text") return where(literal(TEXT_OF), LONG_NUMBERS);
    if (kind !== "nested" && kind !== "list") return null;
    return where(literal("CAST(to_json($) AS VARCHAR)"), {
      ...LONG_NUMBERS,
      condition: LONG_NUMBERS.condition.replaceAll(TEXT_OF, () => "CAST(to_json($) AS VARCHAR)"),
    });
  },
  enum: (kind, { type }) =>
    kind === "text"
      ? where(literal("$"), bad(`$ NOT IN (${members(type).join(", ")})`, "not a value of the enum"))
      : null,
  set: (kind, { type }) =>
    kind === "text"
      ? where(
          literal("$"),
          bad(
            `$ <> '' AND NOT list_has_all([${members(type).join(", ")}], string_split($, ','))`,
            "not a value of the set",
          ),
          // MySQL stores each member once, in the set's order.
          bad(
            `$ <> array_to_string(list_filter([${members(type).join(", ")}], lambda m: list_contains(string_split($, ','), m)), ',')`,
            "a member twice or out of the set's order",
          ),
        )
      : null,
  binary: bytesOf,
  varbinary: bytesOf,
  tinyblob: bytesOf,
  blob: bytesOf,
  mediumblob: bytesOf,
  longblob: bytesOf,
  uuid: (kind) => (kind === "uuid" || kind === "text" ? where(literal(TEXT_OF)) : null),
  inet4: (kind) => (kind === "text" ? where(literal("$")) : null),
  inet6: (kind) => (kind === "text" ? where(literal("$")) : null),
  date(kind) {
    if (kind === "date") return where(day("$"), YEARS);
    if (kind !== "timestamp") return null;
    return where(day("CAST($ AS DATE)"), YEARS, bad("$ <> date_trunc('day', $)", "a time of day"));
  },
  datetime(kind, { fraction }) {
    if (kind === "timestamp") return where(day("$"), YEARS, ...finer(MICROS.timestamp, fraction));
    if (kind !== "nanos") return null;
    return where(
      day("CAST($ AS TIMESTAMP)"),
      bad("NOT isfinite($)", OUTSIDE),
      NANOS,
      ...finer(MICROS.timestamp, fraction),
    );
  },
  // The session's time zone is UTC.
  timestamp: (kind, { fraction }) =>
    kind === "instant"
      ? where(
          day("make_timestamp(epoch_us($))"),
          bad(
            "NOT isfinite($) OR $ < '1970-01-01 00:00:01+00' OR $ >= '10000-01-01 00:00:00+00'",
            "a date before 1970",
          ),
          ...finer(MICROS.timestamp, fraction),
        )
      : null,
  time(kind, { fraction }) {
    if (kind === "time") return where(day("$"), ...finer(MICROS.time, fraction));
    if (kind !== "text") return null;
    const digits = fraction ? `(\\.\\d{1,${fraction}})?` : "";
    return where(
      literal("$"),
      bad(`NOT regexp_full_match($, '-?\\d{2,3}:\\d\\d:\\d\\d${digits}')`, "no time"),
    );
  },
};
