import type { CsvColumn } from "../contract.ts";
import { quoteName, valueExpression } from "./names.ts";

/** A type in the system catalog, with domains resolved. */
interface SourceType {
  /** `pg_type.typname` of a built-in type and of `citext`; empty for all others, whose names may be the same. */
  base: string;
  /** `pg_type.typtype` and `typcategory`. */
  kind: string;
  category: string;
  modifier: number;
}

/** A column of the source, with domains resolved to their base types. */
export interface SourceColumn extends SourceType {
  name: string;
  /** The source's type name, such as `numeric(10,2)`. */
  type: string;
  /** The type's name without length or precision, to cast a value to. */
  castType: string;
  nullable: boolean;
  /** Element type of an array; null for other types. */
  element: SourceType | null;
  /** A collation in which texts with different bytes can be equal, quoted for SQL; null for all others. */
  collation: { name: string; version: string | null } | null;
}

/** How to read a column: its expression in COPY, and how to parse the text. */
export interface Passage {
  expression: string;
  dataType: string;
  text?: CsvColumn["text"];
  /** Condition for values that can't be read unchanged, and what happens to them. */
  odd?: { condition: string; what: string };
  /** Condition for values that are readable but can't be ordered. */
  orderless?: string;
}

/** DuckDB's widest decimal. */
const MAX_DECIMAL_DIGITS = 38;

const NO_DATE = "became NULL: no date that Parquet holds";
const NO_TIME = "became NULL: no time of day that Parquet holds";
const NO_NUMBER = "became NULL: no number that a decimal holds";
const NO_BOUNDS = "came without the bounds: a list begins at 1";

/** Describes how to read a column, by its name in SQL and its `atttypmod`. */
type Way = (name: string, modifier: number) => Passage;

const as =
  (dataType: string): Way =>
  (name) => ({ expression: name, dataType });

/** Values that Parquet can't represent become NULL; `holds` is the condition for the others. */
const where =
  (dataType: string, what: string, holds: (name: string) => string): Way =>
  (name) => ({
    expression: `case when ${holds(name)} then ${name} end`,
    dataType,
    odd: { condition: `not ${holds(name)}`, what },
  });

// Infinities are outside these bounds.
const isInstant = (name: string) => `(${name} >= '0001-01-01' and ${name} < '294247-01-01')`;

/** Types that the lake also has, by `pg_type.typname`. All others are read as the server's text. */
export const POSTGRES_TYPES: Readonly<Record<string, Way>> = {
  int2: as("SMALLINT"),
  int4: as("INTEGER"),
  int8: as("BIGINT"),
  oid: as("BIGINT"),
  xid8: as("DECIMAL(20,0)"),
  numeric,
  money: (name) => ({ expression: `${name}::numeric`, dataType: "DECIMAL(22,3)" }),
  float4: as("FLOAT"),
  float8: as("DOUBLE"),
  bool: as("BOOLEAN"),
  date: where("DATE", NO_DATE, (name) => `(${name} >= '0001-01-01' and ${name} < 'infinity')`),
  time: where("TIME", NO_TIME, (name) => `${name} < '24:00'`),
  timestamp: where("TIMESTAMP", NO_DATE, isInstant),
  timestamptz: where("TIMESTAMPTZ", NO_DATE, isInstant),
  uuid: as("UUID"),
  json: as("JSON"),
  jsonb: as("JSON"),
  bytea: (name) => ({ expression: `encode(${name}, 'hex')`, dataType: "BLOB", text: "hex" }),
};

/**
 * How to read a PostgreSQL column. With `asText` it is the server's text; numbers of a key (`isKey`) have no trailing
 * zeros, so that equal ones have equal texts.
 *
 * Every value is exact or counted in `odd`: NaN and infinite numbers, dates and timestamps that Parquet can't
 * represent, and the bounds of arrays. Composites, arrays of JSON and multidimensional arrays become JSON; types that
 * Parquet lacks (intervals, times with a zone, enums, ranges, networks …) become text.
 */
