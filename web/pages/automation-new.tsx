import { ArrowDown, ArrowUp, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import type { Automation, Reply } from "../calls.ts";
import { useApi, useChange } from "../data.ts";
import { Button, IconButton, LinkButton } from "../parts/button.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { FormFrame, toldBy } from "../parts/form-frame.tsx";
import { Graph, stepsOf } from "../parts/graph.tsx";
import { Labelled, TextField } from "../parts/labelled.tsx";
import { PageHead, Section } from "../parts/page.tsx";
import { TRIGGERS } from "./automations.tsx";

interface Draft {
  name: string;
  trigger: Automation["triggerType"];
  path: string;
  cron: string;
  timezone: string;
  types: string;
  steps: { key: string; actionId: string }[];
}

/** One after the other, each hanging on the one before. */
function configOf({ trigger, path, cron, timezone, types, steps }: Draft): Record<string, unknown> {
  return {
    ...(trigger === "webhook" ? { path } : {}),
    ...(trigger === "schedule" ? { schedule: { cron, timezone } } : {}),
    ...(trigger === "event" ? { event: { types: types.split(/[\s,]+/).filter(Boolean) } } : {}),
    steps: steps.map(({ key, actionId }, at) => ({
      key,
      actionId,
      ...(at > 0 ? { dependsOn: [steps[at - 1]?.key ?? ""] } : {}),
    })),
  };
}

type Made = Reply<"POST /api/v1/automations">;

export default function NewAutomation() {
  const [, go] = useLocation();
  const [draft, setDraft] = useState<Draft>({
    name: "",
    trigger: "manual",
    path: "",
    cron: "0 7 * * *",
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    types: "action.failed",
    steps: [],
  });
  const [made, setMade] = useState<Made | null>(null);
  const actions = useApi("GET /api/v1/actions", { query: { limit: 100, sort_by: "name", order: "asc" } });
  const put = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  const secretOf = (automation: Made) => (automation.config as { secret?: string }).secret;
  const create = useChange("POST /api/v1/automations", {
    touches: ["/automations"],
    tellsErrors: false,
    done: ({ name }) => `Created ${name}`,
    onDone: (automation) =>
      secretOf(automation) ? setMade(automation) : go(`/automations/${automation.id}`),
  });
  const told = toldBy(create.error);
  const found = actions.data?.actions ?? [];
  const slugOf = (id: string) => found.find((action) => action.id === id)?.slug ?? "step";
  const add = (actionId: string) => {
    const slug = slugOf(actionId);
    const taken = draft.steps.filter(({ key }) => key === slug || key.startsWith(`${slug}-`)).length;
    put({ steps: [...draft.steps, { actionId, key: taken === 0 ? slug : `${slug}-${taken + 1}` }] });
  };
  const move = (at: number, by: number) => {
    const steps = [...draft.steps];
    const [step] = steps.splice(at, 1);
    if (step) steps.splice(at + by, 0, step);
    put({ steps });
  };
  const save = () =>
    create.mutate({
      body: { name: draft.name, triggerType: draft.trigger, config: configOf(draft) as never },
    });
  return (
    <>
      <PageHead title="New automation" from={[["/automations", "Automations"]]} />
      <FormFrame
        title="When"
        call={create}
        drawn={["name", "config.path", "config.schedule", "config.event"]}
        isReady={draft.steps.length > 0}
        verb="Create the automation"
        onSend={save}
        more={
          <Section
            title="Steps, one after the other"
            aside={
              <select
                aria-label="Add an action as a step"
                className="field w-56"
                value=""
                onChange={(event) => add(event.target.value)}
              >
                <option value="">Add an action …</option>
                {found.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </select>
            }
          >
            {draft.steps.length === 0 ? (
              <div className="flex flex-wrap items-center gap-3 text-sm text-soft">
                {found.length === 0 ? (
                  <>
                    There are no actions to put in yet.
                    <LinkButton href="/actions/new" icon={Plus}>
                      Create an action
                    </LinkButton>
                  </>
                ) : (
                  "Add the actions that it runs. Branches, conditions and loops come in the editor, once it is created."
                )}
              </div>
            ) : (
              <>
                <ol className="mb-4 space-y-2">
                  {draft.steps.map(({ key, actionId }, at) => (
                    <li key={key} className="flex items-center gap-2 text-sm">
                      <span className="w-5 text-right text-faint tabular-nums">{at + 1}</span>
                      <span className="min-w-0 grow truncate">
                        {found.find(({ id }) => id === actionId)?.name}
                      </span>
                      <code className="font-mono text-xs text-soft">{key}</code>
                      <IconButton
                        icon={ArrowUp}
                        label="Earlier"
                        disabled={at === 0}
                        onClick={() => move(at, -1)}
                      />
                      <IconButton
                        icon={ArrowDown}
                        label="Later"
                        disabled={at === draft.steps.length - 1}
                        onClick={() => move(at, 1)}
                      />
                      <IconButton
                        icon={Trash2}
                        label="Take it out"
                        onClick={() => put({ steps: draft.steps.filter((_, index) => index !== at) })}
                      />
                    </li>
                  ))}
                </ol>
                <Graph steps={stepsOf(configOf(draft) as never)} />
              </>
            )}
          </Section>
        }
      >
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Name"
            isRequired
            value={draft.name}
            onChange={(name) => put({ name })}
            fault={told("name")}
            maxLength={255}
            autoFocus
          />
          <Labelled label="Trigger">
            {(wiring) => (
              <select
                {...wiring}
                className="field"
                value={draft.trigger}
                onChange={(event) => put({ trigger: event.target.value as Draft["trigger"] })}
              >
                {TRIGGERS.map(([id, name]) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </select>
            )}
          </Labelled>
          {draft.trigger === "webhook" && (
            <TextField
              label="Path"
              isRequired
              value={draft.path}
              onChange={(path) => put({ path })}
              fault={told("config", "path")}
              about="The last part of the address that webhooks are sent to. The secret that they are signed with is made, and shown once."
              placeholder="shop/orders"
            />
          )}
          {draft.trigger === "schedule" && (
            <>
              <TextField
                label="Cron"
                isRequired
                value={draft.cron}
                onChange={(cron) => put({ cron })}
                fault={told("config", "schedule", "cron")}
                about="Minute, hour, day of the month, month, day of the week."
              />
              <TextField
                label="Time zone"
                value={draft.timezone}
                onChange={(timezone) => put({ timezone })}
                fault={told("config", "schedule", "timezone")}
              />
            </>
          )}
          {draft.trigger === "event" && (
            <TextField
              label="Event types"
              isRequired
              value={draft.types}
              onChange={(types) => put({ types })}
              fault={told("config", "event")}
              about="Separated by commas; action.* stands for all that begin so."
            />
          )}
        </div>
      </FormFrame>
      {made && (
        <Dialog
          title="Keep the secret"
          onClose={() => go(`/automations/${made.id}`)}
          foot={
            <Button kind="main" onClick={() => go(`/automations/${made.id}`)}>
              I have it
            </Button>
          }
        >
          <p className="mb-3 text-soft">Senders sign with it. It is shown this once.</p>
          <div className="flex items-center gap-2 rounded-md border border-line bg-ground px-3 py-2">
            <code className="min-w-0 grow font-mono text-xs break-all">{secretOf(made)}</code>
            <CopyButton text={secretOf(made) ?? ""} label="Copy the secret" />
          </div>
        </Dialog>
      )}
    </>
  );
}
