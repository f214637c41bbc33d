import { ListChecks } from "lucide-react";
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import type { Automation, AutomationRun } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { Code } from "../parts/code.tsx";
import { Mono } from "../parts/copy.tsx";
import { Detail, Held, RunDialog, SwitchAndRun } from "../parts/detail.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { FormFrame, toldBy } from "../parts/form-frame.tsx";
import { Graph, stepsOf } from "../parts/graph.tsx";
import { TextField } from "../parts/labelled.tsx";
import { Empty, Facts, Section, Shown } from "../parts/page.tsx";
import { Status } from "../parts/status.tsx";
import { Step } from "../parts/step.tsx";
import { type Column, Pager, Table, useFilters } from "../parts/table.tsx";
import { Tester } from "../parts/tester.tsx";
import { inWords, When } from "../parts/time.tsx";
import { TRIGGERS } from "./automations.tsx";

const LIMIT = 25;

export default function AutomationPage({ id }: { id: string }) {
  const automation = useApi("GET /api/v1/automations/{automation_id}", { path: { automation_id: id } });
  return <Shown of={automation}>{(data) => <Whole automation={data} />}</Shown>;
}

function Whole({ automation }: { automation: Automation }) {
  const may = useMay("member");
  const isOff = automation.status === "disabled";
  const patch = useChange("PATCH /api/v1/automations/{automation_id}", {
    touches: ["/automations"],
    done: isOff ? "Enabled" : "Disabled: nothing triggers it",
  });
  return (
    <Detail
      noun="automation"
      from={["/automations", "Automations"]}
      of={automation}
      about={automation.description && <p dir="auto">{automation.description}</p>}
      what={TRIGGERS.find(([id]) => id === automation.triggerType)?.[1]}
      known={
        automation.nextRunAt && (
          <>
            next <When at={automation.nextRunAt} />
          </>
        )
      }
      deeds={
        <SwitchAndRun
          isOff={isOff}
          isBusy={patch.isPending}
          onSwitch={(status) => patch.mutate({ path: { automation_id: automation.id }, body: { status } })}
          dialog={(onClose) => <Run automation={automation} onClose={onClose} />}
        />
      }
      remove={(onClose) => <Delete automation={automation} onClose={onClose} />}
      tabs={[
        ["runs", "Steps and runs", () => <Runs automation={automation} />],
        ["webhook", "Webhook", automation.webhookUrl !== null && (() => <Tester automation={automation} />)],
        [
          "edit",
          "Editor",
          () => (
            <Held noun="automation" of={automation}>
              {(held, onDirty) => <Editor automation={held} mayChange={may} onDirty={onDirty} />}
            </Held>
          ),
        ],
      ]}
    />
  );
}

const tookOf = ({ startedAt, completedAt }: AutomationRun) =>
  startedAt && completedAt ? inWords((Date.parse(completedAt) - Date.parse(startedAt)) / 1000) : "–";

const COLUMNS: readonly Column<AutomationRun>[] = [
  { name: "Run", cell: ({ id }) => <code className="font-mono text-xs">{id.slice(-12)}</code> },
  { name: "Status", cell: ({ status, displayStatus }) => <Status status={status} label={displayStatus} /> },
  {
    name: "Steps",
    isMinor: true,
    isWide: true,
    cell: ({ steps, error }) => (
      <span className="block truncate text-soft">
        {(error as { message?: string } | null)?.message ??
          `${steps.filter(({ status }) => status === "completed").length} of ${steps.length} completed`}
      </span>
    ),
  },
  {
    name: "Trigger",
    isMinor: true,
    cell: ({ triggerMethod }) => <span className="text-soft">{triggerMethod}</span>,
  },
  { name: "Took", isRight: true, isMinor: true, cell: tookOf },
  { name: "Created", isRight: true, cell: ({ createdAt }) => <When at={createdAt} /> },
];

