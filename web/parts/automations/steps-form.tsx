import { useState } from "react";
import type { Fault } from "../../api.ts";
import type { AutomationRun } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { LinkButton } from "../base/button.tsx";
import { Section } from "../base/page.tsx";
import type { Values } from "../form/form.tsx";
import { startValue } from "../form/schema.ts";
import { Graph } from "./graph.tsx";
import { WhichBranch } from "./step-branch.tsx";
import { StepForm, Works } from "./step-form.tsx";
import { branchesOf } from "./step-needs.tsx";
import { freshKey, renamed, type StepValue, stepsIn, without, withSteps } from "./steps-config.ts";

interface Props {
  config: Values;
  onChange: (config: Values) => void;
  faults: readonly Fault[];
  /** Where the config stands in the request. */
  at: readonly string[];
  onProblem: (problem: string | null) => void;
  /** What its last run gave. */
  last: AutomationRun | null;
}

/** The steps as a graph; the one that is chosen, by form below it. */
export function StepsForm({ config, onChange, faults, at, onProblem, last }: Props) {
  const steps = stepsIn(config);
  const [chosen, setChosen] = useState<string | null>(null);
  /** What is to be added once it is known after which branch. */
  const [wanted, setWanted] = useState<string | null>(null);
  const actions = useApi("GET /api/v1/actions", { query: { limit: 100, sort_by: "name", order: "asc" } });
  const kinds = useApi("GET /api/v1/action-kinds", {}, { isFixed: true });
  const [foundActions, foundKinds] = [actions.data?.actions ?? [], kinds.data?.kinds ?? []];
  const put = (next: readonly StepValue[]) => onChange(withSteps(config, next));
  const index = steps.findIndex(({ key }) => key === chosen);
  const step = steps[index];
  const own = faults.filter(({ loc }) => at.every((part, position) => loc[position] === part));
  const below = steps.flatMap((each, position) =>
    own.some(({ loc }) => loc[at.length] === "steps" && loc[at.length + 1] === String(position))
      ? [each.key]
      : [],
  );
  const whole = own.filter(
    ({ loc }) => loc[at.length] === "action" || (loc[at.length] === "steps" && loc.length === at.length + 1),
  );
  const before = step ?? steps.at(-1);
  const branches = before ? branchesOf(before, foundActions) : [];
  const add = (value: string, dependency = before?.key) => {
    const [what, id = ""] = value.split(":", 2);
    const action = foundActions.find((each) => each.id === id);
    const kind = foundKinds.find((each) => each.kind === id);
    if (!action && !kind) return;
    const key = freshKey(steps, action?.slug ?? id);
    const work =
      what === "action"
        ? { actionId: id }
        : { kind: id, definition: startValue(kind?.definitionSchema ?? {}) };
    put([...steps, { key, ...work, ...(dependency === undefined ? {} : { dependsOn: [dependency] }) }]);
    setChosen(key);
  };
  return (
    <Section
      title="Steps"
      flush
      aside={
        <select
          aria-label="Add step"
          className="field w-56"
          value=""
          onChange={({ target: { value } }) => (branches.length > 0 ? setWanted(value) : add(value))}
        >
          <option value="">Add step</option>
          <Works actions={foundActions} kinds={foundKinds} />
        </select>
      }
    >
      {steps.length === 0 ? (
        <div className="flex flex-wrap items-center gap-3 p-4 text-sm text-soft">
          Add an existing action, or define one inline.
          {actions.data && foundActions.length === 0 && (
            <LinkButton href="/actions/new">Create action</LinkButton>
          )}
        </div>
      ) : (
        <Graph
          steps={steps}
          chosen={chosen}
          bad={below}
          onChoose={(key) => setChosen(key === chosen ? null : key)}
        />
      )}
      {whole.length > 0 && (
        <p role="alert" className="border-t border-line px-4 py-2 text-sm text-bad">
          {whole.map(({ msg }) => msg).join("; ")}
        </p>
      )}
      {below.length > 0 && !(step && below.includes(step.key)) && (
        <p role="alert" className="border-t border-line px-4 py-2 text-sm text-bad">
          Check the settings of {below.join(", ")}.
        </p>
      )}
      {step && (
        <StepForm
          key={index} // not by its key, which changes while it is typed
          step={step}
          steps={steps}
          actions={foundActions}
          kinds={foundKinds}
          faults={own.filter(({ loc }) => loc[at.length + 1] === String(index))}
          at={[...at, "steps", String(index)]}
          state={last?.steps.find(({ key }) => key === step.key) ?? null}
          onChange={(next) => put(steps.map((each) => (each === step ? next : each)))}
          onRename={(key) => {
            put(renamed(steps, step.key, key));
            setChosen(key);
          }}
          onRemove={() => {
            put(without(steps, step.key));
            setChosen(null);
          }}
          onProblem={onProblem}
        />
      )}
      {wanted !== null && before && (
        <WhichBranch
          decides={before.key}
          branches={branches}
          onChoose={(dependency) => {
            add(wanted, dependency);
            setWanted(null);
          }}
          onClose={() => setWanted(null)}
        />
      )}
      {!step && steps.length > 0 && (
        <p className="border-t border-line px-4 py-2.5 text-xs text-soft">Select a step to edit it.</p>
      )}
    </Section>
  );
}
