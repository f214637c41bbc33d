import { t } from "../../texts/text.ts";
import type { Values } from "../form/form.tsx";
import { type StepValue, stepsIn, withSteps } from "./steps-config.ts";

/** Key that represents the trigger among the steps. No step can have it. */
export const TRIGGER = "$trigger";

export const dependencyOf = (text: string): { key: string; branch: string | null } => {
  const colon = text.indexOf(":");
  return colon < 0
    ? { key: text, branch: null }
    : { key: text.slice(0, colon), branch: text.slice(colon + 1) };
};

/** Normalizes a config to steps, however it is stored. */
export const inSteps = (config: Values): Values => withSteps(config, stepsIn(config));

/** An edge to a step from another step, one of its branches, or the trigger. */
export interface Link {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly branch: string | null;
}

/** Entry in `dependsOn` for an edge from there. */
export const dependencyText = ({ source, branch }: Pick<Link, "source" | "branch">): string =>
  branch === null ? source : `${source}:${branch}`;

const linkId = (dependency: string, target: string): string => `${dependency}>${target}`;

/** All edges. Steps without dependencies follow the trigger. */
export function linksOf(steps: readonly StepValue[]): Link[] {
  const known = new Set(steps.map(({ key }) => key));
  return steps.flatMap(({ key, dependsOn }): Link[] => {
    const sources = [...new Set(dependsOn ?? [])].filter((text) => known.has(dependencyOf(text).key));
    if (sources.length === 0)
      return [{ id: linkId(TRIGGER, key), source: TRIGGER, target: key, branch: null }];
    return sources.map((text) => {
      const { key: source, branch } = dependencyOf(text);
      return { id: linkId(text, key), source, target: key, branch };
    });
  });
}

/** Steps that directly follow each step. */
export function followersOf(steps: readonly StepValue[]): ReadonlyMap<string, readonly string[]> {
  const below = new Map<string, string[]>();
  for (const { source, target } of linksOf(steps)) {
    const known = below.get(source);
    if (known) known.push(target);
    else below.set(source, [target]);
  }
  return below;
}

/** Returns whether there is a path between two steps. */
export function reaches(steps: readonly StepValue[], from: string, to: string): boolean {
  const below = followersOf(steps);
  const seen = new Set<string>();
  for (const pending = [from]; pending.length > 0; ) {
    const key = pending.pop() as string;
    if (key === to) return true;
    if (!seen.has(key)) pending.push(...(below.get(key) ?? []));
    seen.add(key);
  }
  return false;
}

/** A step and all its direct and indirect dependencies. */
export function upTo(steps: readonly StepValue[], key: string): ReadonlySet<string> {
  const byKey = new Map(steps.map((step) => [step.key, step]));
  const found = new Set<string>();
  for (const pending = [key]; pending.length > 0; ) {
    const next = pending.pop() as string;
    if (found.has(next) || !byKey.has(next)) continue;
    found.add(next);
    pending.push(...(byKey.get(next)?.dependsOn ?? []).map((text) => dependencyOf(text).key));
  }
  return found;
}

/** Steps without an order: those in cycles, and those after them. A valid automation has none. */
function unordered(
  keys: ReadonlySet<string>,
  below: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const left = new Set(keys);
  const count = new Map<string, number>();
  for (const key of keys)
    for (const next of below.get(key) ?? []) count.set(next, (count.get(next) ?? 0) + 1);
  for (const pending = [...keys].filter((key) => !count.has(key)); pending.length > 0; ) {
    const key = pending.pop() as string;
    left.delete(key);
    for (const next of below.get(key) ?? []) {
      const rest = (count.get(next) ?? 0) - 1;
      count.set(next, rest);
      if (rest === 0) pending.push(next);
    }
  }
  return left;
}

/** Duplicate keys and cycles, which two valid changes can cause together. */
export function unsound(steps: readonly StepValue[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const seen = new Set<string>();
  const keys = new Set(steps.map(({ key }) => key));
  const below = followersOf(steps);
  for (const { key, dependsOn } of steps) {
    if (seen.has(key)) found.set(key, t("Two steps have the key {key}.", { key }));
    seen.add(key);
    const gone = (dependsOn ?? []).map((text) => dependencyOf(text).key).filter((each) => !keys.has(each));
    if (gone.length > 0)
      found.set(key, t("It depends on {steps}, which no longer exists.", { steps: gone.join(", ") }));
  }
  for (const key of unordered(keys, below)) {
    const isCircle = (below.get(key) ?? []).some((next) => next === key || reaches(steps, next, key));
    if (isCircle) found.set(key, t("It depends on itself, through the steps before it."));
  }
  return found;
}
