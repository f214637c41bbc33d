import type { AutomationRun, ListedRun } from "../../calls.ts";
import { isOver } from "./time.ts";

type StepState = AutomationRun["steps"][number];

interface Segment {
  phase: "queued" | "waiting" | "active";
  from: number;
  to: number;
}

export interface StepTimes {
  /** Consecutive, in milliseconds since 1970. */
  segments: readonly Segment[];
  seconds: number | null;
  /** True if its result is from the retried run. */
  isKept: boolean;
}

const instant = (at: string | null | undefined): number | null => (at ? Date.parse(at) : null);

/** Times when a step was queued, waiting and running. If it hasn't finished, until `now`. */
export function timesOf(step: StepState, run: ListedRun | undefined, began: number, now: number): StepTimes {
  const ended = instant(run?.completedAt ?? step.completedAt);
  if (ended !== null && ended < began) return { segments: [], seconds: null, isKept: true };
  const created = instant(run?.createdAt ?? step.startedAt);
  if (created === null) return { segments: [], seconds: null, isKept: false };
  const end = ended ?? (isOver(step.status) ? created : now);
  const started = run ? (instant(run.startedAt) ?? end) : created;
  const due = instant(step.delayUntil);
  const isWaiting = step.status === "waiting" || run?.kind === "approval_gate";
  const worked = due === null ? started : Math.min(Math.max(due, created), end);
  const segments: Segment[] = [
    { phase: due === null ? "queued" : "waiting", from: created, to: worked },
    { phase: isWaiting ? "waiting" : "active", from: worked, to: end },
  ];
  return {
    segments: segments.filter(({ from, to }) => to >= from),
    seconds: Math.max(end - created, 0) / 1000,
    isKept: false,
  };
}

/** From the start of a run to its end, or to now if it hasn't finished. */
export function spanOf(run: AutomationRun, now: number): { from: number; to: number } {
  const from = Date.parse(run.createdAt);
  return { from, to: Math.max(instant(run.completedAt) ?? now, from + 1) };
}
