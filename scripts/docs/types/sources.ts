import type { Extraction, FileFormat } from "../../../src/providers/contract.ts";
import { readSource } from "../../../src/sheets/source.ts";
import { avroOf } from "../../../test/exact/avro.ts";
import { csvOf } from "../../../test/exact/csv.ts";
import { jsonOf } from "../../../test/exact/json.ts";
import { xlsxOf } from "../../../test/exact/xlsx.ts";
import { openWorld } from "../../../test/executors/extract/world.ts";
import { type Answer, answersOf, DATASET, type Line, TABLE, tableOf } from "./line.ts";
import { MYSQL_LINES, mysqlExtraction } from "./mysql.ts";
import { PARQUET_LINES, parquetOf } from "./parquet.ts";
import { POSTGRES_LINES, postgresExtraction } from "./postgres.ts";
import { AVRO_LINES, XLSX_LINES } from "./sheets.ts";
import { CSV_LINES, JSON_LINES } from "./texts.ts";

/** A source of the tables of types: its lines, and how an extract gets them. */
export interface TypeSource {
  lines: readonly Line[];
  extraction(): Promise<Extraction>;
}

/** Files of the lines by format. */
export const FILES: Partial<
  Record<FileFormat, { lines: readonly Line[]; content(): Promise<Buffer<ArrayBuffer>> }>
> = {
  csv: { lines: CSV_LINES, content: async () => Buffer.from(csvOf(tableOf(CSV_LINES)).content) },
  json: { lines: JSON_LINES, content: async () => Buffer.from(jsonOf(tableOf(JSON_LINES)).content) },
  parquet: { lines: PARQUET_LINES, content: async () => Buffer.from(await parquetOf(PARQUET_LINES)) },
  xlsx: { lines: XLSX_LINES, content: async () => Buffer.from(xlsxOf(tableOf(XLSX_LINES)).content) },
  avro: { lines: AVRO_LINES, content: async () => Buffer.from(avroOf(tableOf(AVRO_LINES)).content) },
};

const fileExtraction = (format: FileFormat, content: Buffer<ArrayBuffer>): Extraction => ({
  kind: "files",
  files: (async function* () {
    yield { name: `${TABLE}.${format}`, format, open: async () => new Blob([content]).stream() };
  })(),
  ranged: false,
});

export const TYPE_SOURCES: Readonly<Record<string, TypeSource>> = {
  postgres: { lines: POSTGRES_LINES, extraction: async () => postgresExtraction(POSTGRES_LINES) },
  mysql: { lines: MYSQL_LINES, extraction: async () => mysqlExtraction(MYSQL_LINES) },
  ...Object.fromEntries(
    Object.entries(FILES).map(([format, { lines, content }]) => [
      format,
      { lines, extraction: async () => fileExtraction(format as FileFormat, await content()) },
    ]),
  ),
};

/** Returns the results of a source's lines, extracted in this process. */
export async function answersHere({ lines, extraction }: TypeSource): Promise<Answer[]> {
  await using world = openWorld({ sheets: { read: ({ signal: _, ...source }) => readSource(source) } });
  const definition = { dataset: DATASET, resources: [{ name: TABLE }] };
  const { result } = await world.run(definition, extraction);
  const tables = world.tables.map(({ table, columns }) => ({ name: table, columns }));
  return await answersOf(lines, { tables, warnings: result.warnings, query: world.query });
}
