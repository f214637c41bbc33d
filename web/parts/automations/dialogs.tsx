import { Play } from "lucide-react";
import { useLocation } from "wouter";
import type { Automation } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Confirm, Dialog } from "../base/dialog.tsx";
import { plural } from "../base/plural.ts";
import { cantUndo } from "../base/texts.ts";
import { useRunInput } from "./run-input.tsx";

interface Props {
  automation: Automation;
  onClose: () => void;
}

/** Asks for the input, and runs. */
export function RunAutomation({ automation, onClose }: Props) {
  const [, go] = useLocation();
  const { take, fields } = useRunInput({ automation, config: automation.config, takesRuns: false });
  const run = useChange("POST /api/v1/automations/{automation_id}/run", {
    touches: ["/automations", "/automation-runs"],
    tellsErrors: false,
    onDone: ({ id }) => go(`/automation-runs/${id}`),
  });
  const start = () => {
    const input = take();
    if (input === null) return;
    run.mutate({
      path: { automation_id: automation.id },
      body: input.input === undefined ? {} : { input: input.input as never },
    });
  };
  return (
    <Dialog
      title={t("Run {name}", { name: automation.name })}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button kind="main" icon={Play} busy={run.isPending} onClick={start}>
            {t("Run|verb")}
          </Button>
        </>
      }
    >
      {fields}
      {run.error && (
        <p role="alert" className="mt-3 text-xs text-bad">
          {run.error.message}
        </p>
      )}
    </Dialog>
  );
}

/** Confirms deleting an automation. */
export function DeleteAutomation({ automation, onClose }: Props) {
  const [, go] = useLocation();
  const runs = useApi("GET /api/v1/automations/{automation_id}/runs", {
    path: { automation_id: automation.id },
    query: { limit: 1 },
  });
  const remove = useChange("DELETE /api/v1/automations/{automation_id}", {
    touches: ["/automations"],
    done: t("{name} deleted", { name: automation.name }),
    onDone: () => go("/automations"),
  });
  return (
    <Confirm
      title={t("Delete {name}?", { name: automation.name })}
      verb={t("Delete")}
      typed={automation.slug}
      isBusy={remove.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { automation_id: automation.id } }, { onError: onClose })}
    >
      <p>
        {runs.data &&
          runs.data.total > 0 &&
          plural(runs.data.total, { one: "Its # run is kept.", other: "Its # runs are kept." })}{" "}
        {cantUndo()}
      </p>
      {automation.webhookUrl && (
        <p>{t("Webhooks sent to {url} will be rejected.", { url: automation.webhookUrl })}</p>
      )}
      {automation.triggerType === "schedule" && <p>{t("Scheduled runs stop.")}</p>}
    </Confirm>
  );
}
