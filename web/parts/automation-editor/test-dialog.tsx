import { Play } from "lucide-react";
import { useState } from "react";
import type { Automation, AutomationRun } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { useRunInput } from "../automations/run-input.tsx";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { plural } from "../base/plural.ts";
import { counted } from "../base/time.tsx";
import type { StepValue } from "../canvas/steps-config.ts";
import type { Values } from "../form/form.tsx";
import { reusable, stepsToRun, type TestPlan, type useTesting } from "./testing.ts";

interface Props {
  automation: Automation;
  config: Values;
  steps: readonly StepValue[];
  /** The last step to run. Null for all. */
  end: string | null;
  nameOf: (key: string) => string;
  kindOf: (step: StepValue) => string | undefined;
  last: ReturnType<typeof useTesting>["last"];
  lastRun: AutomationRun | null;
  onPin: (input: unknown) => void;
  onStart: (plan: TestPlan) => Promise<void>;
  onClose: () => void;
}

/** Asks for the input of a test run, and lists the steps that it will really run. */
export function TestDialog({ automation, config, steps, end, nameOf, kindOf, ...rest }: Props) {
  const { take, fields } = useRunInput({ automation, config, takesRuns: true, onPin: rest.onPin });
  const results = reusable(steps, end, rest.last, rest.lastRun);
  const [reuses, setReuses] = useState(true);
  const [isBusy, setBusy] = useState(false);
  const reused = reuses ? results : new Map<string, unknown>();
  const running = stepsToRun(steps, end, new Set(reused.keys()), kindOf);
  const writing = running.filter(({ writes }) => writes);
  const pinned = steps.filter((step) => step.pinned !== undefined).length;
  const start = async () => {
    const input = take();
    if (input === null) return;
    setBusy(true);
    await rest.onStart({ upTo: end, config, input, reused });
    setBusy(false);
  };
  return (
    <Dialog
      title={end === null ? t("Test this draft") : t("Run to {name}", { name: nameOf(end) })}
      onClose={rest.onClose}
      foot={
        <>
          <Button onClick={rest.onClose}>{t("Cancel")}</Button>
          <Button kind="main" icon={Play} busy={isBusy} onClick={() => void start()}>
            {end === null ? t("Test|verb") : t("Run|verb")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        {fields}
        {results.size > 0 && (
          <label className="flex items-center gap-2">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={reuses}
              onChange={(event) => setReuses(event.target.checked)}
            />
            {plural(results.size, {
              one: "Use # result of the last test",
              other: "Use # results of the last test",
            })}
          </label>
        )}
        <div className="text-soft">
          <p>
            {plural(running.length, { one: "Runs # step", other: "Runs # steps" })}
            {pinned > 0 && `, ${t("{count} pinned", { count: counted(pinned) })}`}.
          </p>
          {writing.length > 0 && (
            <p className="mt-1 text-warn">
              {t("These change data or reach other systems: {names}.", {
                names: writing.map(({ step }) => nameOf(step.key)).join(", "),
              })}
            </p>
          )}
        </div>
      </div>
    </Dialog>
  );
}
