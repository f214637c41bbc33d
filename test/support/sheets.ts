import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SheetSource, SheetTable } from "../../src/sheets/contract.ts";
import { openSheets } from "../../src/sheets/sheets.ts";
import { PROGRAM } from "./program.ts";

export interface ReadTable extends Omit<SheetTable, "path"> {
  values: (string | null)[][];
}

/** Reads a file like the server: in a child of the source tree, or of another program. */
export async function readTables(
  bytes: Uint8Array,
  options: Partial<SheetSource> & { signal?: AbortSignal; self?: readonly string[] } = {},
): Promise<ReadTable[]> {
  const { self = PROGRAM, ...given } = options;
  const folder = mkdtempSync(join(tmpdir(), "weir-sheets-"));
  try {
    const path = join(folder, "source");
    writeFileSync(path, bytes);
    const defaults = { format: "xlsx", sheet: null, header: true, skipRows: 0 } as const;
    const signal = given.signal ?? new AbortController().signal;
    const tables = await openSheets(self).read({ path, folder, ...defaults, ...given, signal });
    const read = tables.map((table) => tableOf(table));
    const kept = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) =>
      file.isFile(),
    );
    if (kept.length !== tables.length + 1)
      throw new Error(`Files were left: ${kept.map(({ name }) => name)}`);
    return read;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function tableOf({ path, ...table }: SheetTable): ReadTable {
  const text = readFileSync(path, "utf8");
  const { rows, lines } = recordsOf(text);
  const longest = Math.max(0, ...lines.map((line) => Buffer.byteLength(line)));
  if (longest !== table.longest)
    throw new Error(`The longest row has ${longest} bytes, not ${table.longest}.`);
  return { ...table, values: table.columns.length === 0 ? [] : rows };
}

/** Parses CSV strictly: an unquoted empty field is null, a quoted one an empty text. */
function recordsOf(text: string): { rows: (string | null)[][]; lines: string[] } {
  const rows: (string | null)[][] = [];
  const lines: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\n]*))([,\n])/gy;
  let row: (string | null)[] = [];
  let line = "";
  while (field.lastIndex < text.length) {
    const at = field.lastIndex;
    const found = field.exec(text);
    if (!found) throw new Error(`This is not CSV: ${text.slice(at, at + 80)}`);
    const [all, quoted, bare, end] = found;
    row.push(quoted === undefined ? bare || null : quoted.replaceAll('""', '"'));
    line += all;
    if (end === ",") continue;
    rows.push(row);
    lines.push(line);
    row = [];
    line = "";
  }
  return { rows, lines };
}
