import type { Fault } from "../../base/errors.ts";
import { readDependency, type Step } from "./config.ts";

/** Keys must be unique, dependencies must exist, and no step may depend on itself. */
export function graphFaults(steps: readonly Step[], loc: readonly string[]): Fault[] {
  const faults: Fault[] = [];
  const byKey = new Map<string, Step>();
  steps.forEach((step, index) => {
    if (byKey.has(step.key))
      faults.push({
        loc: [...loc, String(index), "key"],
        msg: `Duplicate key ${step.key}`,
        type: "value_error",
      });
    byKey.set(step.key, step);
  });
  steps.forEach((step, index) => {
    (step.dependsOn ?? []).forEach((text, number) => {
      const { key, branch } = readDependency(text);
      const at = [...loc, String(index), "dependsOn", String(number)];
      const target = byKey.get(key);
      if (!target) faults.push({ loc: at, msg: `There is no step ${key}`, type: "value_error" });
      else if (branch !== null) faults.push(...branchFaults(target, branch, at));
    });
  });
  const cycle = faults.length === 0 ? findCycle(byKey) : null;
  if (cycle) faults.push({ loc, msg: `Circular dependency: ${cycle.join(" → ")}`, type: "value_error" });
  return faults;
}

function branchFaults(target: Step, branch: string, loc: readonly string[]): Fault[] {
  if (target.forEach !== undefined) {
    const msg = `The step ${target.key} runs for each item of a list, so no branch of it can be named`;
    return [{ loc, msg, type: "value_error" }];
  }
  if (target.actionId !== undefined) return []; // The branches are defined by the action.
  if (target.kind !== "conditional_branch") {
    return [
      {
        loc,
        msg: `Step ${target.key} isn't a conditional_branch and has no branch ${branch}`,
        type: "value_error",
      },
    ];
  }
  const { branches, else: otherwise } = (target.definition ?? {}) as {
    branches?: { key?: string }[];
    else?: string;
  };
  const keys = [...(Array.isArray(branches) ? branches.map(({ key }) => key) : []), otherwise];
  return keys.includes(branch)
    ? []
    : [{ loc, msg: `The step ${target.key} has no branch ${branch}`, type: "value_error" }];
}

/** Returns the keys of a cycle, with the first repeated at the end. Null if there is none. */
function findCycle(steps: ReadonlyMap<string, Step>): string[] | null {
  const done = new Set<string>();
  const visit = (key: string, trail: readonly string[]): string[] | null => {
    const start = trail.indexOf(key);
    if (start >= 0) return [...trail.slice(start), key];
    if (done.has(key)) return null;
    for (const text of steps.get(key)?.dependsOn ?? []) {
      const cycle = visit(readDependency(text).key, [...trail, key]);
      if (cycle) return cycle;
    }
    done.add(key);
    return null;
  };
  for (const key of steps.keys()) {
    const cycle = visit(key, []);
    if (cycle) return cycle;
  }
  return null;
}
