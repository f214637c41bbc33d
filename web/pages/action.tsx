import { Play } from "lucide-react";
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import type { Action, ActionKindInfo } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { Button } from "../parts/button.tsx";
import { ConnectionChoice } from "../parts/connection-choice.tsx";
import { Mono } from "../parts/copy.tsx";
import { DefinitionEditor } from "../parts/definition.tsx";
import { Detail, Held, RunDialog, SwitchAndRun } from "../parts/detail.tsx";
import { Confirm } from "../parts/dialog.tsx";
import type { Values } from "../parts/form.tsx";
import { FormFrame, faultsOf, NameFields, toldBy } from "../parts/form-frame.tsx";
import { Empty, Facts, Section, Shown } from "../parts/page.tsx";
import { RunTable } from "../parts/run-table.tsx";
import { Pager, useFilters } from "../parts/table.tsx";
import { When } from "../parts/time.tsx";
import { Tree } from "../parts/tree.tsx";

const LIMIT = 25;

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
  const isOff = action.status === "disabled";
  const patch = useChange("PATCH /api/v1/actions/{action_id}", {
    touches: ["/actions"],
    done: isOff ? "Enabled" : "Disabled",
  });
  return (
    <Detail
      noun="action"
      from={["/actions", "Actions"]}
      of={action}
      what={kind?.title ?? action.kind}
      deeds={
        <SwitchAndRun
          isOff={isOff}
          isBusy={patch.isPending}
          onSwitch={(status) => patch.mutate({ path: { action_id: action.id }, body: { status } })}
          dialog={(onClose) => <Run action={action} onClose={onClose} />}
        />
      }
      remove={(onClose) => <Delete action={action} onClose={onClose} />}
      tabs={[
        [
          "definition",
          "Definition",
          () => (
            <Held noun="action" of={action}>
              {(held, onDirty) => <Edit action={held} kind={kind} onDirty={onDirty} />}
            </Held>
          ),
        ],
        ["runs", "Runs", () => <Runs id={action.id} />],
        ["state", "State", action.kind === "dlt_extract" && (() => <State id={action.id} />)],
      ]}
    />
  );
}

interface EditProps {
  action: Action;
  kind: ActionKindInfo | null;
  onDirty: (isDirty: boolean) => void;
}

function Edit({ action, kind, onDirty }: EditProps) {
  const may = useMay("member");
  const { name, slug } = action;
  const [named, setNamed] = useState({ name, slug });
  const [connectionId, setConnectionId] = useState(action.connectionId ?? "");
  const [definition, setDefinition] = useState<Values>(action.definition);
  const [problem, setProblem] = useState<string | null>(null);
  const save = useChange("PATCH /api/v1/actions/{action_id}", {
    touches: ["/actions"],
    tellsErrors: false,
    done: "Saved",
    onDone: () => onDirty(false),
  });
  const told = toldBy(save.error);
  const body = {
    ...(named.name === name ? {} : { name: named.name }),
    ...(named.slug === slug ? {} : { slug: named.slug }),
    ...(connectionId === (action.connectionId ?? "") ? {} : { connectionId: connectionId || null }),
    ...(JSON.stringify(definition) === JSON.stringify(action.definition)
      ? {}
      : { definition: definition as never }),
  };
  const isChanged = Object.keys(body).length > 0;
  useEffect(() => onDirty(isChanged), [isChanged, onDirty]);
  if (!kind || !may) {
    return (
      <Section title="Definition">
        <Tree value={action.definition} label="the definition" />
      </Section>
    );
  }
  return (
    <FormFrame
      title="Definition"
      call={save}
      drawn={["name", "slug", "connectionId", "definition"]}
      isChanged={isChanged}
      isReady={problem === null}
      onSend={() => save.mutate({ path: { action_id: action.id }, body })}
      more={
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
      }
    >
      <NameFields value={named} onChange={setNamed} told={told}>
        {(kind.providers.length > 0 || connectionId) && (
          <ConnectionChoice
            kind={kind}
            value={connectionId}
            onChange={setConnectionId}
            fault={told("connectionId")}
          />
        )}
      </NameFields>
      <DefinitionEditor
        kind={kind}
        value={definition}
        onChange={setDefinition}
        onProblem={setProblem}
        faults={faultsOf(save.error)}
      />
    </FormFrame>
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
              <Pager {...page} shown={page.runs.length} />
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

function Run({ action, onClose }: { action: Action; onClose: () => void }) {
  const [, go] = useLocation();
  const run = useChange("POST /api/v1/actions/{action_id}/run", {
    touches: ["/action-runs", "/actions"],
    tellsErrors: false,
    onDone: ({ id }) => go(`/runs/${id}`),
  });
  return (
    <RunDialog
      name={action.name}
      about="Runs with its definition as it is saved. What you write here is merged over it, for this run only; null takes a field away."
      label="Overrides"
      run={run}
      onRun={(overrides = null) =>
        run.mutate({ path: { action_id: action.id }, body: { definitionOverrides: overrides as never } })
      }
      onClose={onClose}
    >
      <details className="mt-4">
        <summary className="text-soft">The definition</summary>
        <div className="mt-2">
          <Tree value={action.definition} label="the definition" />
        </div>
      </details>
    </RunDialog>
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
