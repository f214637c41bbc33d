import { RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import type { CatalogEntry, Reply } from "../calls.ts";
import { useAll, useApi, useChange, useMay } from "../data.ts";
import { Button, IconButton } from "../parts/base/button.tsx";
import { Mono } from "../parts/base/copy.tsx";
import { Confirm } from "../parts/base/dialog.tsx";
import { Check, LongField } from "../parts/base/fields.tsx";
import { TextField } from "../parts/base/labelled.tsx";
import { Facts, PageHead, Section, Shown, useTab } from "../parts/base/page.tsx";
import { plural } from "../parts/base/plural.ts";
import { Status, Tag } from "../parts/base/status.tsx";
import { onlyAdminsChange } from "../parts/base/texts.ts";
import { When } from "../parts/base/time.tsx";
import { ApiConnection } from "../parts/catalog/connection.tsx";
import { ImportAgain, NewTools } from "../parts/catalog/import.tsx";
import { CatalogItems } from "../parts/catalog/items.tsx";
import { Lists } from "../parts/catalog/lists.tsx";
import { SignInFacts, SignInWanted } from "../parts/catalog/sign-in.tsx";
import { FormFrame, messagesBy } from "../parts/form/frame.tsx";
import { Held } from "../parts/layout/detail.tsx";
import { t } from "../texts/text.ts";

export default function ApiPage({ id }: { id: string }) {
  const api = useApi("GET /api/v1/api-catalog/{api_id}", { path: { api_id: id } });
  return (
    <Shown of={api} isPage>
      {(data) => <Whole api={data} />}
    </Shown>
  );
}

type Refreshed = Reply<"POST /api/v1/api-catalog/{api_id}/refresh">;

function Whole({ api }: { api: CatalogEntry }) {
  const may = useMay("member");
  const [refreshed, setRefreshed] = useState<Refreshed | null>(null);
  const isHttp = api.type === "http";
  const tabs = useTab([
    ["items", isHttp ? t("Endpoints") : t("Tools")],
    ...(isHttp ? ([["lists", t("Lists")]] as const) : []),
    ...(isHttp && may ? ([["import", t("Import again")]] as const) : []),
    ["settings", t("Settings")],
  ]);
  const changed = api.tools.filter(({ status }) => status !== "active").length;
  return (
    <>
      <PageHead
        title={api.name}
        from={[["/catalog", t("API catalog")]]}
        beside={
          <>
            <Status status={api.status} />
            <Tag>{isHttp ? "HTTP" : t("MCP server")}</Tag>
          </>
        }
        about={
          <>
            <span dir="auto">{api.description}</span>
            <span className="block">
              <Mono text={(isHttp ? api.baseUrl : api.url) ?? ""} />
            </span>
          </>
        }
      >
        {may && <EntryActions api={api} onRefreshed={setRefreshed} />}
      </PageHead>
      {changed > 0 && (
        <p role="status" className="mb-5 rounded-lg bg-warn-soft px-4 py-3 text-sm text-warn">
          {plural(changed, {
            one: "# tool is paused because its definition changed since it was approved.",
            other: "# tools are paused because their definitions changed since they were approved.",
          })}
        </p>
      )}
      <SignInWanted api={api} />
      {refreshed && <NewTools api={api} found={refreshed} onDone={() => setRefreshed(null)} />}
      {tabs.bar}
      {tabs.current === "lists" ? (
        <Lists api={api} />
      ) : tabs.current === "import" ? (
        <ImportAgain api={api} />
      ) : tabs.current === "settings" ? (
        <>
          {may && <Held of={api}>{(base, onDirty) => <Settings api={base} onDirty={onDirty} />}</Held>}
          <SignInFacts api={api} />
          <Section title={t("Details")}>
            <Facts
              of={[
                ["ID", <Mono key="id" text={api.id} />],
                [
                  t("Connection"),
                  api.connectionId ? (
                    <Link
                      key="c"
                      href={`/connections/${api.connectionId}`}
                      className="text-accent hover:underline"
                    >
                      {t("Open connection")}
                    </Link>
                  ) : (
                    t("None")
                  ),
                ],
                [t("Created"), <When key="made" at={api.createdAt} />],
                [t("Updated"), <When key="changed" at={api.updatedAt} />],
              ]}
            />
          </Section>
        </>
      ) : (
        <CatalogItems api={api} />
      )}
    </>
  );
}

function EntryActions({ api, onRefreshed }: { api: CatalogEntry; onRefreshed: (found: Refreshed) => void }) {
  const [isRemoving, setRemoving] = useState(false);
  const isOff = api.status === "disabled";
  const path = { api_id: api.id };
  const turn = useChange("PATCH /api/v1/api-catalog/{api_id}", {
    touches: ["/api-catalog"],
    done: isOff ? t("API enabled") : t("API disabled"),
  });
  const refresh = useChange("POST /api/v1/api-catalog/{api_id}/refresh", {
    touches: ["/api-catalog"],
    onDone: onRefreshed,
    done: ({ api: { tools }, added }) => {
      const changedCount = tools.filter(({ status }) => status !== "active").length;
      if (changedCount === 0 && added.length === 0) return t("Tools are up to date");
      return [
        changedCount > 0 && plural(changedCount, { one: "# tool paused", other: "# tools paused" }),
        added.length > 0 && plural(added.length, { one: "# new tool", other: "# new tools" }),
      ]
        .filter(Boolean)
        .join(", ");
    },
  });
  return (
    <>
      <IconButton icon={Trash2} label={t("Delete API")} onClick={() => setRemoving(true)} />
      <Button
        busy={turn.isPending}
        onClick={() => turn.mutate({ path, body: { status: isOff ? "active" : "disabled" } })}
      >
        {isOff ? t("Enable") : t("Disable")}
      </Button>
      {api.type === "mcp" && (
        <Button
          kind="main"
          icon={RefreshCw}
          busy={refresh.isPending}
          onClick={() => refresh.mutate({ path })}
        >
          {t("Refresh tools")}
        </Button>
      )}
      {isRemoving && <Remove api={api} onClose={() => setRemoving(false)} />}
    </>
  );
}

function Settings({ api, onDirty }: { api: CatalogEntry; onDirty: (isDirty: boolean) => void }) {
  const isAdmin = useMay("admin");
  const [name, setName] = useState(api.name);
  const [description, setDescription] = useState(api.description);
  const [connectionId, setConnectionId] = useState(api.connectionId ?? "");
  const [approvalRequired, setApproval] = useState(api.approvalRequired);
  const save = useChange("PATCH /api/v1/api-catalog/{api_id}", {
    basedOn: api,
    touches: ["/api-catalog"],
    tellsErrors: false,
    done: t("API saved"),
    onDone: () => onDirty(false),
  });
  const messageFor = messagesBy(save.error);
  const body = {
    ...(name === api.name ? {} : { name }),
    ...(description === api.description ? {} : { description }),
    ...(connectionId === (api.connectionId ?? "") ? {} : { connectionId: connectionId || null }),
    ...(approvalRequired === api.approvalRequired ? {} : { approvalRequired }),
  };
  const put =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value);
      onDirty(true);
    };
  return (
    <FormFrame
      title={t("Settings")}
      call={save}
      drawn={["name", "description", "connectionId"]}
      isChanged={Object.keys(body).length > 0}
      onSend={() => save.mutate({ path: { api_id: api.id }, body })}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label={t("Name")}
          isRequired
          value={name}
          onChange={put(setName)}
          fault={messageFor("name")}
          about={t("Agents refer to the API by this name, as api:NAME.")}
          maxLength={255}
        />
        <ApiConnection
          value={connectionId}
          onChange={put(setConnectionId)}
          fault={messageFor("connectionId")}
        />
        <div className="sm:col-span-2">
          <LongField
            label={t("Description")}
            isRequired
            value={description}
            onChange={put(setDescription)}
            fault={messageFor("description")}
          />
        </div>
        <Check
          label={t("Require approval for every call")}
          about={isAdmin ? t("A person must approve the exact arguments.") : onlyAdminsChange()}
          value={approvalRequired}
          onChange={put(setApproval)}
          isDisabled={!isAdmin}
        />
      </div>
    </FormFrame>
  );
}

