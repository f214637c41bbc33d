import { readFileSync } from "node:fs";

/** What the process holds in memory; 0 where the system does not tell. */
export function residentBytes(pid: number): number {
  try {
    const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return Number(found?.[1] ?? 0) * 1024;
  } catch {
    return 0; // no /proc, or the process has just gone: what limits the process has of its own are left
  }
}