function Runs({ automation }: { automation: Automation }) {
  const filters = useFilters();
  const [chosen, setChosen] = useState<string | null>(null);
  const path = { automation_id: automation.id };
  const runs = useApi(
    "GET /api/v1/automations/{automation_id}/runs",
    { path, query: { limit: LIMIT, offset: filters.offset } },
    { keep: true },
  );
  const steps = stepsOf(automation.config);
  const step = steps.find(({ key }) => key === chosen);
  const latest = filters.offset === 0 ? (runs.data?.runs[0] ?? null) : null;
  return (
    <>
      <Section title="Steps" flush aside={latest && <span>as the latest run left them</span>}>
        {steps.length > 0 ? (
          <Graph
            steps={steps}
            run={latest}
            chosen={chosen}
            onChoose={(key) => setChosen(key === chosen ? null : key)}
          />
        ) : (
          <p className="p-4 text-sm text-soft">It has no steps.</p>
        )}
        {step && <Step step={step} state={latest?.steps.find(({ key }) => key === step.key) ?? null} />}
      </Section>
      <Section title="Runs" flush>
        <Shown of={runs}>
          {(page) =>
            page.runs.length === 0 ? (
              <Empty icon={ListChecks} title="It has not run yet">
                {automation.webhookUrl
                  ? "Send it a webhook from the tab Webhook, or press Run."
                  : "Press Run to try it."}
              </Empty>
            ) : (
              <>
                <Table
                  label="Runs"
                  columns={COLUMNS}
                  rows={page.runs}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/automation-runs/${id}`}
                />
                <Pager {...page} shown={page.runs.length} />
              </>
            )
          }
        </Shown>
      </Section>
    </>
  );
}

function Run({ automation, onClose }: { automation: Automation; onClose: () => void }) {
  const [, go] = useLocation();
  const run = useChange("POST /api/v1/automations/{automation_id}/run", {
    touches: ["/automation"],
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

function Delete({ automation, onClose }: { automation: Automation; onClose: () => void }) {
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

/** Fields that the server adds to a config and doesn't take back. */
const withoutSecret = ({ secret: _, ...config }: Record<string, unknown>) => config;

interface EditorProps {
  automation: Automation;
  mayChange: boolean;
  onDirty: (isDirty: boolean) => void;
}

function Editor({ automation, mayChange, onDirty }: EditorProps) {
  const before = JSON.stringify(withoutSecret(automation.config), null, 2);
  const [name, setName] = useState(automation.name);
  const [description, setDescription] = useState(automation.description ?? "");
  const [text, setText] = useState(before);
  const save = useChange("PATCH /api/v1/automations/{automation_id}", {
    touches: ["/automations"],
    tellsErrors: false,
    done: "Saved",
    onDone: () => onDirty(false),
  });
  let config: Record<string, unknown> | null = null;
  let problem: string | null = null;
  try {
    config = JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    problem = error instanceof Error ? error.message : "This is not JSON.";
  }
  const told = toldBy(save.error);
  const body = {
    ...(name === automation.name ? {} : { name }),
    ...(description === (automation.description ?? "") ? {} : { description: description || null }),
    ...(text === before ? {} : { config: config as never }),
  };
  const isChanged = Object.keys(body).length > 0;
  useEffect(() => onDirty(isChanged), [isChanged, onDirty]);
  const steps = config ? stepsOf(config as never) : [];
  return (
    <FormFrame
      title="Editor"
      call={save}
      drawn={["name", "description"]}
      isChanged={isChanged}
      isReady={mayChange && config !== null}
      onSend={() => save.mutate({ path: { automation_id: automation.id }, body })}
      more={
        <>
          {Array.isArray(steps) && steps.length > 0 && (
            <Section title="As it will be" flush>
              <Graph steps={steps} />
            </Section>
          )}
          <Section title="Facts">
            <Facts
              of={[
                ["Id", <Mono key="id" text={automation.id} />],
                ["Created", <When key="made" at={automation.createdAt} />],
                ["Changed", <When key="changed" at={automation.updatedAt} />],
                [
                  "Events",
                  <Link
                    key="events"
                    href={`/events?entityId=${automation.id}`}
                    className="text-accent hover:underline"
                  >
                    Everything about it
                  </Link>,
                ],
              ]}
            />
          </Section>
        </>
      }
    >
      <div className="mb-4 grid gap-4 sm:grid-cols-2">
        <TextField
          label="Name"
          isRequired
          value={name}
          onChange={setName}
          fault={told("name")}
          maxLength={255}
        />
        <TextField
          label="Description"
          value={description}
          onChange={setDescription}
          fault={told("description")}
          maxLength={2048}
        />
      </div>
      <p className="mb-1 text-sm font-medium">Trigger, steps and conditions</p>
      <Code
        language="json"
        label="Config"
        value={text}
        onChange={setText}
        minHeight={300}
        onSubmit={() => undefined} // the form around it hears the key
        isInvalid={problem !== null}
      />
      {problem && <p className="mt-1 text-xs text-bad">{problem}</p>}
    </FormFrame>
  );
}
