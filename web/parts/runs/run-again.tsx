import { PencilLine } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import type { Automation, AutomationRun } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { Shown } from "../base/page.tsx";
import { RunDialog } from "../layout/detail.tsx";
import { useDelivery } from "./origin.tsx";

const MASK = "***";

interface Props {
  run: AutomationRun;
  automation: Automation;
}

/** Runs the automation again with this run's input, edited. */
export function RunAgain({ run, automation }: Props) {
  const [isOpen, setOpen] = useState(false);
  if (automation.status !== "active") return null;
  return (
    <>
      <Button icon={PencilLine} onClick={() => setOpen(true)}>
        {t("Run with edited input")}
      </Button>
      {isOpen && <Origin run={run} automation={automation} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Input of a run: entered manually, of the webhook that started it, or of the retried run. */
function Origin({ run, automation, onClose }: Props & { onClose: () => void }) {
  const { delivery, isPending } = useDelivery(run);
  const parentId = run.input === null ? (run.parentAutomationRunId ?? "") : "";
  const parent = useApi(
    "GET /api/v1/automation-runs/{run_id}",
    { path: { run_id: parentId } },
    { enabled: parentId !== "", isFixed: true },
  );
  if (parentId !== "" || isPending)
    return parent.data ? (
      <Origin run={parent.data} automation={automation} onClose={onClose} />
    ) : (
      <Dialog title={t("Run {name}", { name: automation.name })} onClose={onClose}>
        {parentId === "" ? <p role="status">{t("Loading…")}</p> : <Shown of={parent}>{() => null}</Shown>}
      </Dialog>
    );
  const isWebhook = automation.triggerType === "webhook";
  const lastInput = run.input ?? delivery?.payload ?? null;
  return (
    <Edited
      automation={automation}
      lastInput={lastInput}
      what={isWebhook ? t("Payload") : t("Input")}
      isGone={isWebhook && lastInput === null && delivery?.headers === null}
      onClose={onClose}
    />
  );
}

interface EditedProps {
  automation: Automation;
  lastInput: unknown;
  what: string;
  /** The input is no longer stored. */
  isGone: boolean;
  onClose: () => void;
}

function Edited({ automation, lastInput, what, isGone, onClose }: EditedProps) {
  const [, go] = useLocation();
  const start = useChange("POST /api/v1/automations/{automation_id}/run", {
    touches: ["/automations", "/automation-runs"],
    tellsErrors: false,
    done: t("New run started"),
    onDone: ({ id }) => {
      onClose();
      go(`/automation-runs/${id}`);
    },
  });
  const text = lastInput === null ? "" : JSON.stringify(lastInput, null, 2);
  const about = isGone
    ? t("The payload of this run is no longer stored. Write one as JSON.")
    : text.includes(MASK)
      ? t("{what} of this run as JSON. Secrets are masked: replace *** before you run it.", { what })
      : t("{what} of this run as JSON. Edit it, then run.", { what });
  return (
    <RunDialog
      name={automation.name}
      about={about}
      label={what}
      initial={text}
      run={start}
      onRun={(value) =>
        start.mutate({
          path: { automation_id: automation.id },
          body: value === undefined ? {} : { input: value as never },
        })
      }
      onClose={onClose}
    />
  );
}
