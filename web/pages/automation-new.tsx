import { useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import type { Automation, Reply } from "../calls.ts";
import { useChange } from "../data.ts";
import { isOfSender, SenderAuth } from "../parts/automations/sender-auth.tsx";
import TriggerForm from "../parts/automations/trigger-form.tsx";
import { startOf } from "../parts/automations/trigger-schemas.ts";
import { Button } from "../parts/base/button.tsx";
import { CopyButton } from "../parts/base/copy.tsx";
import { Dialog } from "../parts/base/dialog.tsx";
import { Labelled, TextField } from "../parts/base/labelled.tsx";
import { PageHead } from "../parts/base/page.tsx";
import { copyNow } from "../parts/base/texts.ts";
import type { Values } from "../parts/form/form.tsx";
import { FormFrame, faultsOf, messagesBy } from "../parts/form/frame.tsx";
import { MembersOnly } from "../parts/layout/members-only.tsx";
import { folderIn, folderText } from "../parts/table/tags.tsx";
import { t } from "../texts/text.ts";
import { TRIGGERS } from "./automations.tsx";

interface Draft {
  name: string;
  trigger: Automation["triggerType"];
  config: Values;
}

type Made = Reply<"POST /api/v1/automations">;

const ABOUT: Readonly<Record<Automation["triggerType"], string>> = {
  manual: t("A person, the API or another automation starts it."),
  webhook: t("A signed HTTP request from another system starts it."),
  form: t("Each response to a form starts it."),
  schedule: t("It starts at the times of a schedule."),
  event: t("An event in Weir starts it, such as a failed run."),
};

/**
 * Form for the trigger of a new automation.
 * Steps are added on the canvas, and nothing runs before it is published there.
 */
export default function NewAutomation() {
  const [, go] = useLocation();
  const folder = folderIn(useSearchParams()[0]);
  const [draft, setDraft] = useState<Draft>({ name: "", trigger: "manual", config: {} });
  const [made, setMade] = useState<Made | null>(null);
  const put = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  const secretOf = (automation: Made) => (automation.config as { secret?: string }).secret;
  const edit = ({ id }: Made) => go(`/automations/${id}/edit`);
  const create = useChange("POST /api/v1/automations", {
    touches: ["/automations"],
    tellsErrors: false,
    done: ({ name }) => t("{name} created", { name }),
    onDone: (automation) =>
      secretOf(automation) && !("secret" in draft.config) ? setMade(automation) : edit(automation),
  });
  const messageFor = messagesBy(create.error);
  const choose = (trigger: Draft["trigger"]) => {
    const { concurrency, expect } = draft.config;
    const kept = Object.entries({ concurrency, expect }).filter(([, value]) => value !== undefined);
    put({ trigger, config: { ...startOf(trigger), ...Object.fromEntries(kept) } });
  };
  const save = () =>
    create.mutate({
      body: {
        name: draft.name,
        triggerType: draft.trigger,
        status: "draft",
        ...(folder === null ? {} : { tags: [folder] }),
        config: { ...draft.config, steps: [] } as never,
      },
    });
  return (
    <>
      <PageHead
        title={t("New automation")}
        from={[["/automations", t("Automations")]]}
        about={`${t("Choose what starts it. You add its steps next.")} ${folderText(folder)}`}
      />
      <MembersOnly title={t("You need the member role to create automations")}>
        <FormFrame
          title={t("Trigger")}
          call={create}
          drawn={["name", "config"]}
          isReady={draft.name.trim() !== ""}
          verb={t("Create automation")}
          onSend={save}
          more={
            draft.trigger === "webhook" && (
              <SenderAuth
                key={draft.trigger}
                config={draft.config}
                onChange={(config) => put({ config })}
                faults={faultsOf(create.error)}
                stored={null}
              />
            )
          }
        >
          <div className="mb-4 grid gap-4 sm:grid-cols-2">
            <TextField
              label={t("Name")}
              isRequired
              value={draft.name}
              onChange={(name) => put({ name })}
              fault={messageFor("name")}
              maxLength={255}
              autoFocus
            />
            <Labelled label={t("Trigger")} about={ABOUT[draft.trigger]}>
              {(wiring) => (
                <select
                  {...wiring}
                  className="field"
                  value={draft.trigger}
                  onChange={(event) => choose(event.target.value as Draft["trigger"])}
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
          <TriggerForm
            trigger={draft.trigger}
            config={draft.config}
            onChange={(config) => put({ config })}
            faults={faultsOf(create.error).filter(
              (fault) => draft.trigger !== "webhook" || !isOfSender(fault, draft.config),
            )}
          />
        </FormFrame>
      </MembersOnly>
      {made && (
        <Dialog
          title={t("Save your signing secret")}
          onClose={() => edit(made)}
          foot={
            <Button kind="main" onClick={() => edit(made)}>
              {t("Done")}
            </Button>
          }
        >
          <p className="mb-3 text-soft">
            {t("Senders use it to sign requests.")} {copyNow()}
          </p>
          <div className="flex items-center gap-2 rounded-md border border-line bg-ground px-3 py-2">
            <code className="min-w-0 grow font-mono text-xs break-all">{secretOf(made)}</code>
            <CopyButton text={secretOf(made) ?? ""} label={t("Copy signing secret")} />
          </div>
        </Dialog>
      )}
    </>
  );
}
