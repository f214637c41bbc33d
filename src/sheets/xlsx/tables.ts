import { rmSync } from "node:fs";
import { join } from "node:path";
import type { SheetSource, SheetTable } from "../contract.ts";
import { FileFault } from "../fault.ts";
import { CsvWriter } from "../file-writer.ts";
import { SheetColumn } from "./columns.ts";
import { RawRows, writeCsv } from "./raw-rows.ts";
import { readSharedTexts } from "./shared-texts.ts";
import { readSheet, type SheetHead, type SheetRules } from "./sheet.ts";
import { openWorkbook } from "./workbook.ts";
import { Zip } from "./zip.ts";

/** Maximum number of cells: one far to the right in a narrow sheet adds a comma per column to each row. */
const MAX_CELLS = 2 ** 30;

type Options = Pick<SheetSource, "path" | "sheet" | "header" | "skipRows">;

/** Converts the sheets of a workbook to CSV files in the folder. Throws `FileFault`. */
export async function readWorkbook(options: Options, folder: string): Promise<SheetTable[]> {
  using zip = new Zip(options.path);
  const { sheets, sharedPart, ...book } = await openWorkbook(zip);
  const chosen = sheets.filter(({ name }) => options.sheet === null || name === options.sheet);
  if (chosen.length === 0) {
    const names = sheets
      .map(({ name }) => name)
      .join(", ")
      .slice(0, 500);
    const missing =
      options.sheet === null ? "The workbook has no sheets." : `Sheet ${options.sheet} not found.`;
    throw new FileFault(names === "" ? missing : `${missing} The workbook has: ${names}`);
  }
  const sharedPath = join(folder, "shared");
  using shared = await readSharedTexts(zip, sharedPart, sharedPath);
  const rules: SheetRules = { ...book, ...options, shared };
  const tables: SheetTable[] = [];
  for (const { name, part } of chosen) {
    const path = join(folder, `${tables.length + 1}.csv`);
    tables.push(await tableOf(zip, { name, part, path }, rules));
  }
  rmSync(sharedPath);
  return tables;
}

async function tableOf(
  zip: Zip,
  { name, part, path }: { name: string; part: string; path: string },
  rules: SheetRules,
): Promise<SheetTable> {
  const raw = new RawRows(`${path}.raw`);
  const head = await readSheet(zip, part, rules, raw);
  raw.end();
  const columns = columnsOf(head);
  if (columns.length * raw.rows > MAX_CELLS) {
    throw new FileFault(`Sheet ${name} is too large: ${raw.rows} rows of ${columns.length} columns.`);
  }
  const csv = new CsvWriter(path);
  writeCsv(
    raw.path,
    csv,
    columns.map(({ type }) => type),
  );
  csv.end();
  rmSync(raw.path);
  return {
    name,
    path,
    rows: csv.rows,
    longest: csv.longest,
    columns: columns.map(({ name, type }) => ({ name, type })),
    odd: columns.flatMap(({ name, odd }) => odd.of(name)),
  };
}

/** All columns up to the last one with a name or a cell; unnamed ones are named by position. */
function columnsOf({ names, columns }: SheetHead) {
  const width = Math.max(-1, ...names.keys(), ...columns.keys()) + 1;
  return Array.from({ length: width }, (_, at) => {
    const { type, odd } = columns.get(at) ?? new SheetColumn();
    return { name: names.get(at) ?? `column_${at + 1}`, type, odd };
  });
}
