import { readdirSync, readFileSync } from "node:fs";

/** Clock ticks per second that Linux reports CPU time in. */
const TICKS = 100;

/** Resident memory of a process in MB, as Linux counts it. 0 for one that has ended. */
export function rssMb(pid: number): number {
  return (Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024) / 1e6;
}

/** Seconds of CPU time used by a process, in all its threads. */
export function cpuSeconds(pid: number): number {
  const fields = read(`/proc/${pid}/stat`).split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

/** The same with all its children, including ended ones. */
export function treeSeconds(pid: number): number {
  const fields = read(`/proc/${pid}/stat`).split(") ")[1]?.split(" ") ?? [];
  const ended = fields.length === 0 ? 0 : (Number(fields[13]) + Number(fields[14])) / TICKS;
  return childrenOf(pid, "").reduce((sum, child) => sum + treeSeconds(child), cpuSeconds(pid) + ended);
}

/** Child processes of `parent` whose command contains `word`. */
export function childrenOf(parent: number, word: string): number[] {
  const tasks = readdirSync(`/proc/${parent}/task`);
  return tasks
    .flatMap((task) => read(`/proc/${parent}/task/${task}/children`).match(/\d+/g) ?? [])
    .map(Number)
    .filter((pid) => read(`/proc/${pid}/cmdline`).includes(word));
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // Ended in the meantime.
  }
}
