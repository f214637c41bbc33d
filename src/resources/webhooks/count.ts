import type { App } from "../../context.ts";
import type { OutboundStatus } from "./table.ts";

/** Tries that have ended since the start, by what became of their delivery. */
const ended = new WeakMap<App["store"], Map<OutboundStatus, number>>();

/** Counts tries that have ended; what is not stored is not counted. */
export function countTries({ store }: App, statuses: readonly OutboundStatus[]): void {
  const counts = ended.get(store) ?? new Map<OutboundStatus, number>();
  ended.set(store, counts);
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
}

export const tryCounts = ({ store }: App): readonly [OutboundStatus, number][] => [
  ...(ended.get(store) ?? []),
];
