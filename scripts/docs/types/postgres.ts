import { OddValues } from "../../../src/base/odd-values.ts";
import type { Extraction } from "../../../src/providers/contract.ts";
import { type Passage, passage, type SourceColumn } from "../../../src/providers/postgres/types.ts";
import { type Line, nameOf, rowsOf } from "./line.ts";

/**
 * A line with PostgreSQL's catalog entry for its type and the output of its COPY.
 * The test checks both against a server.
 */
export interface PostgresLine extends Line {
  /** `pg_type.typname` of the type below all domains, or of the elements. */
  base: string;
  kind?: "c";
  /** `pg_type.typcategory`, if it matters. */
  category?: "A";
  isList?: boolean;
  /** Output of COPY, if it isn't the values. */
  sent?: readonly string[];
  oddSent?: string;
}

/** Statements that the declared types need. */
export const POSTGRES_SETUP = `
  create type mood as enum ('sad', 'ok');
  create type pair as (n numeric, t text);
  create domain amount as numeric(12,3);`;

const line = (type: string, base: string, value: string, more: Partial<PostgresLine> = {}): PostgresLine => ({
  type,
  base,
  values: [value],
  ...more,
});
const same = (type: string, value: string, more: Partial<PostgresLine> = {}) => line(type, type, value, more);
const list = (type: string, base: string, value: string, sent: string, more: Partial<PostgresLine> = {}) =>
  line(type, base, value, { isList: true, sent: [sent], ...more });

export const POSTGRES_LINES: readonly PostgresLine[] = [
  line("smallint", "int2", "-32768"),
  line("integer", "int4", "2147483647"),
  line("bigint", "int8", "9223372036854775807"),
  same("oid", "4294967295"),
  same("xid8", "18446744073709551615"),
  line("numeric(12,2)", "numeric", "1234.50", { odd: "NaN" }),
  line("numeric(10,-2)", "numeric", "12300", { odd: "NaN" }),
  line("numeric", "numeric", "1.5", { values: ["1.5", "0.25"], odd: "NaN" }),
  line("numeric", "numeric", `1${"0".repeat(40)}`, {
    title: "`numeric`, if a value has more than 38 digits",
    odd: "Infinity",
  }),
  line("numeric(50,10)", "numeric", "0.5000000000", { odd: "NaN" }),
  line("amount", "numeric", "1.250", {
    title: "a domain, as its base type: `numeric(12,3)`",
    odd: "NaN",
  }),
  same("money", "12.50"),
  line("real", "float4", "0.1", { values: ["0.1", "NaN"] }),
  line("double precision", "float8", "0.1", { values: ["0.1", "-Infinity"] }),
  line("boolean", "bool", "true", { sent: ["t"] }),
  same("date", "2026-01-31", { odd: "infinity" }),
  line("time", "time", "23:59:59.5", { odd: "24:00:00" }),
  line("timestamp", "timestamp", "2026-01-31 12:00:00", { odd: "0044-03-15 12:00:00 BC" }),
  line("timestamptz", "timestamptz", "2026-01-31 12:00:00+05:30", {
    sent: ["2026-01-31 06:30:00+00"],
    odd: "infinity",
  }),
  same("uuid", "01900000-0000-7000-8000-000000000001"),
  same("bytea", "\\x00ff", { sent: ["00ff"] }),
  same("json", '{"a": 1.0}'),
  same("jsonb", '{"a": 12345678901234567890}'),
  line("pair", "pair", "(1.50,x)", {
    title: "a composite type",
    kind: "c",
    sent: ['{"n":1.50,"t":"x"}'],
  }),
  same("text", "a"),
  line("varchar(20)", "varchar", "a "),
  line("char(3)", "bpchar", "a", { sent: ["a  "] }),
  line("mood", "mood", "ok", { title: "an enum" }),
  line("timetz", "timetz", "12:00:00+05:30"),
  same("interval", "1 mon 2 days"),
  same("inet", "10.0.0.1"),
  same("cidr", "10.0.0.0/8"),
  same("macaddr", "08:00:2b:01:02:03"),
  line("bit(3)", "bit", "101"),
  same("int4range", "[1,5)"),
  same("point", "(1,2)"),
  same("tsvector", "'a':1"),
  same("xml", "<a/>"),
  same("int2vector", "1 2", { category: "A", sent: ["[1,2]"] }),
  same("oidvector", "1 2", { category: "A", sent: ['["1","2"]'] }),
  list("integer[]", "int4", "{1,NULL,3}", "[1,null,3]", { odd: "[0:1]={7,8}", oddSent: "[7,8]" }),
  list("numeric(12,2)[]", "numeric", "{1.50}", '["1.50"]'),
  list("text[]", "text", "{a,NULL}", '["a",null]'),
  list("timestamptz[]", "timestamptz", '{"2026-01-31 12:00:00+00"}', '["2026-01-31 12:00:00+00"]'),
  list("jsonb[]", "jsonb", '{"{\\"a\\": 1}"}', '[{"a": 1}]'),
  list("integer[]", "int4", "{{1,2},{3,4}}", "[[1,2],[3,4]]", { title: "`integer[]` of two dimensions" }),
  list("date[]", "date", "{infinity}", '["infinity"]', {
    title: "`date[]` with a value that isn't a finite date",
  }),
];

const modifierOf = (type: string): number => {
  const [, precision, scale] =
    /^numeric\((\d+),(-?\d+)\)/.exec(type === "amount" ? "numeric(12,3)" : type) ?? [];
  return precision === undefined ? -1 : ((Number(precision) << 16) | (Number(scale) & 0x7ff)) + 4;
};

function columnOf({ type, base, kind, category, isList }: PostgresLine, name: string): SourceColumn {
  const own = { base, kind: kind ?? "b", category: category ?? "U", modifier: modifierOf(type) };
  const element = isList ? own : null;
  return {
    name,
    type,
    castType: type,
    nullable: true,
    ...own,
    ...(isList ? { base: `_${base}` } : {}),
    element,
    collation: null,
  };
}

/** How the type of a line is transferred. */
const passageOf = (line: PostgresLine, at: number): Passage => passage(columnOf(line, nameOf(at)));

/** The lines as the provider returns them. */
export function postgresExtraction(lines: readonly PostgresLine[]): Extraction {
  const passages = lines.map(passageOf);
  const sent = rowsOf(
    lines.map((each, at) => ({
      ...each,
      values: each.sent ?? each.values,
      odd: passages[at]?.odd ? each.oddSent : each.odd,
    })),
  );
  const given = rowsOf(lines);
  const records = given.map((row, index) => {
    const odd = lines.flatMap(({ odd, values }, at) =>
      odd !== undefined && index === values.length ? [[nameOf(at), row[at]] as const] : [],
    );
    const fields = [String(index + 1), ...lines.map((_, at) => field(sent[index]?.[at] ?? null))];
    return [...fields, odd.length === 0 ? "" : field(JSON.stringify(Object.fromEntries(odd)))].join(",");
  });
  return {
    kind: "csv",
    columns: [
      { name: "id", dataType: "INTEGER", nullable: true },
      ...passages.map(({ dataType, text }, at) => ({
        name: nameOf(at),
        dataType,
        nullable: true,
        ...(text ? { text } : {}),
      })),
    ],
    bytes: bytesOf(records.map((record) => `${record}\n`).join("")),
    odd: new OddValues(),
    oddField: new Map(passages.map(({ odd }, at) => [nameOf(at), odd?.what ?? ""])),
    ranged: true,
  };
}

async function* bytesOf(text: string) {
  yield Buffer.from(text);
}

const field = (text: string | null): string =>
  text === null ? "" : /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
