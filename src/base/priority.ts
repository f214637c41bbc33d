import { readdirSync, readFileSync } from "node:fs";
import { setPriority } from "node:os";

/** CPU priorities: the server first, then SQL that someone waits for, then other work. */
export const PRIORITIES = { sql: 5, chore: 12, long: 19 } as const;

/** CPU time after which work counts as long. */
const LONG_WORK_MS = 300;
/** Linux reports CPU time in units of 10 ms. */
const TICK_MS = 10;

/**
 * Lowers the priority of `pid` below this process. Linux compares priorities only within a session,
 * so `pid` mustn't lead a session of its own.
 */
export function lowerPriority(pid: number, priority: number): void {
  lower(pid, priority);
}

/**
 * Returns a function to call repeatedly during work. Once the work has used much CPU time, its priority is lowered.
 * Waiting for the CPU doesn't count, else a busy machine would delay it permanently.
 */
export function lowerWhenLong(pid: number): () => void {
  const from = processorMs(pid);
  let isLong = false;
  return () => {
    if (isLong || processorMs(pid) - from < LONG_WORK_MS) return;
    isLong = true;
    for (const thread of threadsOf(pid)) lower(thread, PRIORITIES.long);
  };
}

/** Returns the CPU time of the process. 0 if the system doesn't report it. */
export function processorMs(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2); // a name can contain anything
    const [user, system] = fields.split(" ").slice(11);
    return (Number(user) + Number(system)) * TICK_MS;
  } catch {
    return 0; // it has ended, or this isn't Linux
  }
}

/** On Linux, threads have a priority each, which threads they start inherit. */
function threadsOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [pid]; // it has ended, or this isn't Linux
  }
}

function lower(id: number, priority: number): void {
  try {
    setPriority(id, priority);
  } catch {
    return; // it has ended, or the system doesn't support priorities
  }
}
