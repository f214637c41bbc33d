import type { Values } from "../form/form.tsx";
import { dependencyOf } from "./config.ts";
import { type StepValue, stepsIn } from "./steps-config.ts";

/** `undefined` on one side means absent. */
export interface Change<T> {
  readonly from: T | undefined;
  readonly to: T | undefined;
}

/**
 * The differences between two configs, with whole values before and after, so that it can be applied to another state,
 * with conflicts. Used for undo, versions and merges.
 */
export interface Patch {
  /** Label in the history, such as "Add Load orders". */
  readonly label: string;
  readonly steps: ReadonlyMap<string, Change<StepValue>>;
  /** Fields of the config other than steps: schedule, concurrency, alerts, … */
  readonly fields: ReadonlyMap<string, Change<unknown>>;
}

/** With sorted keys, since the order of keys doesn't matter. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    inner && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  ) ?? "";

export const isSame = (one: unknown, other: unknown): boolean =>
  one === other ||
  (typeof one === "object" && typeof other === "object" && canonical(one) === canonical(other));

const byKey = (config: Values) => new Map(stepsIn(config).map((step) => [step.key, step]));

export function diff(before: Values, after: Values, label: string): Patch {
  const [old, now] = [byKey(before), byKey(after)];
  const steps = new Map<string, Change<StepValue>>();
  for (const key of new Set([...old.keys(), ...now.keys()])) {
    const [from, to] = [old.get(key), now.get(key)];
    if (!isSame(from, to)) steps.set(key, { from, to });
  }
  const fields = new Map<string, Change<unknown>>();
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (name !== "steps" && name !== "action" && !isSame(before[name], after[name]))
      fields.set(name, { from: before[name], to: after[name] });
  }
  return { label, steps, fields };
}

export const isEmpty = ({ steps, fields }: Patch): boolean => steps.size + fields.size === 0;

const reversed = <T>(changes: ReadonlyMap<string, Change<T>>) =>
  new Map([...changes].map(([name, { from, to }]) => [name, { from: to, to: from }]));

export const invert = ({ label, steps, fields }: Patch): Patch => ({
  label,
  steps: reversed(steps),
  fields: reversed(fields),
});

/** Two users set the same field of the same step to different values. `step` is null for a field of the config. */
export interface Conflict {
  readonly step: string | null;
  /** Empty if one user removed the step while the other changed it. */
  readonly field: string;
  readonly base: unknown;
  readonly theirs: unknown;
  readonly mine: unknown;
}

interface Applied {
  readonly config: Values;
  readonly conflicts: readonly Conflict[];
}

/** Edges are a set: both sides' removals and additions apply. */
function mergeSets(base: unknown, theirs: unknown, mine: unknown): string[] | undefined {
  const setOf = (list: unknown) => new Set((list as string[] | undefined) ?? []);
  const [before, their, own] = [setOf(base), setOf(theirs), setOf(mine)];
  const kept = [...their].filter((each) => own.has(each) || !before.has(each));
  const merged = [...new Set([...kept, ...[...own].filter((each) => !before.has(each))])];
  return merged.length > 0 ? merged : undefined;
}

interface Sides {
  readonly step: string;
  readonly base: Values;
  readonly theirs: Values;
  readonly mine: Values;
}

/** Merges field by field. In conflicts, mine is kept until the user decides. */
function mergeFields({ step, base, theirs, mine }: Sides, conflicts: Conflict[]): StepValue {
  const merged: Values = { ...theirs };
  for (const field of new Set([...Object.keys(base), ...Object.keys(mine)])) {
    const [before, their, own] = [base[field], theirs[field], mine[field]];
    if (isSame(before, own)) continue;
    let value = own;
    if (!isSame(before, their) && !isSame(their, own)) {
      if (field === "dependsOn") value = mergeSets(before, their, own);
      else conflicts.push({ step, field, base: before, theirs: their, mine: own });
    }
    if (value === undefined) delete merged[field];
    else merged[field] = value;
  }
  return merged as StepValue;
}

/** Position of a new step: after its dependencies. The order matters only to people who read the JSON. */
function indexAfter(steps: readonly StepValue[], { dependsOn = [] }: StepValue): number {
  const parents = dependsOn.map((text) => steps.findIndex(({ key }) => key === dependencyOf(text).key));
  return Math.max(-1, ...parents) + 1 || steps.length;
}

function put(steps: StepValue[], at: number, step: StepValue | undefined): void {
  if (step === undefined) {
    if (at >= 0) steps.splice(at, 1);
  } else if (at >= 0) steps[at] = step;
  else steps.splice(indexAfter(steps, step), 0, step);
}

/** Applies a patch to any state of the config. */
export function apply(config: Values, patch: Patch): Applied {
  const conflicts: Conflict[] = [];
  const steps = [...stepsIn(config)];
  for (const [key, { from, to }] of patch.steps) {
    const at = steps.findIndex((step) => step.key === key);
    const now = steps[at];
    if (isSame(now, to)) continue; // both made the same change
    if (isSame(now, from)) put(steps, at, to);
    else if (now && from && to)
      steps[at] = mergeFields({ step: key, base: from, theirs: now, mine: to }, conflicts);
    else {
      conflicts.push({ step: key, field: "", base: from, theirs: now, mine: to });
      put(steps, at, to);
    }
  }
  const { steps: _, action: __, ...merged } = config;
  for (const [name, { from, to }] of patch.fields) {
    const now = merged[name];
    if (isSame(now, to)) continue;
    if (!isSame(now, from)) conflicts.push({ step: null, field: name, base: from, theirs: now, mine: to });
    if (to === undefined) delete merged[name];
    else merged[name] = to;
  }
  return { config: { ...merged, steps }, conflicts };
}

/** My changes since `base`, applied to the stored state. */
export const merge = (base: Values, theirs: Values, mine: Values): Applied =>
  apply(theirs, diff(base, mine, ""));

/** Resolves a conflict in favor of the other side. */
export function takeTheirs(config: Values, { step, field, theirs }: Conflict): Values {
  if (step === null) {
    const { [field]: _, ...rest } = config;
    return theirs === undefined ? rest : { ...rest, [field]: theirs };
  }
  const steps = [...stepsIn(config)];
  const at = steps.findIndex(({ key }) => key === step);
  if (field === "") put(steps, at, theirs as StepValue | undefined);
  else if (steps[at]) {
    const { [field]: _, ...rest } = steps[at];
    steps[at] = (theirs === undefined ? rest : { ...rest, [field]: theirs }) as StepValue;
  }
  return { ...config, steps };
}
