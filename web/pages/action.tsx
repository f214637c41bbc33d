import { Play, Trash2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { ApiError } from "../api.ts";
import type { Action, ActionKindInfo } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Code } from "../parts/code.tsx";
import { ConnectionChoice } from "../parts/connection-choice.tsx";
import { Mono } from "../parts/copy.tsx";
import { DefinitionEditor } from "../parts/definition.tsx";
import { Confirm, Dialog } from "../parts/dialog.tsx";
import { Faults, type Values } from "../parts/form.tsx";
import { TextField } from "../parts/labelled.tsx";
import { Empty, Facts, PageHead, Section, Shown, useTab } from "../parts/page.tsx";
import { RunTable } from "../parts/run-table.tsx";
import { Status } from "../parts/status.tsx";
import { Pager, useFilters } from "../parts/table.tsx";
import { When } from "../parts/time.tsx";
import { Tree } from "../parts/tree.tsx";

const LIMIT = 25;
const TABS = [
  ["definition", "Definition"],
  ["runs", "Runs"],
  ["state", "State"],
] as const;

export default function ActionPage({ id }: { id: string }) {
  const action = useApi("GET /api/v1/actions/{action_id}", { path: { action_id: id } });
  const kinds = useApi("GET /api/v1/action-kinds", {}, { isFixed: true });
  return (
    <Shown of={action}>
      {(data) => (
        <Shown of={kinds}>
          {({ kinds: all }) => (
            <Whole action={data} kind={all.find(({ kind }) => kind === data.kind) ?? null} />
          )}
        </Shown>
      )}
    </Shown>
  );
}

