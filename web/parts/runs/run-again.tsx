import { PencilLine } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import type { Automation, AutomationRun } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { Button } from "../base/button.tsx";
import { RunDialog } from "../layout/detail.tsx";

const MASK = "***";

/** Runs the automation anew with the input of this run, changed. A webhook's content comes from its sender alone. */
export function RunAgain({ run, automation }: { run: AutomationRun; automation: Automation }) {
  const [, go] = useLocation();
  const [isOpen, setOpen] = useState(false);
  const start = useChange("POST /api/v1/automations/{automation_id}/run", {
    touches: ["/automations", "/automation-runs"],
    tellsErrors: false,
    done: "New run started",
    onDone: ({ id }) => {
      setOpen(false);
      go(`/automation-runs/${id}`);
    },
  });
  if (automation.triggerType === "webhook" || automation.status !== "active") return null;
  const input = run.input === null ? "" : JSON.stringify(run.input, null, 2);
  return (
    <>
      <Button icon={PencilLine} onClick={() => setOpen(true)}>
        Run with edited input
      </Button>
      {isOpen && (
        <RunDialog
          name={automation.name}
          about={
            input.includes(MASK)
              ? "Input of this run as JSON. Secrets are masked: replace *** before you run it."
              : "Input of this run as JSON. Edit it, then run."
          }
          label="Input"
          initial={input}
          run={start}
          onRun={(value) =>
            start.mutate({
              path: { automation_id: automation.id },
              body: value === undefined ? {} : { input: value as never },
            })
          }
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}
