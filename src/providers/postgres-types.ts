import type { CsvColumn } from "./contract.ts";
import { quoteName, valueExpression } from "./postgres-names.ts";

/** What the catalogue says of a type, without its domains. */
interface SourceType {
  /** `pg_type.typname`, `typtype` and `typcategory`. */
  base: string;
  kind: string;
  category: string;
  modifier: number;
}

/** A column as the catalogue has it; domains are already followed to what they rest on. */
export interface SourceColumn extends SourceType {
  name: string;
  /** The source's own name of the type, such as `numeric(10,2)`. */
  type: string;
  /** The same without length or precision, to cast a value to. */
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

const SAME_TEXT: Readonly<Record<string, string>> = {
  int2: "SMALLINT",
  int4: "INTEGER",
  int8: "BIGINT",
  oid: "BIGINT",
  xid8: "DECIMAL(20,0)",
  float4: "FLOAT",
  float8: "DOUBLE",
  bool: "BOOLEAN",
  uuid: "UUID",
  json: "JSON",
  jsonb: "JSON",
};

/** Types whose values Parquet does not hold whole, with the condition for those that it does. */
const READABLE: Readonly<Record<string, [dataType: string, condition: (name: string) => string]>> = {
  date: ["DATE", (name) => `(isfinite(${name}) and ${name} >= '0001-01-01')`],
  // Infinities lie outside of these bounds.
  timestamp: ["TIMESTAMP", (name) => `(${name} >= '0001-01-01' and ${name} < '294247-01-01')`],
  timestamptz: ["TIMESTAMPTZ", (name) => `(${name} >= '0001-01-01' and ${name} < '294247-01-01')`],
  time: ["TIME", (name) => `${name} < '24:00'`],
};

const NO_DATE = "became NULL: no date that Parquet holds";
const NO_TIME = "became NULL: no time of day that Parquet holds";
const NO_NUMBER = "became NULL: no number that a decimal holds";
const NO_BOUNDS = "came without the bounds: a list begins at 1";

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
  const same = SAME_TEXT[base];
  if (same !== undefined) return { expression: name, dataType: same };
  if (column.category === "A" || column.kind === "c") {
    return { expression: `to_json(${name})`, dataType: "JSON" };
  }
  const readable = READABLE[base];
  if (readable) {
    const condition = readable[1](name);
    return {
      expression: `case when ${condition} then ${name} end`,
      dataType: readable[0],
      odd: { condition: `not ${condition}`, what: base === "time" ? NO_TIME : NO_DATE },
    };
  }
  switch (base) {
    case "numeric":
      return numericPassage(name, column.modifier);
    case "money":
      return { expression: `${name}::numeric`, dataType: MONEY };
    case "bytea":
      return { expression: `encode(${name}, 'hex')`, dataType: "BLOB", text: "hex" };
    default:
      return { expression: name, dataType: "VARCHAR" };
  }
}

const MONEY = "DECIMAL(22,3)";

/** Types whose texts are digits. */
const NUMBERS = new Set(["int2", "int4", "int8", "oid", "numeric"]);

function digitsPassage(name: string, base: string, isKey: boolean): Passage {
  const text = `${name}::text`;
  if (base !== "numeric") return { expression: text, dataType: "VARCHAR", text: "digits" };
  const trimmed = `case when ${text} like '%.%' then rtrim(rtrim(${text}, '0'), '.') else ${text} end`;
  const orderless = `${text} in ('NaN', 'Infinity', '-Infinity')`;
  return { expression: isKey ? trimmed : text, dataType: "VARCHAR", text: "digits", orderless };
}

function numericPassage(name: string, modifier: number): Passage {
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

/** An array goes as a JSON list: the server writes numbers in it exactly, and the reader would not keep them so. */
function listPassage(name: string, element: SourceType): Passage {
  const odd = { condition: `replace(array_dims(${name}), '[1:', '') like '%[%'`, what: NO_BOUNDS };
  const list = (type: string, expression: string): Passage => ({
    expression,
    dataType: `${type}[]`,
    text: "list",
    odd,
  });
  const texts = `to_json(${name}::text[])`;
  const plain = `to_json(${name})`;
  const { base, kind } = element;
  if (kind === "c" || base === "json" || base === "jsonb") {
    return { expression: plain, dataType: "JSON", odd };
  }
  if (READABLE[base]) return list(READABLE[base][0], texts);
  switch (base) {
    case "numeric":
      return list(decimalType(element.modifier) ?? "VARCHAR", texts);
    case "money":
      return list(MONEY, `to_json(${name}::numeric[]::text[])`);
    case "bytea":
      return list("BLOB", plain);
    case "oid":
    case "xid8":
    case "float4":
    case "float8":
      return list(SAME_TEXT[base] ?? "VARCHAR", texts);
    default:
      return list(SAME_TEXT[base] ?? "VARCHAR", plain);
  }
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
