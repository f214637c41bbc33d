import { readdirSync, readFileSync } from "node:fs";
import { setPriority } from "node:os";

/** Of those that want the processor the server goes first, then SQL that somebody waits for, then other work. */
export const PRIORITIES = { sql: 5, chore: 12, long: 19 } as const;

/** Time of the processor after which work counts as long. */
const LONG_WORK_MS = 300;
/** Linux tells it to programs in units of 10 ms. */
const TICK_MS = 10;

/**
 * Lets this process go first where both want the processor. Linux weighs processes of one session alone against each
 * other, so `pid` must not lead a session of its own.
 */
export function lowerPriority(pid: number, priority: number): void {
  lower(pid, priority);
}

/**
 * Makes what is to be called now and then while the process works: once the work from here on is long, everybody else
 * goes first. Waiting for the processor is no work, or what a busy machine holds up would be held up for good.
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

/** Returns the CPU time that the process has used; 0 if the system can't tell. */
export function processorMs(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2); // a name may hold anything
    const [user, system] = fields.split(" ").slice(11);
    return (Number(user) + Number(system)) * TICK_MS;
  } catch {
    return 0; // it has ended already, or this is no Linux
  }
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
