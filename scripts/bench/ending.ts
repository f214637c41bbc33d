import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const leftovers: (() => void)[] = [];

/** Calls `clear` when this benchmark ends, also if it fails or is stopped. Last registered, first called. */
export function atEnd(clear: () => void): void {
  leftovers.push(clear);
}

process.on("exit", () => {
  for (const clear of leftovers.reverse()) clear();
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));

/** Returns a new folder that is deleted with the benchmark. */
export function tempFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, "weir-bench-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
