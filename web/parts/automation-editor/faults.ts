import type { Fault } from "../../api.ts";
import { stepsIn } from "../canvas/steps-config.ts";
import type { Values } from "../form/form.tsx";

/** Errors from the server by step key. The others belong to the trigger. */
export interface Faults {
  readonly steps: ReadonlyMap<string, readonly Fault[]>;
  readonly trigger: readonly Fault[];
}

export const NO_FAULTS: Faults = { steps: new Map(), trigger: [] };

/** Path of the config in a request. */
export const AT = ["body", "config"] as const;

/**
 * Maps errors to step keys. The server reports positions in the sent config, but the canvas may have changed by now.
 */
export function faultsBySteps(faults: readonly Fault[], sent: Values): Faults {
  const steps = stepsIn(sent);
  const found = new Map<string, Fault[]>();
  const trigger: Fault[] = [];
  for (const fault of faults) {
    const [, , field, index] = fault.loc;
    const key = field === "steps" ? steps[Number(index)]?.key : undefined;
    if (key === undefined) trigger.push(fault);
    else
      found.set(key, [
        ...(found.get(key) ?? []),
        { ...fault, loc: [...AT, "steps", key, ...fault.loc.slice(4)] },
      ]);
  }
  return { steps: found, trigger };
}

/** Drops errors of steps that have changed since. */
export function stillFaults(faults: Faults, before: Values, after: Values): Faults {
  if (faults.steps.size === 0 && faults.trigger.length === 0) return faults;
  const now = new Map(stepsIn(after).map((step) => [step.key, step]));
  const old = new Map(stepsIn(before).map((step) => [step.key, step]));
  const isOther = Object.keys({ ...before, ...after }).some(
    (name) => name !== "steps" && before[name] !== after[name],
  );
  return {
    steps: new Map([...faults.steps].filter(([key]) => now.get(key) === old.get(key))),
    trigger: isOther ? [] : faults.trigger,
  };
}
