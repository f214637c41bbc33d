import type { Step } from "../../../src/resources/automations/config.ts";
import type { Values } from "../form/form.tsx";

/** A step in the config. Unknown fields are kept. */
export interface StepValue extends Values, Omit<Step, "kind" | "definition" | "onError"> {
  kind?: string;
  definition?: Values;
  onError?: string;
}

export const isRecord = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isTexts = (value: unknown) =>
  value === undefined || (Array.isArray(value) && value.every((each) => typeof each === "string"));

const TEXTS: readonly (keyof Step)[] = ["name", "when", "onError", "kind", "actionId"];

/** Returns whether the form can show the steps, or the single action, of a config. */
export function canDrawSteps({ steps, action }: Values): boolean {
  if (steps === undefined) return action === undefined || isRecord(action);
  if (!Array.isArray(steps)) return false;
  const keys = steps.map((step: unknown) => (isRecord(step) ? step.key : null));
  return (
    keys.every((key) => typeof key === "string") &&
    new Set(keys).size === keys.length &&
    steps.every(
      (step: Values) =>
        isTexts(step.dependsOn) &&
        (step.definition === undefined || isRecord(step.definition)) &&
        (step.forEach === undefined || typeof step.forEach === "string" || isRecord(step.forEach)) &&
        TEXTS.every((name) => step[name] === undefined || typeof step[name] === "string"),
    )
  );
}

/** The steps. A single `action` becomes the step of that key. */
export const stepsIn = ({ steps, action }: Values): StepValue[] =>
  (steps as StepValue[] | undefined) ?? (isRecord(action) ? [{ ...action, key: "action" }] : []);

export function withSteps({ action: _, ...config }: Values, steps: readonly StepValue[]): Values {
  return { ...config, steps };
}

/** Applies a change. Drops empty values, since the API accepts no empty texts and lists. */
export function putInStep(step: StepValue, change: Partial<StepValue>): StepValue {
  const put = { ...step, ...change };
  for (const [name, value] of Object.entries(put)) {
    if (value === undefined || value === "" || (Array.isArray(value) && value.length === 0)) delete put[name];
  }
  return { ...put, key: put.key ?? step.key };
}

const keyIn = (dependency: string) => dependency.split(":")[0] ?? dependency;

export const without = (steps: readonly StepValue[], key: string): StepValue[] =>
  steps
    .filter((step) => step.key !== key)
    .map((step) =>
      step.dependsOn
        ? putInStep(step, { dependsOn: step.dependsOn.filter((each) => keyIn(each) !== key) })
        : step,
    );

/** Keys of the steps that depend on this one, directly or not. It can't depend on them. */
export function after(steps: readonly StepValue[], key: string): ReadonlySet<string> {
  const found = new Set<string>([key]);
  for (let size = 0; size !== found.size; ) {
    size = found.size;
    for (const step of steps) {
      if (step.dependsOn?.some((each) => found.has(keyIn(each)))) found.add(step.key);
    }
  }
  return found;
}

/** A key that conditions can use without brackets, and that no other step has. */
export function freshKey(steps: readonly StepValue[], wish: string): string {
  const plain = wish
    .replace(/[^A-Za-z0-9_]+/g, "_")
    .replace(/^(?![A-Za-z_])/, "_")
    .slice(0, 90);
  const taken = new Set(steps.map(({ key }) => key));
  if (!taken.has(plain)) return plain;
  let number = 2;
  while (taken.has(`${plain}_${number}`)) number++;
  return `${plain}_${number}`;
}
