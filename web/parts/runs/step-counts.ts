import type { AutomationRun } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { plural } from "../base/plural.ts";
import { counted } from "../base/time.tsx";
import { isOver } from "./time.ts";

type Steps = readonly Pick<AutomationRun["steps"][number], "status">[];

const WORDS: readonly (readonly [status: string, words: (count: string) => string])[] = [
  ["completed", (count) => t("{count} completed", { count })],
  ["failed", (count) => t("{count} failed", { count })],
  ["cancelled", (count) => t("{count} cancelled", { count })],
  ["skipped", (count) => t("{count} skipped", { count })],
  ["running", (count) => t("{count} running", { count })],
  ["waiting", (count) => t("{count} waiting", { count })],
  ["pending", (count) => t("{count} not started", { count })],
];

/** Counts the steps of a run by status: `1 completed, 1 skipped`. */
export const stepsInWords = (steps: Steps): string =>
  WORDS.flatMap(([status, words]) => {
    const count = steps.filter((step) => step.status === status).length;
    return count === 0 ? [] : words(counted(count));
  }).join(", ");

/** Progress of a run's steps: `2 completed, 1 skipped of 5 steps`. */
export function stepsOver(steps: Steps): string {
  const over = steps.filter(({ status }) => isOver(status));
  const all = plural(steps.length, { one: "# step", other: "# steps" });
  return t("{ended} of {all}", { ended: over.length === 0 ? "0" : stepsInWords(over), all });
}
