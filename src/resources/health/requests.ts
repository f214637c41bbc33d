import type { App } from "../../context.ts";
import { type Histogram, observe } from "./histogram.ts";

/** Seconds; the upper ends of the histogram of latencies. */
export const LATENCY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

interface Requests {
  /** By `METHOD ROUTE STATUS`. */
  counts: Map<string, number>;
  /** By `METHOD ROUTE`. */
  latencies: Map<string, Histogram>;
}

/** Requests answered since the start. */
const answered = new WeakMap<App["store"], Requests>();

/** Counts one reply; `route` is the path as the interface writes it, `startMs` when the request came, on the monotonic clock. */
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

/** Counts by route. */
export function requestCounts({
  store,
}: App): { method: string; route: string; status: string; count: number }[] {
  return [...(answered.get(store)?.counts ?? [])].map(([key, count]) => {
    const [method = "", route = "", status = ""] = key.split(" ");
    return { method, route, status, count };
  });
}

/** How long replies took to begin, by route. */
export function requestLatencies({ store }: App): { method: string; route: string; times: Histogram }[] {
  return [...(answered.get(store)?.latencies ?? [])].map(([key, times]) => {
    const [method = "", route = ""] = key.split(" ");
    return { method, route, times };
  });
}
