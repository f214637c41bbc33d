import { useMemo, useState } from "react";
import { useSearchParams } from "wouter";
import type { Automation, AutomationRun } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { ofBrowser } from "../../storage.ts";
import { useKinds, useStepActions } from "../automations/actions.ts";
import { useLastRun } from "../automations/last-run.ts";
import { triggerCard } from "../automations/trigger-card.ts";
import { Canvas } from "../canvas/canvas.tsx";
import { inSteps, TRIGGER } from "../canvas/config.ts";
import { type Layout, NO_LAYOUT } from "../canvas/layout.ts";
import { type StepValue, stepsIn } from "../canvas/steps-config.ts";
import type { Values } from "../form/form.tsx";
import { StepInput } from "./input.tsx";
import StepOutput from "./output.tsx";
import { type PanelTab, StepPanel } from "./panel.tsx";
import { SILENT } from "./silent.ts";
import StepList from "./step-list.tsx";
import { useStates } from "./testing.ts";

interface Props {
  automation: Automation;
  /** The config that the run used. Default: the automation's current one. */
  config?: Values;
  run: AutomationRun | null;
}

const NO_FAULTS: ReadonlyMap<string, string> = new Map();

/** Direction in which this browser shows runs. Default: the editor's. */
const DIRECTION = "weir.runDirection";

function keptDirection(): Layout["direction"] | null {
  const kept = ofBrowser.get(DIRECTION);
  return kept === "down" || kept === "right" ? kept : null;
}

/** Manual positions apply only to the layout's own direction. */
const turnedTo = (direction: Layout["direction"] | null, layout: Layout): Layout =>
  direction === null || direction === layout.direction ? layout : { ...layout, direction, positions: {} };

/** The selected card is in the URL, so that a reload or a link restores it. */
function useChosen(steps: readonly StepValue[]) {
  const [search, setSearch] = useSearchParams();
  const key = search.get("step");
  const isKnown = key === TRIGGER || steps.some((step) => step.key === key);
  const choose = (next: string | null) =>
    setSearch(
      (before) => {
        if (next === null) before.delete("step");
        else before.set("step", next);
        return before;
      },
      { replace: true },
    );
  return [isKnown ? key : null, choose] as const;
}

/** The steps of an automation with their state in a run. A click shows a step's input, output and log. */
export default function RunCanvas({ automation, config = automation.config, run }: Props) {
  const steps = useMemo(() => withRun(stepsIn(inSteps(config)), run), [config, run]);
  const layout = useApi("GET /api/v1/automations/{automation_id}/layout", {
    path: { automation_id: automation.id },
  });
  const [direction, setDirection] = useState(keptDirection);
  const drawn = useMemo(() => turnedTo(direction, layout.data ?? NO_LAYOUT), [direction, layout.data]);
  const { titleOf } = useKinds();
  const actions = useStepActions(steps);
  const states = useStates(run);
  const [chosen, choose] = useChosen(steps);
  const last = useLastRun(automation, run, chosen !== null);
  const [tab, setTab] = useState<PanelTab>("output");
  const [shown, setShown] = useState<{ key: string; count: number } | null>(null);
  const [focus, setFocus] = useState(0);
  const trigger = useMemo(
    () => triggerCard(automation.triggerType, config),
    [automation.triggerType, config],
  );
  const step = steps.find(({ key }) => key === chosen) ?? null;
  const shared = { steps, trigger, actions, titleOf, states, chosen } as const;
  const input = <StepInput step={step} steps={steps} run={run} scope={last.scope} onInsert={null} />;
  return (
    <div className="relative flex h-[clamp(26rem,68vh,44rem)] max-sm:h-auto max-sm:flex-col">
      <div className="relative min-w-0 grow max-sm:hidden">
        <Canvas
          {...shared}
          name={automation.name}
          layout={drawn}
          mayChange={false}
          shown={shown}
          on={{
            ...SILENT,
            onChoose: choose,
            onTurn(next) {
              ofBrowser.set(DIRECTION, next);
              setDirection(next);
            },
            open(key) {
              choose(key);
              setFocus(focus + 1);
            },
          }}
          isEmbedded
        />
      </div>
      <div className="max-h-96 sm:hidden">
        <StepList {...shared} faults={NO_FAULTS} onChoose={choose} onAdd={null} />
      </div>
      {chosen !== null && (
        <StepPanel
          key={chosen}
          name={step ? (step.name ?? step.key) : trigger.name}
          tab={step ? tab : "input"}
          onTab={setTab}
          isWide={false}
          onWide={null}
          focus={focus}
          onRunTo={null}
          onRemove={null}
          onClose={() => {
            choose(null);
            setShown({ key: chosen, count: (shown?.count ?? 0) + 1 });
          }}
          parts={{
            input,
            settings: null,
            output: step && (
              <StepOutput
                stepKey={step.key}
                state={run?.steps.find(({ key }) => key === step.key) ?? null}
                pinned={undefined}
                onPin={null}
              />
            ),
          }}
        />
      )}
    </div>
  );
}

/** Adds steps of the run that the automation no longer has. */
function withRun(steps: readonly StepValue[], run: AutomationRun | null): readonly StepValue[] {
  const known = new Set(steps.map(({ key }) => key));
  const gone = (run?.steps ?? []).filter(({ key }) => !known.has(key) && key !== TRIGGER);
  return [...steps, ...gone.map(({ key }): StepValue => ({ key }))];
}
