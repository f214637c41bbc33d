import { readdirSync } from "node:fs";
import { setPriority } from "node:os";

/** Of those that want the processor the server goes first, then SQL that somebody waits for, then other work. */
export const PRIORITIES = { sql: 5, chore: 12, long: 19 } as const;

/** When work counts as long. */
export const LONG_WORK_MS = 300;

/**
 * Lets this process go first where both want the processor. Linux weighs processes of one session alone against each
 * other, so `pid` must not lead a session of its own.
 */
export function lowerPriority(pid: number, priority: number): void {
  lower(pid, priority);
}

/** Lets everybody else go first, for work that took longer than `LONG_WORK_MS`. */
export function lowestPriority(pid: number): void {
  for (const thread of threadsOf(pid)) lower(thread, PRIORITIES.long);
}

/** Linux has a priority for each thread, which those take over that it starts. */
function threadsOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [pid]; // it has ended already, or this is no Linux
  }
}

function lower(id: number, priority: number): void {
  try {
    setPriority(id, priority);
  } catch {
    return; // it has ended already, or the system knows no such order
  }
}
