import type { Values } from "../form/form.tsx";
import { dependencyOf, TRIGGER } from "./config.ts";
import { type StepValue, stepsIn } from "./steps-config.ts";

/** Replaces what a step depends on, without duplicates. */
export const withDependsOn = (step: StepValue, dependsOn: readonly string[]): StepValue => {
  const { dependsOn: _, ...rest } = step;
  return (dependsOn.length > 0 ? { ...rest, dependsOn: [...new Set(dependsOn)] } : rest) as StepValue;
};

const mapSteps = (config: Values, change: (step: StepValue) => StepValue): Values => ({
  ...config,
  steps: stepsIn(config).map(change),
});

/** Adds an edge. `source` is as in `dependsOn`. From the trigger, removes all others. */
export const connect = (config: Values, source: string, target: string): Values =>
  mapSteps(config, (step) => {
    if (step.key !== target) return step;
    return withDependsOn(step, source === TRIGGER ? [] : [...(step.dependsOn ?? []), source]);
  });

export const disconnect = (config: Values, source: string, target: string): Values =>
  mapSteps(config, (step) =>
    step.key === target
      ? withDependsOn(
          step,
          (step.dependsOn ?? []).filter((each) => each !== source),
        )
      : step,
  );

export const changeStep = (config: Values, key: string, next: StepValue): Values =>
  mapSteps(config, (step) => (step.key === key ? next : step));

/** Adds a step after others, named as in `dependsOn`. It follows them in the list too. */
export function addAfter(config: Values, step: StepValue, sources: readonly string[]): Values {
  const own = sources.filter((each) => each !== TRIGGER);
  const steps = [...stepsIn(config)];
  const at = Math.max(-1, ...own.map((text) => steps.findIndex(({ key }) => key === dependencyOf(text).key)));
  steps.splice(own.length > 0 && at >= 0 ? at + 1 : steps.length, 0, withDependsOn(step, own));
  return { ...config, steps };
}

/** Inserts a step after another one, before its followers. */
export function insertAfter(config: Values, step: StepValue, source: string): Values {
  const isAfter = ({ dependsOn = [] }: StepValue) =>
    source === TRIGGER ? dependsOn.length === 0 : dependsOn.includes(source);
  const moved = {
    ...config,
    steps: stepsIn(config).map((each) =>
      isAfter(each)
        ? withDependsOn(each, [step.key, ...(each.dependsOn ?? []).filter((text) => text !== source)])
        : each,
    ),
  };
  return addAfter(moved, step, [source]);
}

/** Inserts a step on an edge, between source and target. */
export function insertOn(config: Values, step: StepValue, source: string, target: string): Values {
  const next = (each: StepValue): StepValue =>
    withDependsOn(
      each,
      source === TRIGGER
        ? [step.key, ...(each.dependsOn ?? [])]
        : (each.dependsOn ?? []).map((text) => (text === source ? step.key : text)),
    );
  return {
    ...config,
    steps: stepsIn(config).flatMap((each) =>
      each.key === target ? [withDependsOn(step, source === TRIGGER ? [] : [source]), next(each)] : [each],
    ),
  };
}

/** Inserts a step before another one, with the dependencies of that one. */
export const insertBefore = (config: Values, step: StepValue, target: string): Values => ({
  ...config,
  steps: stepsIn(config).flatMap((each) =>
    each.key === target
      ? [withDependsOn(step, each.dependsOn ?? []), withDependsOn(each, [step.key])]
      : [each],
  ),
});

/** Removes steps. What followed each now follows what preceded it. */
export function takeOut(config: Values, keys: ReadonlySet<string>): Values {
  const steps = stepsIn(config);
  const all = new Map(steps.map((step) => [step.key, step]));
  const sourcesOf = (text: string, seen: readonly string[] = []): string[] => {
    const { key } = dependencyOf(text);
    if (!keys.has(key)) return [text];
    if (seen.includes(key)) return [];
    return (all.get(key)?.dependsOn ?? []).flatMap((each) => sourcesOf(each, [...seen, key]));
  };
  return {
    ...config,
    steps: steps
      .filter(({ key }) => !keys.has(key))
      .map((step) =>
        step.dependsOn?.some((text) => keys.has(dependencyOf(text).key))
          ? withDependsOn(
              step,
              step.dependsOn.flatMap((text) => sourcesOf(text)),
            )
          : step,
      ),
  };
}

/** Steps on one branch of a removed step, which would then always run. */
export const unguarded = (config: Values, keys: ReadonlySet<string>): StepValue[] =>
  stepsIn(config).filter(
    ({ key, dependsOn }) =>
      !keys.has(key) &&
      (dependsOn ?? []).some((text) => {
        const { key: parent, branch } = dependencyOf(text);
        return branch !== null && keys.has(parent);
      }),
  );
