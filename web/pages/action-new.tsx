import { useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { call } from "../api.ts";
import type { ActionKindInfo, Connection } from "../calls.ts";
import { useApi, useChange } from "../data.ts";
import { useActionKinds } from "../parts/base/action-kinds.ts";
import { KindTile } from "../parts/base/kind-icons.tsx";
import { Loading, PageHead, Section, Shown } from "../parts/base/page.tsx";
import { notify } from "../parts/base/toast.tsx";
import { ConnectionChoice } from "../parts/connections/choice.tsx";
import { nameOfSpec } from "../parts/connections/load-link.tsx";
import { DefinitionEditor } from "../parts/form/definition.tsx";
import type { Values } from "../parts/form/form.tsx";
import { FormFrame, faultsOf, messagesBy, NameFields } from "../parts/form/frame.tsx";
import { startValue } from "../parts/form/schema.ts";
import { MembersOnly } from "../parts/layout/members-only.tsx";
import { folderIn, folderText } from "../parts/table/tags.tsx";
import { t } from "../texts/text.ts";

/** The action was created, and can be run again from its page. */
function tell(error: unknown): null {
  notify(error instanceof Error ? error.message : t("Couldn't run the action."), "bad");
  return null;
}

export default function NewAction() {
  const [search, setSearch] = useSearchParams();
  const kinds = useActionKinds();
  const kindName = search.get("kind");
  const spec = search.get("spec");
  const folder = folderIn(search);
  const source = useApi(
    "GET /api/v1/connections/{connection_id}",
    { path: { connection_id: search.get("connection") ?? "" } },
    { enabled: spec !== null && search.has("connection") },
  );
  return (
    <>
      <PageHead title={t("New action")} from={[["/actions", t("Actions")]]} about={folderText(folder)} />
      <MembersOnly title={t("You need the member role to create actions")}>
        <Shown of={kinds}>
          {({ kinds: all }) => {
            const kind = all.find((each) => each.kind === kindName);
            if (kind && source.isLoading) return <Loading rows={6} />;
            return kind ? (
              <NewOf
                key={kind.kind}
                kind={kind}
                connectionId={search.get("connection")}
                spec={spec}
                folder={folder}
                isMerged={search.get("write") === "merge"}
                source={source.data ?? null}
              />
            ) : (
              <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
                {all.map(({ kind: name, title, description }) => (
                  <li key={name}>
                    <button
                      type="button"
                      onClick={() =>
                        setSearch((before) => {
                          before.set("kind", name);
                          return before;
                        })
                      }
                      className="card flex size-full flex-col px-4 py-3 text-left hover:border-accent"
                    >
                      <span className="flex items-center gap-2.5">
                        <KindTile kind={name} />
                        <span className="min-w-0 font-medium">{title}</span>
                      </span>
                      <span className="mt-1 block text-sm text-soft">{description}</span>
                      <code className="mt-auto block pt-2 font-mono text-xs text-faint">{name}</code>
                    </button>
                  </li>
                ))}
              </ul>
            );
          }}
        </Shown>
      </MembersOnly>
    </>
  );
}

interface Props {
  kind: ActionKindInfo;
  connectionId: string | null;
  /** The table or file to extract. */
  spec: string | null;
  /** Destination folder. */
  folder: string | null;
  /** True if rows of `spec` replace those with the same key. */
  isMerged: boolean;
  /** The connection that contains `spec`. */
  source: Connection | null;
}

/** A valid dataset name: lowercase letters, digits and `_`, starting with a letter. */
const datasetOf = ({ slug }: Connection) => slug.replaceAll("-", "_").replace(/^[^a-z]+/, "");

function NewOf({ kind, connectionId: initialConnection, spec, folder, isMerged, source }: Props) {
  const [, go] = useLocation();
  const [named, setNamed] = useState({
    name: spec ? t("Load {spec}", { spec: nameOfSpec(spec) }) : "",
    slug: "",
  });
  const [connectionId, setConnectionId] = useState(initialConnection ?? "");
  const [definition, setDefinition] = useState<Values>(() => ({
    ...startValue(kind.definitionSchema),
    ...(spec ? { resources: [{ spec, ...(isMerged ? { writeDisposition: "merge" } : {}) }] } : {}),
    ...(spec && source ? { dataset: datasetOf(source) } : {}),
  }));
  const [problem, setProblem] = useState<string | null>(null);
  const create = useChange("POST /api/v1/actions", {
    touches: ["/actions"],
    tellsErrors: false,
    done: ({ name: made }) => t("{made} created", { made }),
    async onDone({ id }) {
      const run = spec
        ? await call("POST /api/v1/actions/{action_id}/run", { path: { action_id: id }, body: {} }).catch(
            tell,
          )
        : null;
      go(run ? `/runs/${run.id}` : `/actions/${id}`);
    },
  });
  const messageFor = messagesBy(create.error);
  const save = () =>
    create.mutate({
      body: {
        kind: kind.kind as never,
        name: named.name,
        definition: definition as never,
        ...(named.slug ? { slug: named.slug } : {}),
        ...(connectionId ? { connectionId } : {}),
        ...(folder === null ? {} : { tags: [folder] }),
      },
    });
  return (
    <FormFrame
      title={kind.title}
      aside={kind.description}
      call={create}
      drawn={["name", "slug", "connectionId", "definition"]}
      isReady={problem === null}
      verb={spec ? t("Create and run") : t("Create action")}
      onSend={save}
      more={
        <Section title={t("Definition")}>
          <DefinitionEditor
            kind={kind}
            connectionId={connectionId}
            value={definition}
            onChange={setDefinition}
            onProblem={setProblem}
            faults={faultsOf(create.error)}
          />
        </Section>
      }
    >
      <NameFields value={named} onChange={setNamed} messageFor={messageFor} isNew>
        {kind.providers.length > 0 && (
          <ConnectionChoice
            kind={kind}
            value={connectionId}
            onChange={setConnectionId}
            fault={messageFor("connectionId")}
          />
        )}
      </NameFields>
    </FormFrame>
  );
}
