import type { CsvColumn } from "../contract.ts";
import { quoteName, valueExpression } from "./names.ts";

/** What the catalogue says of a type, without its domains. */
interface SourceType {
  /** `pg_type.typname` of a built-in type and of `citext`; empty for all others, which may share a name with one. */
  base: string;
  /** `pg_type.typtype` and `typcategory`. */
  kind: string;
  category: string;
  modifier: number;
}

/** A column as the catalogue has it; domains are already followed to what they rest on. */
export interface SourceColumn extends SourceType {
  name: string;
  /** The source's own name of the type, such as `numeric(10,2)`. */
  type: string;
  /** The type's name without length or precision, to cast a value to. */
  castType: string;
  nullable: boolean;
  /** What an array is of; null for what is none. */
  element: SourceType | null;
  /** A collation under which texts are equal that have other bytes, its name as SQL; null for all others. */
  collation: { name: string; version: string | null } | null;
}

/** How a column goes over: what COPY selects, and how its text is read. */
export interface Passage {
  expression: string;
  dataType: string;
  text?: CsvColumn["text"];
  /** Which values do not go over as they are, as a condition, and what happens to them. */
  odd?: { condition: string; what: string };
  /** Which values go over, and have no place in the order of the others. */
  orderless?: string;
}

/** DuckDB's widest decimal. */
const MAX_DECIMAL_DIGITS = 38;

const NO_DATE = "became NULL: no date that Parquet holds";
const NO_TIME = "became NULL: no time of day that Parquet holds";
const NO_NUMBER = "became NULL: no number that a decimal holds";
const NO_BOUNDS = "came without the bounds: a list begins at 1";

/** Makes the passage of a column by its name in SQL and its `atttypmod`. */
type Way = (name: string, modifier: number) => Passage;

const as =
  (dataType: string): Way =>
  (name) => ({ expression: name, dataType });

/** Values that Parquet does not hold become NULL; `holds` is the condition for those that it does. */
const where =
  (dataType: string, what: string, holds: (name: string) => string): Way =>
  (name) => ({
    expression: `case when ${holds(name)} then ${name} end`,
    dataType,
    odd: { condition: `not ${holds(name)}`, what },
  });

// Infinities lie outside of these bounds.
const isInstant = (name: string) => `(${name} >= '0001-01-01' and ${name} < '294247-01-01')`;

/** The types that have one in the lake, by `pg_type.typname`. All others go as the server's text. */
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
  date: where("DATE", NO_DATE, (name) => `(isfinite(${name}) and ${name} >= '0001-01-01')`),
  time: where("TIME", NO_TIME, (name) => `${name} < '24:00'`),
  timestamp: where("TIMESTAMP", NO_DATE, isInstant),
  timestamptz: where("TIMESTAMPTZ", NO_DATE, isInstant),
  uuid: as("UUID"),
  json: as("JSON"),
  jsonb: as("JSON"),
  bytea: (name) => ({ expression: `encode(${name}, 'hex')`, dataType: "BLOB", text: "hex" }),
};

/**
 * How a PostgreSQL column goes over. With `asText` it goes as the server's own text, whatever it holds; numbers of a key
 * (`isKey`) without zeros at their end, so that equal ones are equal texts.
 *
 * Every value arrives exactly, or is told by `odd`: NaN and infinities of numbers, days and instants that Parquet does
 * not hold, and the bounds of arrays. Composites, arrays of JSON and arrays of several dimensions are JSON; what
 * has no type in Parquet (intervals, times with a zone, enums, ranges, networks …) is its text.
 */
export function passage(column: SourceColumn, { asText = false, isKey = false } = {}): Passage {
  const name = quoteName(column.name);
  const { base } = column;
  if (asText && NUMBERS.has(base)) return digitsPassage(name, base, isKey);
  // A cast would take the blanks off the end of a character(n).
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
  // NaN and infinities are the numbers that are not 0 less themselves; older servers do not know 'Infinity'.
  const condition = dataType ? `${name} <> 'NaN'` : `${name} - ${name} = 0`;
  return {
    expression: `case when ${condition} then ${name} end`,
    dataType: dataType ?? "VARCHAR",
    ...(dataType ? {} : { text: "number" as const }),
    odd: { condition: `not (${condition})`, what: NO_NUMBER },
  };
}

/** DuckDB's type of a `numeric(p,s)`; null where it has no scale, or more digits than DuckDB's. */
function decimalType(modifier: number): string | null {
  if (modifier < 4) return null;
  const precision = ((modifier - 4) >> 16) & 0xffff;
  const scale = (((modifier - 4) & 0x7ff) ^ 1024) - 1024; // eleven bits, signed since PostgreSQL 15
  // A negative scale rounds left of the point; one above the precision has zeros right of it.
  const digits = scale < 0 ? precision - scale : Math.max(precision, scale);
  return digits > MAX_DECIMAL_DIGITS ? null : `DECIMAL(${digits},${Math.max(scale, 0)})`;
}

/** Elements that JSON would write in another way than the server's text, or as numbers that a double changes. */
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

/** An array goes as a JSON list: the server writes numbers in it exactly, and the reader would not keep them so. */
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
 * The field behind the columns: a JSON object of the texts of odd values by the column's name, NULL where there are none.
 * Null where no column has any.
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
