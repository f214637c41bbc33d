import type { OddValues } from "../../base/odd-values.ts";
import type { CsvColumn } from "../contract.ts";
import type { Cell } from "./reader.ts";
import { quoteName } from "./text.ts";

/** A column of the source, and how to read it. */
export interface SourceColumn {
  name: string;
  /** The source's type name, such as `decimal(10,2) unsigned`. */
  type: string;
  nullable: boolean;
  /** Its expression in the SELECT. */
  expression: string;
  /** The DuckDB type of its text. */
  dataType: string;
  text?: CsvColumn["text"];
  /** How its values are compared; null if the column can't be a cursor. */
  sort: "number" | "date" | "datetime" | "text" | null;
  /** For text whose equal values may have different bytes. */
  collation: Collation | null;
  /** The CSV field of a value other than NULL; null for a value that can't be read. */
  field(cell: Buffer): string | null;
}

/** The SELECT expression and its conversion to CSV. */
export type SentColumn = Pick<SourceColumn, "name" | "expression" | "field">;

interface Collation {
  name: string;
  charset: string;
}

/** One column of `information_schema.columns`. */
export interface CatalogueColumn {
  name: string;
  type: string;
  base: string;
  nullable: boolean;
  precision: number | null;
  scale: number | null;
  collation: Collation | null;
}

/** DuckDB's widest decimal. */
const MAX_DECIMAL_DIGITS = 38;

const plain = (cell: Buffer): string => cell.toString("latin1");

/** A quoted CSV field. */
const quoted = (text: string): string => `"${text.includes('"') ? text.replaceAll('"', '""') : text}"`;
const text = (cell: Buffer): string => quoted(cell.toString("utf8"));
/** Equal numbers become equal texts. */
const trimmed = (cell: Buffer): string => {
  const digits = plain(cell);
  return quoted(digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits);
};
/** Quoted, because an unquoted empty field is NULL. */
const hex = (cell: Buffer): string => `"${cell.toString("hex")}"`;

/**
 * How to read a MySQL column. With `asText` it is the server's text: bytes as hex digits, geometries as SRID and
 * well-known text, numbers of a key (`isKey`) without trailing zeros.
 *
 * Exact for every type that Parquet has; `timestamp` is in UTC, `datetime` has no zone, a geometry is its SRID and its
 * well-known binary. `time` (which may exceed a day), enum, set and all others are text. Invalid dates become NULL and
 * are counted: zero dates, dates without month or day, the year 0.
 */
export function sourceColumn(column: CatalogueColumn, { asText = false, isKey = false } = {}): SourceColumn {
  const made = typedColumn(column);
  if (!asText) return made;
  if (made.sort === "number") {
    // A float's text may have an exponent, so that it doesn't sort by value.
    if (FLOATS.includes(column.base)) return { ...textColumn(made, text), sort: null };
    return { ...textColumn(made, isKey ? trimmed : text), text: "digits" };
  }
  if (SHAPES.includes(column.base)) {
    const name = quoteName(column.name);
    const expression = `CONCAT('SRID=', ST_SRID(${name}), ';', ST_AsText(${name}))`;
    return { ...textColumn(made, text), expression };
  }
  return textColumn(made, made.text === "hex" ? hex : text);
}

function textColumn(
  { name, type, nullable, expression, sort, collation }: SourceColumn,
  field: SourceColumn["field"],
): SourceColumn {
  return { name, type, nullable, expression, sort, collation, dataType: "VARCHAR", field };
}

const SHAPES = [
  "geometry",
  "point",
  "linestring",
  "polygon",
  "multipoint",
  "multilinestring",
  "multipolygon",
  "geomcollection",
  "geometrycollection",
];
const TEXTS = ["char", "varchar", "tinytext", "text", "mediumtext", "longtext"];
const FLOATS = ["float", "double", "real"];

/** How to read the values of a type; the default `expression` is the column itself. */
interface Way extends Pick<SourceColumn, "dataType" | "sort" | "field" | "text"> {
  expression?: string;
}

const as =
  (dataType: string, sort: Way["sort"], field: Way["field"] = plain) =>
  (): Way => ({ dataType, sort, field });
const integer =
  (signed: string, unsigned: string) =>
  ({ type }: CatalogueColumn): Way => ({
    dataType: /unsigned/i.test(type) ? unsigned : signed,
    sort: "number",
    field: plain,
  });
const day = (dataType: string, sort: Way["sort"], zone = "") =>
  as(dataType, sort, (cell) => readableDay(plain(cell), zone));
