import type { App } from "../../context.ts";
import { type Histogram, observe } from "./histogram.ts";

/** Upper limits of the latency histogram, in seconds. */
export const LATENCY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

interface Requests {
  /** By `METHOD ROUTE STATUS`. */
  counts: Map<string, number>;
  /** By `METHOD ROUTE`. */
  latencies: Map<string, Histogram>;
}

/** Responses since the start. */
const answered = new WeakMap<App["store"], Requests>();

/**
 * Counts one response. `route` is the path of the operation; `startMs` is when the request arrived, in monotonic time.
 */
export function countRequest(
  { store, clock }: App,
  method: string,
  route: string,
  status: number,
  startMs: number,
): void {
  const requests = answered.get(store) ?? { counts: new Map(), latencies: new Map() };
  if (requests.counts.size === 0) answered.set(store, requests);
  const { counts, latencies } = requests;
  const key = `${method} ${route} ${status}`;
  counts.set(key, (counts.get(key) ?? 0) + 1);
  observe(latencies, LATENCY_BUCKETS, `${method} ${route}`, (clock.monotonic() - startMs) / 1000);
}

/** Returns counts by route. */
export function requestCounts({
  store,
}: App): { method: string; route: string; status: string; count: number }[] {
  return [...(answered.get(store)?.counts ?? [])].map(([key, count]) => {
    const [method = "", route = "", status = ""] = key.split(" ");
    return { method, route, status, count };
  });
}

/** Returns the time to first byte of responses, by route. */
export function requestLatencies({ store }: App): { method: string; route: string; times: Histogram }[] {
  return [...(answered.get(store)?.latencies ?? [])].map(([key, times]) => {
    const [method = "", route = ""] = key.split(" ");
    return { method, route, times };
  });
}
