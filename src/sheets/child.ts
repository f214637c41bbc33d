import { diskFull } from "../base/disk.ts";
import type { SheetAnswer, SheetSource } from "./contract.ts";
import { FileFault } from "./fault.ts";

/** The child process: reads a source from standard input, writes its tables and returns the exit code. */
export async function sheetChild(): Promise<number> {
  const source: SheetSource = await Bun.stdin.json();
  await Bun.write(Bun.stdout, JSON.stringify(await answerTo(source)));
  return 0;
}

async function answerTo(source: SheetSource): Promise<SheetAnswer> {
  const { readSource } = await import("./source.ts");
  try {
    return { tables: await readSource(source) };
  } catch (error) {
    const full = diskFull(error);
    if (full) return { fault: full.message, code: "disk_full" };
    if (error instanceof FileFault) return { fault: error.message, code: "upstream" };
    throw error;
  }
}
