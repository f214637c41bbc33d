import type { Fault } from "../../api.ts";
import type { Automation } from "../../calls.ts";
import { Later, part } from "../base/later.tsx";
import { Section } from "../base/page.tsx";
import { Tree } from "../base/tree.tsx";
import { TemplatePaths } from "../editor/template-paths.ts";
import { Faults, SchemaForm, type Values } from "../form/form.tsx";
import { FormOrJson } from "../form/or-json.tsx";
import { propertiesOf } from "../form/schema.ts";
import type { LastRun } from "./last-run.ts";
import { isOfSender, SenderAuth } from "./sender-auth.tsx";
import { SENDER_FIELDS } from "./sender-choices.ts";
import { canDrawSteps } from "./steps-config.ts";
import { StepsForm } from "./steps-form.tsx";
import { MINOR_SETTINGS, settingsOf } from "./trigger-schemas.ts";

const instants = part(() => import("./instants.tsx"));

interface Props {
  trigger: Automation["triggerType"];
  config: Values;
  onChange: (config: Values) => void;
  onProblem: (problem: string | null) => void;
  faults: readonly Fault[];
  /** What editors and fields offer, and what stands beside the steps. */
  last: LastRun;
  /** The config as it is stored with its secret; null where there is none yet. */
  stored: Values | null;
}

const AT = ["body", "config"];

/** Trigger, steps and conditions of an automation, by form or as JSON. */
export function ConfigEditor({ trigger, config, onChange, onProblem, faults, last, stored }: Props) {
  const schema = settingsOf(trigger);
  const isWebhook = trigger === "webhook";
  const own = propertiesOf(schema).map(([name]) => name);
  const known = [...own, "steps", "action", ...(isWebhook ? [...SENDER_FIELDS, "secret"] : [])];
  const { schedule } = config as { schedule?: { cron?: unknown; timezone?: unknown } };
  const came = last.scope.payload ?? last.scope.input;
  return (
    <TemplatePaths value={last.paths}>
      <FormOrJson
        label="Configuration"
        wrong="The configuration must be a JSON object."
        value={config}
        onChange={onChange}
        onProblem={onProblem}
        canDraw={canDrawSteps(config)}
        minHeight={300}
        faults={<Faults of={faults.filter(({ loc }) => loc[1] === "config")} drawn={[]} />}
        form={() => (
          <>
            <Section title="Trigger">
              <SchemaForm
                key={trigger}
                schema={schema}
                value={config}
                onChange={onChange}
                at={AT}
                faults={faults.filter(
                  (fault) =>
                    fault.loc[1] !== "config" ||
                    !(
                      ["steps", "action"].includes(fault.loc[2] ?? "") ||
                      (isWebhook && isOfSender(fault, config))
                    ),
                )}
                minor={MINOR_SETTINGS}
              />
              {typeof schedule?.cron === "string" && (
                <div className="mt-4">
                  <p className="mb-1 text-sm font-medium">Upcoming runs</p>
                  <Later
                    of={instants}
                    given={{
                      cron: schedule.cron,
                      timezone: typeof schedule.timezone === "string" ? schedule.timezone : "UTC",
                    }}
                    waiting={null}
                  />
                </div>
              )}
              {came !== undefined && came !== null && (
                <details className="mt-4">
                  <summary className="text-sm text-soft hover:text-ink">Last input</summary>
                  <div className="mt-2">
                    <Tree value={came} copyLabel="Copy input as JSON" />
                  </div>
                </details>
              )}
            </Section>
            {isWebhook && <SenderAuth config={config} onChange={onChange} faults={faults} stored={stored} />}
            <StepsForm
              config={config}
              onChange={onChange}
              faults={faults}
              at={AT}
              onProblem={onProblem}
              last={last.run}
            />
            {Object.keys(config).some((name) => !known.includes(name)) && (
              <p className="text-xs text-soft">
                Only editable as JSON:{" "}
                {Object.keys(config)
                  .filter((name) => !known.includes(name))
                  .join(", ")}
                .
              </p>
            )}
          </>
        )}
      />
    </TemplatePaths>
  );
}
