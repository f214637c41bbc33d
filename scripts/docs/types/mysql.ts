import { OddValues } from "../../../src/base/odd-values.ts";
import type { Extraction } from "../../../src/providers/contract.ts";
import { csvOf, type SourceColumn, sourceColumn } from "../../../src/providers/mysql/types.ts";
import { type Line, nameOf, rowsOf } from "./line.ts";

/** A line with the bytes that the server sends for its values. The test checks them against a server. */
export interface MysqlLine extends Line {
  /** `information_schema.columns.data_type`. */
  base: string;
  /** SQL of the value, if it isn't its quoted text. */
  sql?: string;
  /** What the server sends, if it isn't the text. */
  sent?: Buffer;
  /** If only one of the servers has the type. */
  only?: "MySQL" | "MariaDB";
}

const line = (type: string, value: string, more: Partial<MysqlLine> = {}): MysqlLine => ({
  type,
  base: /^\w+/.exec(type)?.[0] ?? "",
  values: [value],
  ...more,
});

const bytes = (type: string): MysqlLine =>
  line(type, "0x00ff", { sql: "X'00ff'", sent: Buffer.from("00ff", "hex") });

/** 4326, before the well-known binary. */
const SRID = "e6100000";
/** The well-known binary of a point at 1, 2, in hex. */
const POINT = "01 01000000 000000000000f03f 0000000000000040";
const shape = (type: string, text: string, wkb: string): MysqlLine =>
  line(type, text, {
    sql: `ST_GeomFromText('${text}', 4326)`,
    sent: Buffer.from(`${SRID}${wkb}`.replaceAll(" ", ""), "hex"),
  });

export const MYSQL_LINES: readonly MysqlLine[] = [
  line("tinyint", "-128"),
  line("boolean", "1", { base: "tinyint" }),
  line("tinyint unsigned", "255"),
  line("smallint", "-32768"),
  line("smallint unsigned", "65535"),
  line("mediumint", "-8388608"),
  line("mediumint unsigned", "16777215"),
  line("int", "-2147483648"),
  line("int unsigned", "4294967295"),
  line("bigint", "-9223372036854775808"),
  line("bigint unsigned", "18446744073709551615"),
  line("decimal(12,2)", "1234.50"),
  line("decimal(50,10)", "0.5000000000"),
  line("decimal(50,0)", `1${"0".repeat(40)}`, {
    title: "`decimal(50,0)`, if a value has more than 38 digits",
  }),
  line("float", "0.1", { sent: Buffer.from("0.10000000149011612") }),
  line("double", "0.1"),
  line("bit(8)", "00000101", { sql: "b'00000101'", sent: Buffer.from("5") }),
  line("year", "2026"),
  line("date", "2026-01-31", { odd: "0000-00-00" }),
  line("datetime", "2026-01-31 12:00:00", { odd: "2026-02-31 12:00:00" }),
  line("timestamp null", "2026-01-31 12:00:00", {
    base: "timestamp",
    title: "`timestamp`, in UTC",
    odd: "0000-00-00 00:00:00",
  }),
  line("time", "-838:59:59"),
  line("char(3)", "a"),
  line("varchar(20)", "a"),
  line("text", "a"),
  line("enum('a','b')", "b"),
  line("set('a','b')", "a,b"),
  line("json", '{"a": 1.0}', { title: "`json` (MySQL)", only: "MySQL" }),
  line("json", '{"a": 1.0}', { base: "longtext", title: "`json` (MariaDB)", only: "MariaDB" }),
  line("uuid", "01900000-0000-7000-8000-000000000001", { title: "`uuid` (MariaDB)", only: "MariaDB" }),
  line("inet6", "::1", { title: "`inet6` (MariaDB)", only: "MariaDB" }),
  ...["binary(2)", "varbinary(8)", "tinyblob", "blob", "mediumblob", "longblob"].map(bytes),
  line("vector(1)", "[1]", {
    title: "`vector` (MySQL)",
    only: "MySQL",
    sent: Buffer.from("0000803f", "hex"),
  }),
  shape("geometry", "POINT(1 2)", POINT),
  shape("point", "POINT(1 2)", POINT),
  shape("multipoint", "MULTIPOINT(1 2)", `01 04000000 01000000 ${POINT}`),
  shape("geometrycollection", "GEOMETRYCOLLECTION(POINT(1 2))", `01 07000000 01000000 ${POINT}`),
];

function columnOf({ type, base }: MysqlLine, name: string): SourceColumn {
  const [precision = null, scale = null] = /\((\d+),(\d+)\)/.exec(type)?.slice(1).map(Number) ?? [];
  return sourceColumn({ name, type, base, nullable: true, precision, scale, collation: null });
}

/** The lines as the provider returns them. */
export function mysqlExtraction(lines: readonly MysqlLine[]): Extraction {
  const columns = [columnOf(line("int", ""), "id"), ...lines.map((each, at) => columnOf(each, nameOf(at)))];
  const rows = rowsOf(lines).map((row, index) => [
    Buffer.from(String(index + 1)),
    ...row.map((text, at) => {
      if (text === null) return null;
      const { sent } = lines[at] as MysqlLine;
      return index === 0 && sent ? sent : Buffer.from(text);
    }),
  ]);
  const odd = new OddValues();
  return {
    kind: "csv",
    columns: columns.map(({ name, dataType, text }) => ({
      name,
      dataType,
      nullable: true,
      ...(text ? { text } : {}),
    })),
    bytes: csvBytes(),
    odd,
    ranged: true,
  };

  async function* csvBytes() {
    yield* csvOf(rows, columns, odd);
  }
}
