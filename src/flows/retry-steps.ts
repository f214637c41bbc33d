import { readDependency, type Step } from "../resources/automations/config.ts";
import type { StepState } from "../resources/automations/table.ts";
import { again, fresh } from "./states.ts";

/**
 * Returns the states with which a retry of a run starts. Steps that failed or are new run, and so does everything that
 * depends on them. Other completed steps keep their results. A failed step repeats only its uncompleted items, unless
 * its list isn't that of `before` any more.
 */
export function statesOfRetry(
  definitions: readonly Step[],
  before: { steps: readonly StepState[]; definitions: readonly Step[] },
): StepState[] {
  const states = new Map(before.steps.map((state) => [state.key, state]));
  const lists = new Map(before.definitions.map((step) => [step.key, JSON.stringify(step.forEach)]));
  const after = dependentsOf(definitions, (key) => !KEPT.includes(states.get(key)?.status ?? ""));
  return definitions.map(({ key, forEach }) => {
    const state = states.get(key);
    if (!state || after.has(key)) return fresh(key);
    if (state.status === "completed") return state;
    return lists.get(key) === JSON.stringify(forEach) ? again(state) : fresh(key);
  });
}

/** A step that was skipped is decided about again. What depends on it ran without it, or was skipped too. */
const KEPT: readonly string[] = ["completed", "skipped"];

/** Returns the steps that depend on one of these, also through others. */
function dependentsOf(definitions: readonly Step[], isOne: (key: string) => boolean): ReadonlySet<string> {
  const found = new Set<string>();
  const needs = (key: string) => isOne(key) || found.has(key);
  for (let size = -1; size < found.size; ) {
    size = found.size;
    for (const { key, dependsOn = [] } of definitions)
      if (dependsOn.some((text) => needs(readDependency(text).key))) found.add(key);
  }
  return found;
}
