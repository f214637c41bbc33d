import type { Fault } from "../../api.ts";
import type { Automation } from "../../calls.ts";
import { Later, part } from "../base/later.tsx";
import { SchemaForm, type Values } from "../form/form.tsx";
import { MINOR_SETTINGS, settingsOf } from "./trigger-schemas.ts";

const instants = part(() => import("./instants.tsx"));

interface Props {
  trigger: Automation["triggerType"];
  config: Values;
  onChange: (config: Values) => void;
  faults: readonly Fault[];
}

/** Settings of the trigger, and limits of its runs. */
export default function TriggerForm({ trigger, config, onChange, faults }: Props) {
  const { schedule } = config as { schedule?: { cron?: unknown; timezone?: unknown } };
  return (
    <>
      <SchemaForm
        key={trigger}
        schema={settingsOf(trigger)}
        value={config}
        onChange={onChange}
        at={["body", "config"]}
        faults={faults.filter(({ loc }) => !["steps", "action"].includes(loc[2] ?? ""))}
        minor={MINOR_SETTINGS}
      />
      {typeof schedule?.cron === "string" && (
        <div className="mt-4">
          <Later
            of={instants}
            props={{
              cron: schedule.cron,
              timezone: typeof schedule.timezone === "string" ? schedule.timezone : "UTC",
              onCron: (cron) => onChange({ ...config, schedule: { ...schedule, cron } }),
            }}
            waiting={null}
          />
        </div>
      )}
    </>
  );
}
