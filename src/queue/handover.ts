import { slot } from "../base/memory.ts";
import type { RunRow } from "../resources/runs/table.ts";

/** The worker's room for a new run. Exactly one of these is called. */
interface Reserved {
  start(run: RunRow): void;
  release(): void;
}

/** What transactions of this process know about its worker. */
interface Handover {
  /** Reserves room for a new run. Null if there is none, or if older runs wait for it. */
  reserve: (run: RunRow) => Reserved | null;
  /** IDs of new runs in transactions that aren't committed, and which no claim has taken since. */
  readonly queued: Set<string>;
}

export const HANDOVER = slot((): Handover => ({ reserve: () => null, queued: new Set() }));
