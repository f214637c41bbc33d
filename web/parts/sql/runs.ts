import { useRef, useState } from "react";
import { ApiError, call } from "../../api.ts";
import type { Reply } from "../../calls.ts";

export interface Attempt {
  isBusy: boolean;
  /** The executed SQL. */
  sql: string;
  parameters: Record<string, unknown>;
  result: Reply<"POST /api/v1/query"> | null;
  problem: string | null;
}

const NOTHING: Attempt = { isBusy: false, sql: "", parameters: {}, result: null, problem: null };

const messageOf = (error: unknown): string =>
  error instanceof ApiError && error.faults[0] ? error.faults[0].msg : (error as Error).message;

/** Executes statements, one at a time per tab, and keeps their results. */
export function useRuns() {
  const [attempts, setOutcomes] = useState<Readonly<Record<string, Attempt>>>({});
  const running = useRef(new Map<string, AbortController>());
  const put = (id: string, change: Partial<Attempt>) =>
    setOutcomes((before) => ({ ...before, [id]: { ...NOTHING, ...before[id], ...change } }));
  const cancel = (id: string) => {
    running.current.get(id)?.abort();
    running.current.delete(id);
    put(id, { isBusy: false });
  };
  async function run(id: string, body: { sql: string; parameters: Record<string, unknown>; limit: number }) {
    running.current.get(id)?.abort();
    const mine = new AbortController();
    running.current.set(id, mine);
    put(id, { isBusy: true, problem: null });
    try {
      const result = await call("POST /api/v1/query", { body } as never, { signal: mine.signal });
      put(id, { isBusy: false, result, sql: body.sql, parameters: body.parameters });
    } catch (error) {
      if (!mine.signal.aborted) put(id, { isBusy: false, result: null, problem: messageOf(error) });
    }
  }
  return { of: (id: string): Attempt => attempts[id] ?? NOTHING, run, cancel };
}
