import { useMemo } from "react";
import type { Automation } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { useStepActions } from "../automations/actions.ts";
import { triggerCard } from "../automations/trigger-card.ts";
import { Diff } from "../base/diff.tsx";
import { Canvas } from "../canvas/canvas.tsx";
import { TRIGGER } from "../canvas/config.ts";
import { NO_LAYOUT } from "../canvas/layout.ts";
import { diff } from "../canvas/patch.ts";
import type { StepChange } from "../canvas/states.ts";
import { stepsIn } from "../canvas/steps-config.ts";
import type { Values } from "../form/form.tsx";
import { SILENT } from "./silent.ts";

interface Props {
  automation: Automation;
  before: Values;
  after: Values;
  titleOf: (kind: string) => string;
  /** The differences as text. */
  words: string;
  chosen: string | null;
  onChoose: (key: string | null) => void;
}

/** Classifies a change by its two sides. */
export const changeOf = ({ from, to }: { from: unknown; to: unknown }): StepChange =>
  from === undefined ? "added" : to === undefined ? "removed" : "changed";

/** Differences between two configs, on the canvas. Removed steps keep their positions. */
export function Comparison({ automation, before, after, titleOf, words, chosen, onChoose }: Props) {
  const patch = useMemo(() => diff(before, after, ""), [before, after]);
  const steps = useMemo(
    () => [
      ...stepsIn(after),
      ...stepsIn(before).filter(({ key }) => patch.steps.get(key)?.to === undefined && patch.steps.has(key)),
    ],
    [before, after, patch],
  );
  const changes = useMemo(
    () =>
      new Map<string, StepChange>([
        ...[...patch.steps].map(([key, change]) => [key, changeOf(change)] as const),
        ...(patch.fields.size > 0 ? ([[TRIGGER, "changed"]] as const) : []),
      ]),
    [patch],
  );
  const trigger = useMemo(() => triggerCard(automation.triggerType, after), [automation.triggerType, after]);
  const actions = useStepActions(steps);
  const change = chosen === null ? undefined : patch.steps.get(chosen);
  return (
    <div className="min-w-0 space-y-3">
      <p className="text-soft">{words}</p>
      <div className="h-72 overflow-hidden rounded-md border border-line">
        <Canvas
          steps={steps}
          name={t("{name}, compared", { name: automation.name })}
          trigger={trigger}
          actions={actions}
          titleOf={titleOf}
          layout={NO_LAYOUT}
          chosen={chosen}
          changes={changes}
          mayChange={false}
          on={{ ...SILENT, onChoose, open: onChoose }}
          isEmbedded
        />
      </div>
      {change && <Diff label={t("Changes of the step")} before={change.from ?? ""} after={change.to ?? ""} />}
      {chosen === TRIGGER &&
        [...patch.fields].map(([name, { from, to }]) => (
          <div key={name}>
            <p className="mb-1 font-medium">{name}</p>
            <Diff label={t("Changes of {name}", { name })} before={from ?? ""} after={to ?? ""} />
          </div>
        ))}
    </div>
  );
}
