import { useState } from "react";
import { useLocation } from "wouter";
import type { Automation, Reply } from "../calls.ts";
import { useChange } from "../data.ts";
import { ConfigEditor } from "../parts/automations/config-editor.tsx";
import { useLastRun } from "../parts/automations/last-run.ts";
import { stepsIn } from "../parts/automations/steps-config.ts";
import { startOf } from "../parts/automations/trigger-schemas.ts";
import { Button } from "../parts/base/button.tsx";
import { CopyButton } from "../parts/base/copy.tsx";
import { Dialog } from "../parts/base/dialog.tsx";
import { Labelled, TextField } from "../parts/base/labelled.tsx";
import { PageHead } from "../parts/base/page.tsx";
import { COPY_NOW } from "../parts/base/texts.ts";
import type { Values } from "../parts/form/form.tsx";
import { FormFrame, faultsOf, messagesBy } from "../parts/form/frame.tsx";
import { MembersOnly } from "../parts/layout/members-only.tsx";
import { TRIGGERS } from "./automations.tsx";

interface Draft {
  name: string;
  trigger: Automation["triggerType"];
  config: Values;
}

type Made = Reply<"POST /api/v1/automations">;

export default function NewAutomation() {
  const [, go] = useLocation();
  const [draft, setDraft] = useState<Draft>({ name: "", trigger: "manual", config: { steps: [] } });
  const [problem, setProblem] = useState<string | null>(null);
  const [made, setMade] = useState<Made | null>(null);
  const put = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  const secretOf = (automation: Made) => (automation.config as { secret?: string }).secret;
  const create = useChange("POST /api/v1/automations", {
    touches: ["/automations"],
    tellsErrors: false,
    done: ({ name }) => `${name} created`,
    onDone: (automation) =>
      secretOf(automation) && !("secret" in draft.config)
        ? setMade(automation)
        : go(`/automations/${automation.id}`),
  });
  const messageFor = messagesBy(create.error);
  const last = useLastRun(null);
  const turn = (trigger: Draft["trigger"]) => {
    const { steps, concurrency, expect } = draft.config;
    const kept = Object.entries({ concurrency, expect }).filter(([, value]) => value !== undefined);
    put({ trigger, config: { ...startOf(trigger), ...Object.fromEntries(kept), steps } });
  };
  const save = () =>
    create.mutate({
      body: { name: draft.name, triggerType: draft.trigger, config: draft.config as never },
    });
  return (
    <>
      <PageHead title="New automation" from={[["/automations", "Automations"]]} />
      <MembersOnly title="You need the member role to create automations">
        <FormFrame
          title="Trigger"
          call={create}
          drawn={["name", "config"]}
          isReady={problem === null && stepsIn(draft.config).length > 0}
          verb="Create automation"
          onSend={save}
          more={
            <ConfigEditor
              trigger={draft.trigger}
              config={draft.config}
              onChange={(config) => put({ config })}
              onProblem={setProblem}
              faults={faultsOf(create.error)}
              last={last}
              stored={null}
            />
          }
        >
          <div className="grid gap-4 sm:grid-cols-2">
            <TextField
              label="Name"
              isRequired
              value={draft.name}
              onChange={(name) => put({ name })}
              fault={messageFor("name")}
              maxLength={255}
              autoFocus
            />
            <Labelled label="Trigger">
              {(wiring) => (
                <select
                  {...wiring}
                  className="field"
                  value={draft.trigger}
                  onChange={(event) => turn(event.target.value as Draft["trigger"])}
                >
                  {TRIGGERS.map(([id, name]) => (
                    <option key={id} value={id}>
                      {name}
                    </option>
                  ))}
                </select>
              )}
            </Labelled>
          </div>
        </FormFrame>
      </MembersOnly>
      {made && (
        <Dialog
          title="Save your signing secret"
          onClose={() => go(`/automations/${made.id}`)}
          foot={
            <Button kind="main" onClick={() => go(`/automations/${made.id}`)}>
              Done
            </Button>
          }
        >
          <p className="mb-3 text-soft">Senders use it to sign requests. {COPY_NOW}</p>
          <div className="flex items-center gap-2 rounded-md border border-line bg-ground px-3 py-2">
            <code className="min-w-0 grow font-mono text-xs break-all">{secretOf(made)}</code>
            <CopyButton text={secretOf(made) ?? ""} label="Copy signing secret" />
          </div>
        </Dialog>
      )}
    </>
  );
}
