/** Of one answer on the wire; what is longer is not read further. */
export const MAX_WIRE_BYTES = 16 * 1024 * 1024;
/** Of what a tool gives back, as JSON; what is longer is cut and says so. */
export const MAX_RESULT_BYTES = 1024 * 1024;
/** Of a refusal. */
export const MAX_ERROR_BYTES = 64 * 1024;

export const MAX_PAGES = 50;
export const MAX_TOOLS = 2_000;

/** A server may be silent for so long, and take so long in all. */
export interface Patience {
  idleMs: number;
  totalMs: number;
}
export const CALL_PATIENCE: Patience = { idleMs: 60_000, totalMs: 300_000 };
export const LIST_PATIENCE: Patience = { idleMs: 10_000, totalMs: 30_000 };