export function passage(column: SourceColumn, { asText = false, isKey = false } = {}): Passage {
  const name = quoteName(column.name);
  const { base } = column;
  if (asText && NUMBERS.has(base)) return digitsPassage(name, base, isKey);
  // A cast would remove the trailing blanks of a character(n).
  if (asText) return { expression: base === "bpchar" ? name : `${name}::text`, dataType: "VARCHAR" };
  if (column.element) return listPassage(name, column.element);
  const way = POSTGRES_TYPES[base];
  if (way) return way(name, column.modifier);
  if (column.category === "A" || column.kind === "c") {
    return { expression: `to_json(${name})`, dataType: "JSON" };
  }
  return { expression: name, dataType: "VARCHAR" };
}

/** Types whose texts are digits. */
const NUMBERS = new Set(["int2", "int4", "int8", "oid", "numeric"]);

function digitsPassage(name: string, base: string, isKey: boolean): Passage {
  const text = `${name}::text`;
  if (base !== "numeric") return { expression: text, dataType: "VARCHAR", text: "digits" };
  const trimmed = `case when ${text} like '%.%' then rtrim(rtrim(${text}, '0'), '.') else ${text} end`;
  const orderless = `${text} in ('NaN', 'Infinity', '-Infinity')`;
  return { expression: isKey ? trimmed : text, dataType: "VARCHAR", text: "digits", orderless };
}

function numeric(name: string, modifier: number): Passage {
  const dataType = decimalType(modifier);
  // NaN and infinities are the numbers whose difference with themselves isn't 0; older servers lack 'Infinity'.
  const condition = dataType ? `${name} <> 'NaN'` : `${name} - ${name} = 0`;
  return {
    expression: `case when ${condition} then ${name} end`,
    dataType: dataType ?? "VARCHAR",
    ...(dataType ? {} : { text: "number" as const }),
    odd: { condition: `not (${condition})`, what: NO_NUMBER },
  };
}

/** DuckDB type of a `numeric(p,s)`; null if it has no scale or more digits than DuckDB supports. */
function decimalType(modifier: number): string | null {
  if (modifier < 4) return null;
  const precision = ((modifier - 4) >> 16) & 0xffff;
  const scale = (((modifier - 4) & 0x7ff) ^ 1024) - 1024; // eleven bits, signed since PostgreSQL 15
  // A negative scale rounds left of the point; one above the precision adds zeros right of it.
  const digits = scale < 0 ? precision - scale : Math.max(precision, scale);
  return digits > MAX_DECIMAL_DIGITS ? null : `DECIMAL(${digits},${Math.max(scale, 0)})`;
}

/** Elements that JSON would format differently from the server's text, or as numbers that a double would change. */
const ELEMENTS_AS_TEXT = [
  "numeric",
  "oid",
  "xid8",
  "float4",
  "float8",
  "date",
  "time",
  "timestamp",
  "timestamptz",
];

/** An array is read as a JSON list with numbers as text: the server writes them exactly, but a JSON reader rounds. */
function listPassage(name: string, { base, kind, category, modifier }: SourceType): Passage {
  const odd = { condition: `replace(array_dims(${name}), '[1:', '') like '%[%'`, what: NO_BOUNDS };
  if (kind === "c" || category === "A" || base === "json" || base === "jsonb") {
    return { expression: `to_json(${name})`, dataType: "JSON", odd };
  }
  const cast = base === "money" ? "::numeric[]::text[]" : ELEMENTS_AS_TEXT.includes(base) ? "::text[]" : "";
  const { dataType } = POSTGRES_TYPES[base]?.(name, modifier) ?? { dataType: "VARCHAR" };
  return { expression: `to_json(${name}${cast})`, dataType: `${dataType}[]`, text: "list", odd };
}

/**
 * The field after the columns: a JSON object of odd values' texts by column, NULL if there are none.
 * Null if no column has any.
 */
export function oddField(columns: readonly SourceColumn[], passages: readonly Passage[]): string | null {
  const found = columns.flatMap((column, at) => {
    const odd = passages[at]?.odd;
    return odd ? [{ column, condition: odd.condition }] : [];
  });
  if (found.length === 0) return null;
  const names = found.map(({ column }) => valueExpression(column.name, "text"));
  const values = found.map(
    ({ column, condition }) => `case when ${condition} then left(${quoteName(column.name)}::text, 200) end`,
  );
  const any = found.map(({ condition }) => condition).join(" or ");
  return `case when ${any} then json_object(array[${names.join(", ")}], array[${values.join(", ")}])::text end`;
}
