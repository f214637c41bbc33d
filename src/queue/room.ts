import type { RunRow } from "../resources/runs/table.ts";

/** Returns how many of these slots one organization can hold while others wait. */
export const mostOfOne = (slots: number): number => Math.max(1, Math.floor(slots / 2));

/** What a worker can take on. */
export interface Room {
  /** Maximum number of runs to claim. */
  slots: number;
  /** Total number of slots. If there are several organizations, each gets at most half. */
  of: number;
  /** How many of the runs can wait for a slot after they were claimed. */
  ahead: number;
  /** Returns the number of slots that each organization holds. */
  heldSlots: () => ReadonlyMap<string, number>;
  /** True if suspected runs mustn't run next to others. */
  isolates: boolean;
  /** Returns true if no run is running that a suspected run mustn't run next to. */
  isQuiet: () => boolean;
}

/** Follows a claim. Its transaction may be repeated; only the last attempt is committed. */
export interface ClaimWatch {
  /** The transaction begins. */
  begun(): void;
  /** The claim is made. Later transactions can use the other slots. */
  claimed(claim: Claimed): void;
  /** The transaction is durable. */
  committed(claim: Claimed): void;
}

export const UNWATCHED: ClaimWatch = { begun() {}, claimed() {}, committed() {} };

/** What a claim found. */
export interface Claimed {
  /** Leased to this process, with the time at which they were due, or already completed. */
  runs: readonly RunRow[];
  /** True if no other run could start, except of `limited` organizations. */
  isAll: boolean;
  /** True if there are several organizations, each of which gets at most half of the slots. */
  isShared: boolean;
  /** Organizations with a quota on running runs, and those that hold all the slots they can. */
  limited: ReadonlySet<string>;
}