/** Confirms deleting an API, and shows what calls it. */
function Remove({ api, onClose }: { api: CatalogEntry; onClose: () => void }) {
  const [, go] = useLocation();
  const agents = useAll("GET /api/v1/agents/specs", {}, ({ specs }) => specs);
  const actions = useAll("GET /api/v1/actions", { kinds: ["http_request"] }, ({ actions: items }) => items);
  const users = [
    ...(agents.data ?? []).filter(
      ({ frontmatter: { tools } }) => Array.isArray(tools) && tools.includes(`api:${api.name}`),
    ),
    ...(actions.data ?? []).filter(({ definition }) => JSON.stringify(definition).includes(api.id)),
  ];
  const remove = useChange("DELETE /api/v1/api-catalog/{api_id}", {
    touches: ["/api-catalog"],
    done: t("{name} deleted", { name: api.name }),
    onDone: () => go("/catalog"),
  });
  return (
    <Confirm
      title={t("Delete {name}?", { name: api.name })}
      verb={t("Delete")}
      isBusy={remove.isPending || agents.isPending || actions.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { api_id: api.id } }, { onError: onClose })}
    >
      <p>
        {t("Agents and actions can no longer call this API. Its endpoint and tool settings are deleted too.")}
      </p>
      {users.length > 0 && (
        <div>
          <p>{t("These agents and actions call this API:")}</p>
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
