import { useContext, useMemo, useState } from "react";
import type { ActionKindInfo, Automation } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import type { LastRun } from "../automations/last-run.ts";
import { Later, part } from "../base/later.tsx";
import { changeStep } from "../canvas/commands.ts";
import type { Actions } from "../canvas/kinds.ts";
import { keepLayout } from "../canvas/layout.ts";
import { type StepValue, stepsIn } from "../canvas/steps-config.ts";
import { ScopeOfValues, useEvaluated } from "../editor/evaluated.tsx";
import type { Values } from "../form/form.tsx";
import type { DraftState } from "./draft.ts";
import type { Around } from "./events.ts";
import { AT } from "./faults.ts";
import { StepInput } from "./input.tsx";
import type { PanelTab } from "./panel.tsx";

/** Loaded after the canvas is shown, since a step is usually opened next. */
export const stepForm = part(() => import("../automations/step-form.tsx"));
const stepOutput = part(() => import("./output.tsx"));
const triggerForm = part(() => import("../automations/trigger-form.tsx"));

interface Options {
  /** Null for the trigger. */
  step: StepValue | null;
  steps: readonly StepValue[];
  automation: Automation;
  state: DraftState;
  around: Around;
  actions: Actions;
  kinds: readonly ActionKindInfo[];
  last: LastRun;
  mayChange: boolean;
  onDisconnect: (source: string, target: string) => void;
  onInsert: (path: string) => void;
  onRenamed: (key: string) => void;
}

/** Content of the panel for a step or the trigger. */
export function panelParts(options: Options): Readonly<Record<PanelTab, React.ReactNode>> {
  const { step, steps, last, mayChange, onInsert } = options;
  const input = (
    <StepInput
      step={step}
      steps={steps}
      run={last.run}
      scope={last.scope}
      onInsert={step && mayChange ? onInsert : null}
    />
  );
  return {
    input,
    settings: (
      <fieldset disabled={!mayChange} className="min-w-0">
        {step ? <OfStep {...options} step={step} /> : <OfTrigger {...options} />}
      </fieldset>
    ),
    output: step ? <Output {...options} step={step} /> : input,
  };
}

function OfStep(options: Options & { step: StepValue }) {
  const { step, steps, state, around, actions, kinds, onDisconnect, onRenamed } = options;
  const { store, nameOf, open } = around;
  const { config, layout } = state.history;
  // keeps the form and its focus when the step's key changes
  const [form, setForm] = useState({ of: step.key, number: 0 });
  if (form.of !== step.key) setForm({ of: step.key, number: form.number + 1 });
  const rename = (to: string, change: (config: Values) => Values) => {
    setForm({ ...form, of: to });
    const next = change(config);
    store.edit({
      label: t("Rename key {key}", { key: step.key }),
      config: next,
      layout: keepLayout(layout, stepsIn(next), new Map([[step.key, to]])),
    });
    onRenamed(to);
  };
  const scope = useContext(ScopeOfValues);
  const items = useEvaluated(typeof step.forEach === "string" ? step.forEach : "", "template", scope);
  const list = items?.value;
  const ofItem = useMemo(
    () => (scope && Array.isArray(list) ? { ...scope, item: list[0] ?? null, index: 0, items: list } : scope),
    [scope, list],
  );
  return (
    <ScopeOfValues value={ofItem}>
      <Later
        key={form.number}
        of={stepForm}
        props={{
          step,
          steps,
          actions,
          kinds,
          faults: state.faults.steps.get(step.key) ?? [],
          at: [...AT, "steps", step.key],
          onChange: (next, field) =>
            store.edit({
              label: t("Edit {name}", { name: nameOf(step.key) }),
              config: changeStep(config, step.key, next),
              scope: `${step.key}.${field}`,
            }),
          onRename: rename,
          onReplace: () => open({ as: "replace", key: step.key }),
          onDisconnect: (dependency) => onDisconnect(dependency, step.key),
        }}
      />
    </ScopeOfValues>
  );
}

function OfTrigger({ automation, state, around }: Options) {
  return (
    <Later
      of={triggerForm}
      props={{
        trigger: automation.triggerType,
        config: state.history.config,
        faults: state.faults.trigger,
        onChange: (config: Values) =>
          around.store.edit({ label: t("Edit trigger"), config, scope: "trigger" }),
      }}
    />
  );
}

function Output({ step, state, around, last, mayChange }: Options & { step: StepValue }) {
  const pin = (result: unknown) => {
    const { pinned: _, ...rest } = step;
    around.store.edit({
      label: result === undefined ? t("Unpin result") : t("Pin result"),
      config: changeStep(
        state.history.config,
        step.key,
        (result === undefined ? rest : { ...rest, pinned: result }) as StepValue,
      ),
    });
  };
  return (
    <Later
      of={stepOutput}
      props={{
        stepKey: step.key,
        state: last.run?.steps.find(({ key }) => key === step.key) ?? null,
        pinned: step.pinned,
        onPin: mayChange ? pin : null,
      }}
    />
  );
}
