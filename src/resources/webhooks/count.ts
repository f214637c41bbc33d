import type { App } from "../../context.ts";
import type { OutboundStatus } from "./table.ts";

/** Attempts since the start, by the resulting status of their delivery. */
const ended = new WeakMap<App["store"], Map<OutboundStatus, number>>();

/** Counts finished attempts, after they are stored. */
export function countTries({ store }: App, statuses: readonly OutboundStatus[]): void {
  const counts = ended.get(store) ?? new Map<OutboundStatus, number>();
  ended.set(store, counts);
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
}

export const tryCounts = ({ store }: App): readonly [OutboundStatus, number][] => [
  ...(ended.get(store) ?? []),
];
