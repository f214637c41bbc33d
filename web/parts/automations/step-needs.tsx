import type { Action } from "../../calls.ts";
import { after, type StepValue } from "./steps-config.ts";

interface Props {
  step: StepValue;
  steps: readonly StepValue[];
  actions: readonly Action[];
  fault: string | undefined;
  onChange: (dependsOn: string[]) => void;
}

/** The branches of a step that decides between some. */
export function branchesOf({ kind, definition, actionId }: StepValue, actions: readonly Action[]): string[] {
  const action = actions.find(({ id }) => id === actionId);
  if ((kind ?? action?.kind) !== "conditional_branch") return [];
  const { branches, else: otherwise } = (definition ?? action?.definition ?? {}) as {
    branches?: { key?: unknown }[];
    else?: unknown;
  };
  const keys = Array.isArray(branches) ? branches.map((branch) => branch?.key) : [];
  return [...keys, otherwise].filter((key): key is string => typeof key === "string" && key !== "");
}

/** The steps that must have ended before this one begins; of one that decides, the branch it must have taken. */
export function Needs({ step, steps, actions, fault, onChange }: Props) {
  const below = after(steps, step.key);
  const chosen = step.dependsOn ?? [];
  const possible = steps
    .filter(({ key }) => !below.has(key))
    .flatMap((each) => [each.key, ...branchesOf(each, actions).map((branch) => `${each.key}:${branch}`)]);
  const all = [...new Set([...possible, ...chosen])];
  if (all.length === 0) return null;
  return (
    <fieldset aria-invalid={fault ? true : undefined}>
      <legend className="mb-1 text-sm font-medium">Depends on</legend>
      <ul className="flex flex-wrap gap-x-4 gap-y-1.5">
        {all.map((each) => (
          <li key={each}>
            <label className="flex items-center gap-1.5 font-mono text-xs">
              <input
                type="checkbox"
                className="size-4 accent-accent"
                checked={chosen.includes(each)}
                onChange={(event) =>
                  onChange(
                    event.target.checked ? [...chosen, each] : chosen.filter((other) => other !== each),
                  )
                }
              />
              {each}
            </label>
          </li>
        ))}
      </ul>
      {fault && <p className="mt-1 text-xs text-bad">{fault}</p>}
    </fieldset>
  );
}
