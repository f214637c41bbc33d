import { useLocation } from "wouter";
import type { Automation } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { Confirm } from "../base/dialog.tsx";
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
          The input, as JSON; steps read it as <code className="font-mono">{"{{input.…}}"}</code>.
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
    done: `Deleted ${automation.name}`,
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
      <p>It can't be had back. {runs.data ? `It has run ${runs.data.total} times.` : ""}</p>
      {automation.webhookUrl && <p>Webhooks sent to {automation.webhookUrl} are then refused.</p>}
      {automation.triggerType === "schedule" && <p>Its schedule ends.</p>}
    </Confirm>
  );
}
