import type { OddValues } from "../../base/odd-values.ts";
import type { CsvColumn } from "../contract.ts";
import type { Cell } from "./reader.ts";
import { quoteName } from "./text.ts";

/** A column as the catalogue has it, and how it goes over. */
export interface SourceColumn {
  name: string;
  /** The source's own name of the type, such as `decimal(10,2) unsigned`. */
  type: string;
  nullable: boolean;
  /** What the SELECT asks for. */
  expression: string;
  /** The DuckDB type of its text. */
  dataType: string;
  text?: CsvColumn["text"];
  /** How its values are compared; null for a column that can't be a cursor. */
  sort: "number" | "date" | "datetime" | "text" | null;
  /** Of texts, where equal ones may have other bytes. */
  collation: Collation | null;
  /** The CSV field of a value that is not NULL; null for one that does not go over. */
  field(cell: Buffer): string | null;
}

/** What a SELECT asks for, and how it becomes CSV. */
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

/** A CSV field in quotes. */
const quoted = (text: string): string => `"${text.includes('"') ? text.replaceAll('"', '""') : text}"`;
const text = (cell: Buffer): string => quoted(cell.toString("utf8"));
/** Equal numbers are equal texts. */
const trimmed = (cell: Buffer): string => {
  const digits = plain(cell);
  return quoted(digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits);
};
/** In quotes, since an empty field without them is NULL. */
const hex = (cell: Buffer): string => `"${cell.toString("hex")}"`;

/**
 * How a MySQL column goes over. With `asText` it goes as the server's own text: bytes as hex digits, shapes as their
 * well-known text behind their SRID, numbers of a key (`isKey`) without zeros at their end.
 *
 * Exact for all that Parquet has a type for; `timestamp` is an instant in UTC, `datetime` has no zone, a shape is its
 * SRID and its well-known binary. `time` (which may be longer than a day), enum, set and all else go as their text. Days
 * that are none become NULL and are told: zero dates, dates without month or day, the year 0.
 */
export function sourceColumn(column: CatalogueColumn, { asText = false, isKey = false } = {}): SourceColumn {
  const made = typedColumn(column);
  if (!asText) return made;
  if (made.sort === "number") {
    // The text of a float may have an exponent, and then says nothing of its place in an order.
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

/** How the values of a type go over; the column itself is asked for where `expression` is absent. */
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

/** The types that have one in the lake, by `information_schema.columns.data_type`. All others go as the server's text. */
export const MYSQL_TYPES: Readonly<Record<string, (column: CatalogueColumn) => Way>> = {
  tinyint: integer("TINYINT", "UTINYINT"),
  smallint: integer("SMALLINT", "USMALLINT"),
  mediumint: integer("INTEGER", "UINTEGER"),
  int: integer("INTEGER", "UINTEGER"),
  integer: integer("INTEGER", "UINTEGER"),
  bigint: integer("BIGINT", "UBIGINT"),
  decimal,
  numeric: decimal,
  // As it is, the server shows six digits of it.
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
/** What is no text stands in another order than its texts. */
const otherwise = as("VARCHAR", null, text);

function typedColumn(column: CatalogueColumn): SourceColumn {
  const { name, type, nullable, base } = column;
  const collation = TEXTS.includes(base) && isLoose(column.collation) ? column.collation : null;
  const way = (MYSQL_TYPES[base] ?? (TEXTS.includes(base) ? ofText : otherwise))(column);
  return { name, type, nullable, expression: quoteName(name), collation, ...way };
}

/** True for collations under which texts are equal that have other bytes: all but those of bytes that do not pad. */
const isLoose = (collation: Collation | null): boolean =>
  collation !== null && !/^binary$|(_0900_|_nopad_)bin$/.test(collation.name);

/** True for collations to which blanks at the end of a text are nothing: all but MySQL's newer ones. */
export const pads = ({ name }: Collation): boolean => !/_0900_|_nopad_/.test(name);

const DAY = /^(\d{4})-(\d\d)-(\d\d)/;

/** A day, or what begins with one, with the zone behind it; null where there is no such day. */
function readableDay(value: string, zone: string): string | null {
  const [, year = "0", month = "0", day = "0"] = DAY.exec(value) ?? [];
  const inMonth =
    Number(day) <= 28 || new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate() >= Number(day);
  const isReal = Number(year) > 0 && Number(month) > 0 && Number(day) > 0 && inMonth;
  return isReal ? `${value}${zone}` : null;
}

/** A value so long goes on by itself. */
const LONG_CELL_BYTES = 1024 * 1024;

/** The CSV of some rows: NULL is nothing, a row ends with a line feed. Counts the values that do not go over. */
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
