/** What the load has asked for, and what it was told. It outlives every kill. */
export interface Ledger {
  /** Webhooks by their idempotency key; null where no answer came. */
  webhooks: Map<string, { hook: string; body: string; runId: string | null }>;
  /** Requests that make one thing each, by their idempotency key; null where no answer came. */
  makings: Map<string, Making>;
  /** Decisions that somebody was told to have taken, with what was said. */
  decided: Map<string, string>;
  /** Automation runs whose cancel was answered with 200. */
  cancelled: Set<string>;
  /** How often a request that had no answer was sent again. */
  resent: number;
  /** Requests that came too late: a decision that was taken, a run that had ended. */
  refused: number;
  /** What was wrong at once. */
  faults: string[];
}

export interface Making {
  kind: "run" | "retry" | "action";
  path: string;
  body: unknown;
  id: string | null;
}

export const newLedger = (): Ledger => ({
  webhooks: new Map(),
  makings: new Map(),
  decided: new Map(),
  cancelled: new Set(),
  resent: 0,
  refused: 0,
  faults: [],
});

/** All runs of automations that somebody was told of. */
export const toldRuns = ({ webhooks, makings }: Ledger): Set<string> =>
  new Set([
    ...[...webhooks.values()].flatMap(({ runId }) => runId ?? []),
    ...[...makings.values()].flatMap(({ kind, id }) => (kind === "action" || id === null ? [] : id)),
  ]);