const bytes = (): Way => ({ dataType: "BLOB", sort: null, field: hex, text: "hex" });
const double = as("DOUBLE", "number");

/** Types that the lake also has, by `information_schema.columns.data_type`. All others are read as text. */
export const MYSQL_TYPES: Readonly<Record<string, (column: CatalogueColumn) => Way>> = {
  tinyint: integer("TINYINT", "UTINYINT"),
  smallint: integer("SMALLINT", "USMALLINT"),
  mediumint: integer("INTEGER", "UINTEGER"),
  int: integer("INTEGER", "UINTEGER"),
  integer: integer("INTEGER", "UINTEGER"),
  bigint: integer("BIGINT", "UBIGINT"),
  decimal,
  numeric: decimal,
  // By default the server shows only six digits.
  float: ({ name }) => ({ ...as("FLOAT", "number")(), expression: `${quoteName(name)} + 0e0` }),
  double,
  real: double,
  bit: ({ name }) => ({ ...as("UBIGINT", "number")(), expression: `${quoteName(name)} + 0` }),
  year: as("SMALLINT", "number"),
  date: day("DATE", "date"),
  datetime: day("TIMESTAMP", "datetime"),
  timestamp: day("TIMESTAMPTZ", "datetime", "+00"),
  json: as("JSON", null, text),
  uuid: as("UUID", "text"),
  binary: bytes,
  varbinary: bytes,
  tinyblob: bytes,
  blob: bytes,
  mediumblob: bytes,
  longblob: bytes,
  vector: bytes,
  ...Object.fromEntries(SHAPES.map((shape) => [shape, bytes])),
};

function decimal({ precision, scale }: CatalogueColumn): Way {
  const fits = precision !== null && precision <= MAX_DECIMAL_DIGITS;
  if (!fits) return { ...as("VARCHAR", "number")(), text: "number" };
  return as(`DECIMAL(${precision},${scale ?? 0})`, "number")();
}

const ofText = as("VARCHAR", "text", text);
/** Other types don't sort like their texts. */
const otherwise = as("VARCHAR", null, text);

function typedColumn(column: CatalogueColumn): SourceColumn {
  const { name, type, nullable, base } = column;
  const collation = TEXTS.includes(base) && isLoose(column.collation) ? column.collation : null;
  const way = (MYSQL_TYPES[base] ?? (TEXTS.includes(base) ? ofText : otherwise))(column);
  return { name, type, nullable, expression: quoteName(name), collation, ...way };
}

/** True for collations in which texts with different bytes can be equal: all but binary ones without padding. */
const isLoose = (collation: Collation | null): boolean =>
  collation !== null && !/^binary$|(_0900_|_nopad_)bin$/.test(collation.name);

/** True for collations that ignore trailing blanks: all but MySQL's newer ones. */
export const pads = ({ name }: Collation): boolean => !/_0900_|_nopad_/.test(name);

const DAY = /^(\d{4})-(\d\d)-(\d\d)/;

/** A value that starts with a date, with the zone appended; null if the date doesn't exist. */
function readableDay(value: string, zone: string): string | null {
  const [, year = "0", month = "0", day = "0"] = DAY.exec(value) ?? [];
  const inMonth =
    Number(day) <= 28 || new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate() >= Number(day);
  const isReal = Number(year) > 0 && Number(month) > 0 && Number(day) > 0 && inMonth;
  return isReal ? `${value}${zone}` : null;
}

/** Longer values are yielded separately. */
const LONG_CELL_BYTES = 1024 * 1024;

/** The CSV of some rows: NULL is an empty field, a row ends with a line feed. Counts values that can't be read. */
export function* csvOf(
  rows: readonly Cell[][],
  columns: readonly SentColumn[],
  odd: OddValues,
): Generator<Uint8Array> {
  let out = "";
  for (const row of rows) {
    for (let at = 0; at < columns.length; at++) {
      const cell = row[at];
      if (at > 0) out += ",";
      if (!cell) continue;
      const { name, field } = columns[at] as SentColumn;
      const value = field(cell);
      if (value === null) odd.add(name, NO_DATE, cell.toString());
      else if (value.length < LONG_CELL_BYTES) out += value;
      else {
        if (out !== "") yield Buffer.from(out);
        out = "";
        yield Buffer.from(value);
      }
    }
    out += "\n";
  }
  yield Buffer.from(out);
}

const NO_DATE = "became NULL: no date";
