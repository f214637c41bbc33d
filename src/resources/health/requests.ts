import type { App } from "../../context.ts";

/** Requests answered since the start, by `METHOD ROUTE STATUS`. */
const answered = new WeakMap<App["store"], Map<string, number>>();

/** Counts one reply; `route` is the path as the interface writes it. */
export function countRequest({ store }: App, method: string, route: string, status: number): void {
  const counts = answered.get(store) ?? new Map<string, number>();
  if (counts.size === 0) answered.set(store, counts);
  const key = `${method} ${route} ${status}`;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Counts by route. */
export function requestCounts({
  store,
}: App): { method: string; route: string; status: string; count: number }[] {
  return [...(answered.get(store) ?? [])].map(([key, count]) => {
    const [method = "", route = "", status = ""] = key.split(" ");
    return { method, route, status, count };
  });
}
