import { setPriority } from "node:os";

/** Of two that want the processor the server goes first, and what it starts for tenants after it. */
const BEHIND = 5;

/** Puts a process behind this one in the line for the processor. */
export function stepBack(pid: number): void {
  try {
    setPriority(pid, BEHIND);
  } catch {
    return; // it has ended already, or the system knows no such order
  }
}
