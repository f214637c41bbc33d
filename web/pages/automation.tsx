import { ListChecks, Play, Trash2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { ApiError } from "../api.ts";
import type { Automation, AutomationRun } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Code } from "../parts/code.tsx";
import { Mono } from "../parts/copy.tsx";
import { Confirm, Dialog } from "../parts/dialog.tsx";
import { Faults } from "../parts/form.tsx";
import { Graph, stepsOf } from "../parts/graph.tsx";
import { TextField } from "../parts/labelled.tsx";
import { Empty, Facts, PageHead, Section, Shown, useTab } from "../parts/page.tsx";
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
  const tabs = useTab(
    (
      [
        ["runs", "Steps and runs"],
        ["webhook", "Webhook"],
        ["edit", "Editor"],
      ] as const
    ).filter(([id]) => id !== "webhook" || automation.webhookUrl !== null),
  );
  const [asks, setAsks] = useState<"run" | "delete" | null>(null);
  const isOff = automation.status === "disabled";
  const patch = useChange("PATCH /api/v1/automations/{automation_id}", {
    touches: ["/automations"],
    done: isOff ? "Enabled" : "Disabled: nothing triggers it",
  });
  return (
    <>
      <PageHead
        title={automation.name}
        from={[["/automations", "Automations"]]}
        beside={<Status status={automation.status} />}
        about={
          <>
            {automation.description && <p dir="auto">{automation.description}</p>}
            <span className="flex flex-wrap items-center gap-x-3">
              <span>{TRIGGERS.find(([id]) => id === automation.triggerType)?.[1]}</span>
              <Mono text={automation.slug} />
              {automation.nextRunAt && (
                <span>
                  next <When at={automation.nextRunAt} />
                </span>
              )}
            </span>
          </>
        }
      >
        {may && (
          <>
            <IconButton icon={Trash2} label="Delete the automation" onClick={() => setAsks("delete")} />
            <Button
              busy={patch.isPending}
              onClick={() =>
                patch.mutate({
                  path: { automation_id: automation.id },
                  body: { status: isOff ? "active" : "disabled" },
                })
              }
            >
              {isOff ? "Enable" : "Disable"}
            </Button>
            <Button kind="main" icon={Play} disabled={isOff} onClick={() => setAsks("run")}>
              Run
            </Button>
          </>
        )}
      </PageHead>
      {tabs.bar}
      {tabs.current === "runs" && <Runs automation={automation} />}
      {tabs.current === "webhook" && <Tester automation={automation} />}
      {tabs.current === "edit" && <Editor automation={automation} />}
      {asks === "run" && <RunDialog automation={automation} onClose={() => setAsks(null)} />}
      {asks === "delete" && <Delete automation={automation} onClose={() => setAsks(null)} />}
    </>
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
                <Pager
                  {...page}
                  shown={page.runs.length}
                  onOffset={(offset) => filters.set("offset", offset ? String(offset) : "")}
                />
              </>
            )
          }
        </Shown>
      </Section>
    </>
  );
}

function RunDialog({ automation, onClose }: { automation: Automation; onClose: () => void }) {
  const [, go] = useLocation();
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const run = useChange("POST /api/v1/automations/{automation_id}/run", {
    touches: ["/automation"],
    tellsErrors: false,
    onDone: ({ id }) => go(`/automation-runs/${id}`),
  });
  const start = () => {
    try {
      const input: unknown = text.trim() === "" ? undefined : JSON.parse(text);
      setProblem(null);
      run.mutate({
        path: { automation_id: automation.id },
        body: input === undefined ? {} : { input: input as never },
      });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : "This is not JSON.");
    }
  };
  return (
    <Dialog
      title={`Run ${automation.name}`}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>Not now</Button>
          <Button kind="main" icon={Play} busy={run.isPending} onClick={start}>
            Run
          </Button>
        </>
      }
    >
      <p className="mb-3 text-soft">
        The input, as JSON; steps read it as <code className="font-mono">{"{{input.…}}"}</code>.
      </p>
      <Code
        language="json"
        label="Input"
        value={text}
        onChange={setText}
        minHeight={110}
        onSubmit={start}
        isInvalid={problem !== null}
      />
      {(problem ?? run.error) && (
        <p role="alert" className="mt-2 text-xs text-bad">
          {problem ?? run.error?.message}
        </p>
      )}
    </Dialog>
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

function Editor({ automation }: { automation: Automation }) {
  const may = useMay("member");
  const [isDirty, setDirty] = useState(false);
  const held = useRef(automation);
  if (!isDirty) held.current = automation;
  return (
    <>
      {held.current.updatedAt !== automation.updatedAt && (
        <p role="status" className="mb-4 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
          Somebody changed this automation meanwhile; saving writes over the fields that you changed.
        </p>
      )}
      <EditorForm key={held.current.updatedAt} automation={held.current} mayChange={may} onDirty={setDirty} />
    </>
  );
}

interface EditorProps {
  automation: Automation;
  mayChange: boolean;
  onDirty: (isDirty: boolean) => void;
}

function EditorForm({ automation, mayChange, onDirty }: EditorProps) {
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
  const faults = save.error instanceof ApiError ? save.error.faults : [];
  const told = (field: string) => faults.find(({ loc }) => loc[1] === field && loc.length === 2)?.msg;
  const isChanged =
    name !== automation.name || description !== (automation.description ?? "") || text !== before;
  useEffect(() => onDirty(isChanged), [isChanged, onDirty]);
  const send = () => {
    if (!isChanged || config === null) return;
    save.mutate({
      path: { automation_id: automation.id },
      body: {
        ...(name === automation.name ? {} : { name }),
        ...(description === (automation.description ?? "") ? {} : { description: description || null }),
        ...(text === before ? {} : { config: config as never }),
      },
    });
  };
  const steps = config ? stepsOf(config as never) : [];
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Section
        title="Editor"
        aside={
          <>
            {isChanged && <span>Not saved</span>}
            <Button
              type="submit"
              kind="main"
              busy={save.isPending}
              disabled={!mayChange || !isChanged || problem !== null}
            >
              Save
            </Button>
          </>
        }
      >
        {save.error && faults.length === 0 && (
          <p role="alert" className="mb-4 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
            {save.error.message}
          </p>
        )}
        <Faults
          of={faults}
          drawn={[
            ["body", "name"],
            ["body", "description"],
          ]}
        />
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
          onSubmit={send}
          isInvalid={problem !== null}
        />
        {problem && <p className="mt-1 text-xs text-bad">{problem}</p>}
      </Section>
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
    </form>
  );
}
