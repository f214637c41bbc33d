import { useLocation } from "wouter";
import type { Automation } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { Confirm } from "../base/dialog.tsx";
import { plural } from "../base/plural.ts";
import { CANT_UNDO } from "../base/texts.ts";
import { RunDialog } from "../layout/detail.tsx";

interface Props {
  automation: Automation;
  onClose: () => void;
}

/** Asks for the input, and runs. */
export function RunAutomation({ automation, onClose }: Props) {
  const [, go] = useLocation();
  const run = useChange("POST /api/v1/automations/{automation_id}/run", {
    touches: ["/automations", "/automation-runs"],
    tellsErrors: false,
    onDone: ({ id }) => go(`/automation-runs/${id}`),
  });
  return (
    <RunDialog
      name={automation.name}
      about={
        <>
          Input as JSON. Steps refer to it as <code className="font-mono">{"{{input.…}}"}</code>.
        </>
      }
      label="Input"
      run={run}
      onRun={(input) =>
        run.mutate({
          path: { automation_id: automation.id },
          body: input === undefined ? {} : { input: input as never },
        })
      }
      onClose={onClose}
    />
  );
}

/** Asks before an automation goes. */
export function DeleteAutomation({ automation, onClose }: Props) {
  const [, go] = useLocation();
  const runs = useApi("GET /api/v1/automations/{automation_id}/runs", {
    path: { automation_id: automation.id },
    query: { limit: 1 },
  });
  const remove = useChange("DELETE /api/v1/automations/{automation_id}", {
    touches: ["/automations"],
    done: `${automation.name} deleted`,
    onDone: () => go("/automations"),
  });
  return (
    <Confirm
      title={`Delete ${automation.name}?`}
      verb="Delete"
      typed={automation.slug}
      isBusy={remove.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { automation_id: automation.id } }, { onError: onClose })}
    >
      <p>
        {runs.data &&
          runs.data.total > 0 &&
          plural(runs.data.total, { one: "Its # run is kept.", other: "Its # runs are kept." })}{" "}
        {CANT_UNDO}
      </p>
      {automation.webhookUrl && <p>{`Webhooks sent to ${automation.webhookUrl} will be rejected.`}</p>}
      {automation.triggerType === "schedule" && <p>Scheduled runs stop.</p>}
    </Confirm>
  );
}
