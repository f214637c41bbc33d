/** Maximum size of one answer on the wire. Reading stops there. */
export const MAX_WIRE_BYTES = 16 * 1024 * 1024;
/** Maximum size of a tool's result as JSON. Longer ones are truncated, with a note. */
export const MAX_RESULT_BYTES = 1024 * 1024;
/** Maximum size of an error response. */
export const MAX_ERROR_BYTES = 64 * 1024;

export const MAX_PAGES = 50;
export const MAX_TOOLS = 2_000;

/** How long a server can be silent, and how long it can take in total. */
export interface Patience {
  idleMs: number;
  totalMs: number;
}
export const CALL_PATIENCE: Patience = { idleMs: 60_000, totalMs: 300_000 };
export const LIST_PATIENCE: Patience = { idleMs: 10_000, totalMs: 30_000 };
