import type { AutomationRun } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { upTo } from "../canvas/config.ts";
import type { StepValue } from "../canvas/steps-config.ts";
import { Values } from "./values.tsx";

interface Props {
  step: StepValue | null;
  steps: readonly StepValue[];
  run: AutomationRun | null;
  scope: Readonly<Record<string, unknown>>;
  onInsert: ((path: string) => void) | null;
}

const TRIGGER_VALUES = ["payload", "headers", "query", "input"] as const;

const sourceOf = (run: AutomationRun | null) =>
  run === null ? null : run.triggerMethod === "test" ? t("From the last test run") : t("From the last run");

/** What a step sees: the trigger's values and the results of previous steps. */
export function StepInput({ step, steps, run, scope, onInsert }: Props) {
  const above = step ? upTo(steps, step.key) : new Set<string>();
  const results = (scope.steps ?? {}) as Record<string, { result?: unknown } | undefined>;
  const sources = [
    ...TRIGGER_VALUES.flatMap((name) =>
      scope[name] === undefined || scope[name] === null ? [] : [{ path: name, name, value: scope[name] }],
    ),
    ...steps
      .filter(({ key }) => key !== step?.key && above.has(key))
      .reverse()
      .flatMap(({ key, name, pinned }) => {
        const value = pinned ?? results[key]?.result;
        if (value === undefined || value === null) return [];
        const path = `steps.${key}.result`;
        return [
          {
            path,
            name: pinned === undefined ? (name ?? key) : t("{name} (pinned)", { name: name ?? key }),
            value,
          },
        ];
      }),
  ];
  if (sources.length === 0)
    return (
      <p className="text-sm text-soft">
        {t("No values yet. Test the automation to see what this step receives.")}
      </p>
    );
  return (
    <div className="space-y-4">
      <p className="text-xs text-soft">
        {sourceOf(run)}
        {onInsert && `. ${t("Click or drag a value to insert it as an expression.")}`}
      </p>
      {sources.map(({ path, name, value }) => (
        <section key={path}>
          <h3 className="mb-1 text-sm font-medium" dir="auto">
            {name}
          </h3>
          <Values value={value} path={path} onInsert={onInsert} />
        </section>
      ))}
    </div>
  );
}
