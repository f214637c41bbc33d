import { mkdtempSync, statSync } from "node:fs";
import { join } from "node:path";
import { readAvro } from "./avro/file.ts";
import type { SheetSource, SheetTable } from "./contract.ts";
import { FileFault } from "./fault.ts";
import { readWorkbook } from "./xlsx/tables.ts";

/** Converts a file to CSV files in a new folder. Throws `FileFault`. */
export async function readSource(source: SheetSource): Promise<SheetTable[]> {
  const { size: bytes } = statSync(source.path);
  if (bytes === 0) throw new FileFault("The file is empty: it has 0 bytes.");
  if (typeof source.size === "number" && source.size !== bytes) {
    throw new FileFault(`The file isn't whole: ${bytes} of ${source.size} bytes arrived. Try again.`);
  }
  const folder = mkdtempSync(join(source.folder, "sheets-"));
  if (source.format === "avro") return [readAvro(source.path, folder)];
  return readWorkbook(source, folder);
}
