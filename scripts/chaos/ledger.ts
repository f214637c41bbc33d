/** What the load has requested, and the responses. It outlives every kill. */
export interface Ledger {
  /** Webhooks by idempotency key. Null without a response. */
  webhooks: Map<string, { hook: string; body: string; runId: string | null }>;
  /** Requests that each create one thing, by idempotency key. Null without a response. */
  makings: Map<string, Making>;
  /** Decisions that were confirmed, with the decision. */
  decided: Map<string, string>;
  /** Automation runs whose cancellation was answered with 200. */
  cancelled: Set<string>;
  /** Number of requests repeated after no response. */
  resent: number;
  /** Requests that came too late: for a decision that was made, or a run that had ended. */
  refused: number;
  /** Faults noticed during the load. */
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

/** Returns all automation runs that responses named. */
export const toldRuns = ({ webhooks, makings }: Ledger): Set<string> =>
  new Set([
    ...[...webhooks.values()].flatMap(({ runId }) => runId ?? []),
    ...[...makings.values()].flatMap(({ kind, id }) => (kind === "action" || id === null ? [] : id)),
  ]);
