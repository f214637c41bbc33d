import type { Cell } from "./mysql-reader.ts";
import { quoteName } from "./mysql-text.ts";

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
  /** How its values are compared; null for a column that can't be a cursor. */
  sort: "number" | "date" | "datetime" | "text" | null;
  /** The CSV field of a value that is not NULL. */
  field(cell: Buffer): string;
}

/** One column of `information_schema.columns`. */
export interface CatalogueColumn {
  name: string;
  type: string;
  base: string;
  nullable: boolean;
  precision: number | null;
  scale: number | null;
}

/** DuckDB's widest decimal. */
const MAX_DECIMAL_DIGITS = 38;

const INTEGERS: Readonly<Record<string, readonly [signed: string, unsigned: string]>> = {
  tinyint: ["TINYINT", "UTINYINT"],
  smallint: ["SMALLINT", "USMALLINT"],
  mediumint: ["INTEGER", "UINTEGER"],
  int: ["INTEGER", "UINTEGER"],
  integer: ["INTEGER", "UINTEGER"],
  bigint: ["BIGINT", "UBIGINT"],
};

const plain = (cell: Buffer): string => cell.toString("latin1");

/** A CSV field in quotes. */
const quoted = (text: string): string => `"${text.includes('"') ? text.replaceAll('"', '""') : text}"`;
const text = (cell: Buffer): string => quoted(cell.toString("utf8"));
const hex = (cell: Buffer): string => cell.toString("hex");

/**
 * DuckDB's reading of a MySQL column.
 *
 * Exact for integers, decimals up to 38 digits, floats, dates and times of day, texts and JSON; `timestamp` is an
 * instant in UTC, `datetime` has no zone. Binary becomes hex text, geometry its well-known text, `bit` a number, `time`
 * (which may be longer than a day), enum, set and all else their text. What DuckDB can't hold becomes NULL, so that one
 * odd value does not stop a load: zero dates, dates without month or day, the year 0.
 */
export function sourceColumn(column: CatalogueColumn): SourceColumn {
  const name = quoteName(column.name);
  const { name: own, type, nullable } = column;
  const make = (
    dataType: string,
    sort: SourceColumn["sort"],
    field: (cell: Buffer) => string,
    expression = name,
  ): SourceColumn => ({ name: own, type, nullable, expression, dataType, sort, field });

  const integer = INTEGERS[column.base];
  if (integer) return make(integer[/unsigned/i.test(type) ? 1 : 0], "number", plain);
  switch (column.base) {
    case "decimal":
    case "numeric": {
      const { precision, scale } = column;
      const fits = precision !== null && precision <= MAX_DECIMAL_DIGITS;
      return make(fits ? `DECIMAL(${precision},${scale ?? 0})` : "DOUBLE", "number", plain);
    }
    case "float":
      return make("FLOAT", "number", plain, `${name} + 0e0`); // as it is, the server shows six digits of it
    case "double":
    case "real":
      return make("DOUBLE", "number", plain);
    case "bit":
      return make("UBIGINT", "number", plain, `${name} + 0`);
    case "year":
      return make("SMALLINT", "number", plain);
    case "date":
      return make("DATE", "date", (cell) => readableDay(plain(cell), ""));
    case "datetime":
      return make("TIMESTAMP", "datetime", (cell) => readableDay(plain(cell), ""));
    case "timestamp":
      return make("TIMESTAMPTZ", "datetime", (cell) => readableDay(plain(cell), "+00"));
    case "json":
      return make("JSON", null, text);
    case "binary":
    case "varbinary":
    case "tinyblob":
    case "blob":
    case "mediumblob":
    case "longblob":
      return make("VARCHAR", null, hex);
    case "geometry":
    case "point":
    case "linestring":
    case "polygon":
    case "multipoint":
    case "multilinestring":
    case "multipolygon":
    case "geomcollection":
    case "geometrycollection":
      return make("VARCHAR", null, text, `ST_AsText(${name})`);
    default:
      return make("VARCHAR", "text", text);
  }
}

const DAY = /^(\d{4})-(\d\d)-(\d\d)/;

/** A day, or what begins with one, with the zone behind it; empty, which is NULL, where there is no such day. */
function readableDay(value: string, zone: string): string {
  const [, year = "0", month = "0", day = "0"] = DAY.exec(value) ?? [];
  const inMonth =
    Number(day) <= 28 || new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate() >= Number(day);
  const isReal = Number(year) > 0 && Number(month) > 0 && Number(day) > 0 && inMonth;
  return isReal ? `${value}${zone}` : "";
}

/** The CSV of some rows: NULL is nothing, a row ends with a line feed. */
export function csvOf(rows: readonly Cell[][], columns: readonly SourceColumn[]): Uint8Array {
  let out = "";
  for (const row of rows) {
    for (let at = 0; at < columns.length; at++) {
      const cell = row[at];
      if (at > 0) out += ",";
      if (cell) out += columns[at]?.field(cell) ?? "";
    }
    out += "\n";
  }
  return Buffer.from(out);
}
