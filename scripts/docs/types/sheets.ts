import { avroOf } from "../../../test/exact/avro.ts";
import { type Line, tableOf } from "./line.ts";

const cells = (
  type: string,
  title: string,
  values: readonly string[],
  odd?: string,
  oddShown?: string,
): Line => ({
  type,
  title,
  values,
  shown: values.map((value) => value.slice(2).replace(/ 00:00:00$/, "")),
  ...(odd === undefined ? {} : { odd, oddShown: oddShown ?? odd.slice(2) }),
});

/** Cells of a workbook. The letter before a value is its cell type. */
export const XLSX_LINES: readonly Line[] = [
  cells("numbers", "integers", ["n 7", "n -1"], "f 1+1", "=1+1"),
  cells("numbers", "decimals", ["n 12.34", "n 5"]),
  cells("numbers", "numbers of more than 38 digits", ["n 1.5E+300"]),
  cells("truths", "`TRUE`, `FALSE`", ["b true", "b false"]),
  cells("day", "dates", ["d 2026-01-31 00:00:00"], "x 60", "1900-02-29"),
  cells("instant", "dates with a time", ["d 2026-01-31 12:00:00"], "r 2026-01-31 12:00:00.123456"),
  cells("zoned", "dates and times in ISO 8601 with a time zone", ["i 2026-01-31T12:00:00Z"]),
  cells("clock", "times of day", ["c 12:00:00"]),
  cells("numbers of hours", "elapsed time (`[h]:mm`), as a number of days", ["n 1.5"]),
  cells("texts", "text", ["s Zoë", "s 007"], "e #N/A"),
  cells("mix of texts and numbers", "cells of several types", ["s x"], "n 1.5"),
];

const line = (type: string, value: string, more: Partial<Line> = {}): Line => ({
  type,
  values: [value],
  ...more,
});

const AT = "2026-01-31 12:00:00";
const ID = "01900000-0000-7000-8000-000000000001";
const BEFORE = "0044-03-15 BC";

/** Fields of an Avro record, by the schema names of the tests' writer. */
const AVRO: readonly Line[] = [
  line("int", "2147483647"),
  line("long", "9223372036854775807"),
  line("unknown logical type", "7", { title: "`long` of an unknown logical type" }),
  line("float", "0.1"),
  line("double", "0.1", { values: ["0.1", "NaN"] }),
  line("boolean", "true"),
  line("string of odd bytes", "\\x61", { shown: ["a"], odd: "\\xff" }),
  line("bytes", "\\x00ff"),
  line("fixed", "\\x00ff00ff"),
  line("enum", "ok"),
  line("decimal(38,10)", "1234.5000000000"),
  line("decimal(18,2) fixed", "1234.50"),
  line("decimal(50,0)", `1${"0".repeat(40)}`),
  line("date", "2026-01-31", { odd: BEFORE }),
  line("time-millis", "12:00:00", { odd: "24:00:00" }),
  line("time-micros", "12:00:00", { odd: "24:00:00" }),
  line("timestamp-millis", AT, { odd: "0044-03-15 12:00:00 BC" }),
  line("timestamp-micros", AT, { odd: "0044-03-15 12:00:00 BC" }),
  line("timestamp-nanos", AT),
  line("timestamp-nanos", `${AT}.123456789`, {
    title: "`long timestamp-nanos`, if a value has nanoseconds",
  }),
  line("local-timestamp-millis", AT, { odd: "0044-03-15 12:00:00 BC" }),
  line("local-timestamp-micros", AT, { odd: "0044-03-15 12:00:00 BC" }),
  line("local-timestamp-nanos", AT),
  line("uuid", ID, { odd: "none" }),
  line("uuid fixed", ID),
  line("duration", "P1M2DT3S"),
  line("array", '["1",null]', { shown: ["[1,null]"] }),
  line("map", '{"a":"1"}', { shown: ['{"a":1}'] }),
  line("record of doubles", '{"d":"0.5","f":"1.5"}', {
    shown: ['{"d":0.5,"f":1.5}'],
    odd: '{"d":"NaN","f":"0"}',
    oddShown: "NaN",
  }),
  line("union", "7", { title: "a union of several types", values: ["7", '"x"'] }),
];

interface Schema {
  type: string;
  logicalType?: string;
  precision?: number;
  scale?: number;
}

/** Returns the schemas of the lines' fields, without the null alternative, as in the file. */
export function avroSchemas(): (Schema | string)[] {
  const { content } = avroOf(tableOf(AVRO));
  const text = content.toString("latin1");
  const start = text.indexOf("{");
  const { fields } = JSON.parse(text.slice(start, text.indexOf("\x14avro.codec"))) as {
    fields: { type: (Schema | string)[] }[];
  };
  return fields.slice(1).map(({ type }) => type[1] ?? "");
}

/** A base type and its logical type, such as `bytes decimal(38,10)`. */
export function avroName(schema: Schema | string): string {
  if (typeof schema === "string") return schema;
  const { type, logicalType, precision, scale } = schema;
  const digits = precision === undefined ? "" : `(${precision},${scale})`;
  return logicalType === undefined ? type : `${type} ${logicalType}${digits}`;
}

const schemas = avroSchemas();

export const AVRO_LINES: readonly Line[] = AVRO.map((each, at) => ({
  title: `\`${avroName(schemas[at] ?? "")}\``,
  ...each,
}));
