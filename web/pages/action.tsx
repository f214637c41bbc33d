import { Play } from "lucide-react";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import type { Action, ActionKindInfo } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { DeleteAction, RunAction } from "../parts/actions/dialogs.tsx";
import { ActionPaths } from "../parts/actions/paths.tsx";
import { ActionState } from "../parts/actions/state.tsx";
import { useActionKinds } from "../parts/base/action-kinds.ts";
import { Mono } from "../parts/base/copy.tsx";
import { Empty, Facts, Section, Shown } from "../parts/base/page.tsx";
import { When } from "../parts/base/time.tsx";
import { Tree } from "../parts/base/tree.tsx";
import { ConnectionChoice } from "../parts/connections/choice.tsx";
import { DefinitionEditor } from "../parts/form/definition.tsx";
import type { Values } from "../parts/form/form.tsx";
import { FormFrame, faultsOf, messagesBy, NameFields } from "../parts/form/frame.tsx";
import { Detail, Held, SwitchAndRun } from "../parts/layout/detail.tsx";
import { RunTable } from "../parts/runs/table.tsx";
import { Pager, useFilters } from "../parts/table/table.tsx";
import { TagChips, TagsField } from "../parts/table/tags.tsx";
import { t } from "../texts/text.ts";

const LIMIT = 25;

export default function ActionPage({ id }: { id: string }) {
  const action = useApi("GET /api/v1/actions/{action_id}", { path: { action_id: id } });
  const kinds = useActionKinds();
  return (
    <Shown of={action} isPage>
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
    done: isOff ? t("Action enabled") : t("Action disabled"),
  });
  return (
    <Detail
      deleteLabel={t("Delete action")}
      from={["/actions", t("Actions")]}
      of={action}
      what={kind?.title ?? action.kind}
      known={action.tags.length > 0 && <TagChips tags={action.tags} />}
      actions={
        <SwitchAndRun
          isOff={isOff}
          isBusy={patch.isPending}
          onSwitch={(status) => patch.mutate({ path: { action_id: action.id }, body: { status } })}
          dialog={(onClose) => <RunAction action={action} onClose={onClose} />}
        />
      }
      remove={(onClose) => <DeleteAction action={action} onClose={onClose} />}
      tabs={[
        [
          "definition",
          t("Definition"),
          () => (
            <Held of={action}>
              {(base, onDirty) => (
                <ActionPaths actionId={base.id}>
                  <Edit action={base} kind={kind} onDirty={onDirty} />
                </ActionPaths>
              )}
            </Held>
          ),
        ],
        ["runs", t("Runs"), () => <Runs id={action.id} />],
        ["state", t("State"), action.kind === "dlt_extract" && (() => <ActionState id={action.id} />)],
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
  const [tags, setTags] = useState(action.tags);
  const [definition, setDefinition] = useState<Values>(action.definition);
  const [problem, setProblem] = useState<string | null>(null);
  const save = useChange("PATCH /api/v1/actions/{action_id}", {
    basedOn: action,
    touches: ["/actions", "/tags"],
    tellsErrors: false,
    done: t("Action saved"),
    onDone: () => onDirty(false),
  });
  const messageFor = messagesBy(save.error);
  const body = {
    ...(named.name === name ? {} : { name: named.name }),
    ...(named.slug === slug ? {} : { slug: named.slug }),
    ...(JSON.stringify(tags) === JSON.stringify(action.tags) ? {} : { tags }),
    ...(connectionId === (action.connectionId ?? "") ? {} : { connectionId: connectionId || null }),
    ...(JSON.stringify(definition) === JSON.stringify(action.definition)
      ? {}
      : { definition: definition as never }),
  };
  const isChanged = Object.keys(body).length > 0;
  useEffect(() => onDirty(isChanged), [isChanged, onDirty]);
  if (!kind || !may) {
    return (
      <Section title={t("Definition")}>
        <Tree value={action.definition} copyLabel={t("Copy definition as JSON")} />
      </Section>
    );
  }
  return (
    <FormFrame
      title={t("Definition")}
      call={save}
      drawn={["name", "slug", "connectionId", "tags", "definition"]}
      isChanged={isChanged}
      isReady={problem === null}
      onSend={() => save.mutate({ path: { action_id: action.id }, body })}
      more={
        <Section title={t("Details")}>
          <Facts
            of={[
              ["ID", <Mono key="id" text={action.id} />],
              [
                t("Connection"),
                action.connectionId ? (
                  <Link
                    key="c"
                    href={`/connections/${action.connectionId}`}
                    className="text-accent hover:underline"
                  >
                    {t("Open connection")}
                  </Link>
                ) : (
                  t("None")
                ),
              ],
              [t("Created"), <When key="made" at={action.createdAt} />],
              [t("Updated"), <When key="changed" at={action.updatedAt} />],
            ]}
          />
        </Section>
      }
    >
      <NameFields value={named} onChange={setNamed} messageFor={messageFor}>
        {(kind.providers.length > 0 || connectionId) && (
          <ConnectionChoice
            kind={kind}
            value={connectionId}
            onChange={setConnectionId}
            fault={messageFor("connectionId")}
          />
        )}
        <TagsField tags={tags} onChange={setTags} fault={messageFor("tags")} />
      </NameFields>
      <DefinitionEditor
        kind={kind}
        connectionId={connectionId}
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
            <Empty icon={Play} title={t("No runs yet")}>
              {t("Select Run to start one.")}
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
