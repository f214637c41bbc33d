import { t } from "../../texts/text.ts";
import { kindStyle } from "../base/kind-icons.tsx";
import { StatusIcon } from "../base/status.tsx";
import { dependencyOf, linksOf, TRIGGER } from "../canvas/config.ts";
import { type Actions, kindOf, summaryOf } from "../canvas/kinds.ts";
import type { TriggerCard } from "../canvas/nodes.ts";
import type { StepState } from "../canvas/states.ts";
import type { StepValue } from "../canvas/steps-config.ts";

interface Props {
  steps: readonly StepValue[];
  trigger: TriggerCard;
  actions: Actions;
  titleOf: (kind: string) => string;
  states: ReadonlyMap<string, StepState> | null;
  faults: ReadonlyMap<string, string>;
  chosen: string | null;
  onChoose: (key: string) => void;
  onAdd: (() => void) | null;
}

/** Steps in execution order, with the minimum number of steps before each. */
function inOrder(steps: readonly StepValue[]): { step: StepValue; depth: number }[] {
  const depths = new Map<string, number>([[TRIGGER, -1]]);
  const links = linksOf(steps);
  for (let round = 0; round < steps.length; round++) {
    let isDone = true;
    for (const { source, target } of links) {
      const depth = (depths.get(source) ?? 0) + 1;
      if (depth <= (depths.get(target) ?? -1) || depth > steps.length) continue;
      depths.set(target, depth);
      isDone = false;
    }
    if (isDone) break;
  }
  return steps.map((step) => ({ step, depth: depths.get(step.key) ?? 0 })).sort((a, b) => a.depth - b.depth);
}

const MOST_INDENT = 4;

/** The steps as a list, for small screens and for users who prefer text. */
export default function StepList({
  steps,
  trigger,
  actions,
  titleOf,
  states,
  faults,
  chosen,
  onChoose,
  onAdd,
}: Props) {
  const nameOf = (key: string) => steps.find((step) => step.key === key)?.name ?? key;
  const Trigger = trigger.icon;
  const row = "flex min-h-12 w-full items-center gap-3 rounded-lg border bg-raised px-3 py-1.5 text-left";
  return (
    <ol aria-label={t("Steps")} className="h-full space-y-1.5 overflow-y-auto p-3">
      <li>
        <button
          type="button"
          aria-pressed={chosen === TRIGGER}
          onClick={() => onChoose(TRIGGER)}
          className={`${row} ${chosen === TRIGGER ? "border-accent" : "border-line"}`}
        >
          <Trigger size={16} aria-hidden className="shrink-0 text-accent" />
          <span className="min-w-0 grow">
            <span className="block truncate text-sm font-medium">{trigger.name}</span>
            <span className="block truncate text-xs text-soft">{trigger.summary}</span>
          </span>
        </button>
      </li>
      {inOrder(steps).map(({ step, depth }) => {
        const { icon: Icon, tint } = kindStyle(kindOf(step, actions));
        const state = states?.get(step.key);
        const fault = faults.get(step.key);
        const after = (step.dependsOn ?? [])
          .map(dependencyOf)
          .map(({ key, branch }) => nameOf(key) + (branch === null ? "" : `: ${branch}`));
        return (
          <li key={step.key} style={{ paddingLeft: `${Math.min(depth, MOST_INDENT) * 0.75}rem` }}>
            <button
              type="button"
              aria-pressed={chosen === step.key}
              onClick={() => onChoose(step.key)}
              className={`${row} ${chosen === step.key ? "border-accent" : fault ? "border-bad" : "border-line"}`}
            >
              <span className={`grid size-8 shrink-0 place-items-center rounded-md ${tint}`}>
                <Icon size={16} aria-hidden />
              </span>
              <span className="min-w-0 grow">
                <span className="line-clamp-2 text-sm font-medium [overflow-wrap:anywhere]" dir="auto">
                  {step.name ?? step.key}
                </span>
                <span className="block truncate text-xs text-soft">
                  {fault ?? summaryOf(step, actions, titleOf)}
                  {after.length > 0 && ` · ${t("after {steps}", { steps: after.join(", ") })}`}
                </span>
              </span>
              {state && <StatusIcon status={state.status} />}
            </button>
          </li>
        );
      })}
      {onAdd && (
        <li>
          <button
            type="button"
            onClick={onAdd}
            className="min-h-10 w-full rounded-lg border border-dashed border-strong-line text-sm text-soft hover:border-accent hover:text-accent"
          >
            {t("Add step")}
          </button>
        </li>
      )}
    </ol>
  );
}