function Whole({ action, kind }: { action: Action; kind: ActionKindInfo | null }) {
  const may = useMay("member");
  const tabs = useTab(TABS.filter(([id]) => id !== "state" || action.kind === "dlt_extract"));
  const [asks, setAsks] = useState<"run" | "delete" | null>(null);
  const isOff = action.status === "disabled";
  // What is being typed is not thrown away when somebody else saves meanwhile.
  const [isDirty, setDirty] = useState(false);
  const held = useRef(action);
  if (!isDirty) held.current = action;
  const patch = useChange("PATCH /api/v1/actions/{action_id}", {
    touches: ["/actions"],
    done: isOff ? "Enabled" : "Disabled",
  });
  return (
    <>
      <PageHead
        title={action.name}
        from={[["/actions", "Actions"]]}
        beside={<Status status={action.status} />}
        about={
          <span className="flex flex-wrap items-center gap-x-3">
            <span>{kind?.title ?? action.kind}</span>
            <Mono text={action.slug} />
          </span>
        }
      >
        {may && (
          <>
            <IconButton icon={Trash2} label="Delete the action" onClick={() => setAsks("delete")} />
            <Button
              busy={patch.isPending}
              onClick={() =>
                patch.mutate({
                  path: { action_id: action.id },
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
      {tabs.current === "definition" && (
        <>
          {held.current.updatedAt !== action.updatedAt && (
            <p role="status" className="mb-4 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
              Somebody changed this action meanwhile; saving writes over the fields that you changed.
            </p>
          )}
          <Edit key={held.current.updatedAt} action={held.current} kind={kind} onDirty={setDirty} />
        </>
      )}
      {tabs.current === "runs" && <Runs id={action.id} />}
      {tabs.current === "state" && <State id={action.id} />}
      {asks === "run" && <RunDialog action={action} onClose={() => setAsks(null)} />}
      {asks === "delete" && <Delete action={action} onClose={() => setAsks(null)} />}
    </>
  );
}

const DRAWN = [
  ["body", "name"],
  ["body", "slug"],
  ["body", "connectionId"],
  ["body", "definition"],
];

interface EditProps {
  action: Action;
  kind: ActionKindInfo | null;
  onDirty: (isDirty: boolean) => void;
}

function Edit({ action, kind, onDirty }: EditProps) {
  const may = useMay("member");
  const [name, setName] = useState(action.name);
  const [slug, setSlug] = useState(action.slug);
  const [connectionId, setConnectionId] = useState(action.connectionId ?? "");
  const [definition, setDefinition] = useState<Values>(action.definition);
  const [problem, setProblem] = useState<string | null>(null);
  const save = useChange("PATCH /api/v1/actions/{action_id}", {
    touches: ["/actions"],
    tellsErrors: false,
    done: "Saved",
    onDone: () => onDirty(false),
  });
  const faults = save.error instanceof ApiError ? save.error.faults : [];
  const told = (field: string) => faults.find(({ loc }) => loc[1] === field && loc.length === 2)?.msg;
  const isChanged =
    name !== action.name ||
    slug !== action.slug ||
    connectionId !== (action.connectionId ?? "") ||
    JSON.stringify(definition) !== JSON.stringify(action.definition);
  useEffect(() => onDirty(isChanged), [isChanged, onDirty]);
  if (!kind || !may) {
    return (
      <Section title="Definition">
        <Tree value={action.definition} label="the definition" />
      </Section>
    );
  }
  const send = () =>
    save.mutate({
      path: { action_id: action.id },
      body: {
        ...(name === action.name ? {} : { name }),
        ...(slug === action.slug ? {} : { slug }),
        ...(connectionId === (action.connectionId ?? "") ? {} : { connectionId: connectionId || null }),
        ...(JSON.stringify(definition) === JSON.stringify(action.definition)
          ? {}
          : { definition: definition as never }),
      },
    });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => (event.ctrlKey || event.metaKey) && event.key === "Enter" && isChanged && send()}
    >
      <Section
        title="Definition"
        aside={
          <>
            {isChanged && <span>Not saved</span>}
            <Button type="submit" kind="main" busy={save.isPending} disabled={!isChanged || problem !== null}>
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
        <Faults of={faults} drawn={DRAWN} />
        <div className="mb-5 grid gap-4 sm:grid-cols-2">
          <TextField
            label="Name"
            isRequired
            value={name}
            onChange={setName}
            fault={told("name")}
            maxLength={255}
          />
          <TextField
            label="Slug"
            isRequired
            value={slug}
            onChange={setSlug}
            fault={told("slug")}
            maxLength={100}
          />
          {(kind.providers.length > 0 || connectionId) && (
            <ConnectionChoice
              kind={kind}
              value={connectionId}
              onChange={setConnectionId}
              fault={told("connectionId")}
            />
          )}
        </div>
        <DefinitionEditor
          kind={kind}
          value={definition}
          onChange={setDefinition}
          onProblem={setProblem}
          faults={faults}
        />
      </Section>
      <Section title="Facts">
        <Facts
          of={[
            ["Id", <Mono key="id" text={action.id} />],
            [
              "Connection",
              action.connectionId ? (
                <Link
                  key="c"
                  href={`/connections/${action.connectionId}`}
                  className="text-accent hover:underline"
                >
                  Open it
                </Link>
              ) : (
                "None"
              ),
            ],
            ["Created", <When key="made" at={action.createdAt} />],
            ["Changed", <When key="changed" at={action.updatedAt} />],
          ]}
        />
      </Section>
    </form>
  );
}

function Runs({ id }: { id: string }) {
  const filters = useFilters();
  const runs = useApi(
    "GET /api/v1/action-runs",
    { query: { action_id: id, limit: LIMIT, offset: filters.offset } },
    { keep: true },
  );
  return (
    <div className="card">
      <Shown of={runs}>
        {(page) =>
          page.runs.length === 0 ? (
            <Empty icon={Play} title="It has not run yet">
              Press Run to try it.
            </Empty>
          ) : (
            <>
              <RunTable runs={page.runs} hidesAction />
              <Pager
                {...page}
                shown={page.runs.length}
                onOffset={(offset) => filters.set("offset", offset ? String(offset) : "")}
              />
            </>
          )
        }
      </Shown>
    </div>
  );
}

function State({ id }: { id: string }) {
  const state = useApi("GET /api/v1/actions/{action_id}/state", { path: { action_id: id } });
  const reset = useChange("POST /api/v1/actions/{action_id}/state/reset", {
    touches: ["/state"],
    done: "The next run begins anew",
  });
  const [asks, setAsks] = useState(false);
  return (
    <Section
      title="Cursors"
      aside={
        <Button kind="quiet" onClick={() => setAsks(true)}>
          Reset
        </Button>
      }
    >
      <Shown of={state}>{({ resources }) => <Tree value={resources} label="the cursors" />}</Shown>
      {asks && (
        <Confirm
          title="Reset the cursors?"
          verb="Reset"
          isBusy={reset.isPending}
          onClose={() => setAsks(false)}
          onConfirm={() =>
            reset.mutate({ path: { action_id: id }, body: {} }, { onSettled: () => setAsks(false) })
          }
        >
          <p>The next run reads everything from the start. What append has loaded is loaded once more.</p>
        </Confirm>
      )}
    </Section>
  );
}

function RunDialog({ action, onClose }: { action: Action; onClose: () => void }) {
  const [, go] = useLocation();
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const run = useChange("POST /api/v1/actions/{action_id}/run", {
    touches: ["/action-runs", "/actions"],
    tellsErrors: false,
    onDone: ({ id }) => go(`/runs/${id}`),
  });
  const start = () => {
    let overrides: unknown;
    try {
      overrides = text.trim() === "" ? null : JSON.parse(text);
    } catch (error) {
      return setProblem(error instanceof Error ? error.message : "This is not JSON.");
    }
    setProblem(null);
    run.mutate({ path: { action_id: action.id }, body: { definitionOverrides: overrides as never } });
  };
  return (
    <Dialog
      title={`Run ${action.name}`}
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
        Runs with its definition as it is saved. What you write here is merged over it, for this run only;
        null takes a field away.
      </p>
      <Code
        language="json"
        label="Overrides"
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
      <details className="mt-4">
        <summary className="text-soft">The definition</summary>
        <div className="mt-2">
          <Tree value={action.definition} label="the definition" />
        </div>
      </details>
    </Dialog>
  );
}

function Delete({ action, onClose }: { action: Action; onClose: () => void }) {
  const [, go] = useLocation();
  const runs = useApi("GET /api/v1/action-runs", { query: { action_id: action.id, limit: 1 } });
  const automations = useApi("GET /api/v1/automations", { query: { limit: 100 } });
  const users = (automations.data?.automations ?? []).filter(({ config }) =>
    JSON.stringify(config).includes(action.id),
  );
  const remove = useChange("DELETE /api/v1/actions/{action_id}", {
    touches: ["/actions"],
    done: `Deleted ${action.name}`,
    onDone: () => go("/actions"),
  });
  return (
    <Confirm
      title={`Delete ${action.name}?`}
      verb="Delete"
      isBusy={remove.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { action_id: action.id } }, { onError: onClose })}
    >
      <p>
        {runs.data && runs.data.total > 0
          ? `Its ${runs.data.total} runs stay readable. The action itself can't be had back.`
          : "It can't be had back."}
      </p>
      {users.length > 0 && (
        <div>
          <p>These automations use it:</p>
          <ul className="mt-1 list-disc pl-5">
            {users.map(({ id, name }) => (
              <li key={id}>{name}</li>
            ))}
          </ul>
        </div>
      )}
    </Confirm>
  );
}
