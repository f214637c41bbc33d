import type { AutomationRun } from "../../calls.ts";
import { plural } from "../base/plural.ts";
import { counted } from "../base/time.tsx";
import { isOver } from "./time.ts";

type Steps = readonly Pick<AutomationRun["steps"][number], "status">[];

const WORDS: readonly (readonly [status: string, words: string])[] = [
  ["completed", "# completed"],
  ["failed", "# failed"],
  ["cancelled", "# cancelled"],
  ["skipped", "# skipped"],
  ["running", "# running"],
  ["waiting", "# waiting"],
  ["pending", "# not started"],
];

/** How the steps of a run stand: `1 completed, 1 skipped`. */
export const stepsInWords = (steps: Steps): string =>
  WORDS.flatMap(([status, words]) => {
    const count = steps.filter((step) => step.status === status).length;
    return count === 0 ? [] : words.replace("#", counted(count));
  }).join(", ");

/** How far the steps of a run have got: `2 completed, 1 skipped of 5 steps`. */
export function stepsOver(steps: Steps): string {
  const over = steps.filter(({ status }) => isOver(status));
  const all = plural(steps.length, { one: "# step", other: "# steps" });
  return `${over.length === 0 ? "0" : stepsInWords(over)} of ${all}`;
}
