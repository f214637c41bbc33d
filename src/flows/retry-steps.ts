import { readDependency, type Step } from "../resources/automations/config.ts";
import type { StepState } from "../resources/automations/table.ts";
import { again, fresh } from "./states.ts";

/**
 * Returns the states with which a retry of a run starts. Steps that failed, are new, or were skipped by another
 * condition run, and so does everything that depends on them. Other completed steps keep their results; other skipped
 * ones are decided about again, since the failure may have skipped them. A failed step repeats only its uncompleted
 * items, unless its list isn't that of `before` any more.
 */
export function statesOfRetry(
  definitions: readonly Step[],
  before: { steps: readonly StepState[]; definitions: readonly Step[] },
): StepState[] {
  const states = new Map(before.steps.map((state) => [state.key, state]));
  const lists = new Map(before.definitions.map((step) => [step.key, JSON.stringify(step.forEach)]));
  const conditions = new Map(before.definitions.map((step) => [step.key, conditionOf(step)]));
  const isSkipped = (step: Step) =>
    states.get(step.key)?.status === "skipped" && conditions.get(step.key) === conditionOf(step);
  const isKept = (step: Step) => states.get(step.key)?.status === "completed" || isSkipped(step);
  const changed = new Set(definitions.filter((step) => !isKept(step)).map(({ key }) => key));
  const after = dependentsOf(definitions, (key) => changed.has(key));
  return definitions.map((step) => {
    const { key, forEach } = step;
    const state = states.get(key);
    if (!state || after.has(key)) return fresh(key);
    if (state.status === "completed") return state;
    return lists.get(key) === JSON.stringify(forEach) ? again(state) : fresh(key);
  });
}

/**
 * Returns the states with which the next attempt of a run starts: uncompleted steps run again, except those without
 * which a completed step went on, whose result would no longer fit.
 */
export function statesOfAttempt(definitions: readonly Step[], steps: readonly StepState[]): StepState[] {
  const completed = new Set(steps.filter(({ status }) => status === "completed").map(({ key }) => key));
  const used = new Set(
    definitions
      .filter(({ key }) => completed.has(key))
      .flatMap(({ dependsOn = [] }) => dependsOn.map((text) => readDependency(text).key)),
  );
  return steps.map((state) => (completed.has(state.key) || used.has(state.key) ? state : again(state)));
}

/** What decides whether a step runs, apart from the steps that it depends on. */
const conditionOf = ({ when, dependsOn }: Step): string => JSON.stringify([when, dependsOn]);

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
