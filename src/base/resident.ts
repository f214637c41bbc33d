import { readFileSync } from "node:fs";

/** Returns the resident memory of the process. 0 if the system doesn't report it. */
export function residentBytes(pid: number): number {
  try {
    const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return Number(found?.[1] ?? 0) * 1024;
  } catch {
    return 0; // no /proc, or the process has just ended: its other limits still apply
  }
}
