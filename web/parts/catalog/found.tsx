import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useChange, useMay } from "../../data.ts";
import { rich } from "../../texts/rich.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Check, LongField } from "../base/fields.tsx";
import { TextField } from "../base/labelled.tsx";
import { Section } from "../base/page.tsx";
import { plural } from "../base/plural.ts";
import { Tag } from "../base/status.tsx";
import { onlyAdminsChange, onlyAdminsSignIn } from "../base/texts.ts";
import { FormFrame, messagesBy } from "../form/frame.tsx";
import { ApiConnection } from "./connection.tsx";
import { endpointItem, PickList, toolItem } from "./pick.tsx";
import { SignInDialog } from "./sign-in.tsx";
import type { Found } from "./source.tsx";

interface Props {
  found: Found;
  onBack: () => void;
}

const hostOf = (address: string | null): string => {
  try {
    return new URL(address ?? "").host;
  } catch {
    return "";
  }
};

/** Discovered endpoints or tools to select, with the fields of a new catalog entry. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one form, from what was found to its buttons
export function FoundApi({ found, onBack }: Props) {
  const [, go] = useLocation();
  const isAdmin = useMay("admin");
  const isHttp = found.type === "http";
  const items = isHttp ? found.endpoints.map(endpointItem) : found.tools.map(toolItem);
  const [picked, setPicked] = useState<ReadonlySet<string>>(() => new Set(items.map(({ name }) => name)));
  const [name, setName] = useState(hostOf(isHttp ? found.baseUrl : found.url));
  const [description, setDescription] = useState("");
  const [address, setAddress] = useState((isHttp ? found.baseUrl : found.url) ?? "");
  const [connectionId, setConnectionId] = useState(found.connectionId ?? "");
  const [approvalRequired, setApproval] = useState(false);
  const options = {
    touches: ["/api-catalog"] as const,
    tellsErrors: false as const,
    done: ({ name }: { name: string }) => t("{name} added", { name }),
    onDone: ({ id }: { id: string }) => go(`/catalog/${id}`),
  };
  const addHttp = useChange("POST /api/v1/api-catalog/http", options);
  const addServer = useChange("POST /api/v1/api-catalog/mcp", options);
  const add = isHttp ? addHttp : addServer;
  const messageFor = messagesBy(add.error);
  if (items.length === 0) return <NothingFound found={found} onBack={onBack} />;
  const send = () => {
    const common = {
      name,
      description,
      ...(connectionId ? { connectionId } : {}),
      ...(approvalRequired ? { approvalRequired } : {}),
    };
    if (isHttp) {
      const endpoints = found.endpoints.filter((each) => picked.has(each.name));
      addHttp.mutate({ body: { ...common, baseUrl: address, endpoints, authHints: found.authHints } });
    } else {
      const tools = found.tools.filter(({ upstreamName }) => picked.has(upstreamName));
      addServer.mutate({ body: { ...common, url: address, transport: found.transport ?? "http", tools } });
    }
  };
  return (
    <>
      <Hints found={found} />
      <FormFrame
        title="API"
        aside={
          <Button kind="quiet" onClick={onBack}>
            {t("Start over")}
          </Button>
        }
        call={add}
        drawn={["name", "description", "baseUrl", "url", "connectionId"]}
        isReady={picked.size > 0 && name.trim() !== "" && description.trim() !== ""}
        verb={
          isHttp
            ? plural(picked.size, { one: "Add API with # endpoint", other: "Add API with # endpoints" })
            : plural(picked.size, { one: "Add API with # tool", other: "Add API with # tools" })
        }
        onSend={send}
        more={
          <Section title={isHttp ? t("Endpoints") : t("Tools")} aside={t("You can add the others later")}>
            <PickList
              items={items}
              picked={picked}
              onPick={setPicked}
              label={isHttp ? t("Endpoints") : t("Tools")}
            />
          </Section>
        }
      >
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label={t("Name")}
            isRequired
            value={name}
            onChange={setName}
            fault={messageFor("name")}
            about={t("Agents refer to it as api:NAME.")}
            maxLength={255}
          />
          <TextField
            label="URL"
            isRequired
            value={address}
            onChange={setAddress}
            fault={messageFor("baseUrl") ?? messageFor("url")}
            maxLength={2048}
          />
          <div className="sm:col-span-2">
            <LongField
              label={t("Description")}
              isRequired
              value={description}
              onChange={setDescription}
              fault={messageFor("description")}
              about={t("What this API does. Shown to users and agents.")}
            />
          </div>
          <ApiConnection value={connectionId} onChange={setConnectionId} fault={messageFor("connectionId")} />
          <Check
            label={t("Require approval for every call")}
            about={isAdmin ? t("A person must approve the exact arguments.") : onlyAdminsChange()}
            value={approvalRequired}
            onChange={setApproval}
            isDisabled={!isAdmin}
          />
        </div>
      </FormFrame>
    </>
  );
}

/** Hints and warnings before it is added. */
function Hints({ found: { existingApi, authRequired, authHints, warnings } }: { found: Found }) {
  return (
    <div className="mb-5 space-y-2 text-sm empty:hidden">
      {existingApi && (
        <p role="status" className="rounded-md bg-warn-soft px-3 py-2 text-warn">
          {rich("This API is already in the catalog: {name}", {
            name: (
              <Link href={`/catalog/${existingApi.id}`} className="underline">
                {existingApi.name}
              </Link>
            ),
          })}
        </p>
      )}
      {authRequired && (
        <p role="status" className="rounded-md bg-busy-soft px-3 py-2 text-busy">
          {t("This API requires authentication. Choose a connection that has the credentials.")}{" "}
          {authHints.length > 0 && (
            <>
              {" "}
              {authHints.slice(0, 4).map(({ label, name, location }) => (
                <span key={label + name} className="mr-2">
                  {`${label} (${location}: ${name})`}
                </span>
              ))}
            </>
          )}
        </p>
      )}
      {warnings.length > 0 && (
        <details className="rounded-md bg-warn-soft px-3 py-2 text-warn">
          <summary>
            {plural(warnings.length, {
              one: "# item couldn't be imported",
              other: "# items couldn't be imported",
            })}
          </summary>
          <ul className="mt-1 list-disc pl-5">
            {warnings.slice(0, 50).map((warning) => (
              <li key={warning} className="[overflow-wrap:anywhere]" dir="auto">
                {warning}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function NothingFound({ found, onBack }: Props) {
  return (
    <Section title={t("Nothing found")} aside={<Button onClick={onBack}>{t("Start over")}</Button>}>
      <SignInFirst found={found} />
      {found.attempts.length > 0 ? (
        <>
          <p className="mb-2 text-sm text-soft">{t("Checked:")}</p>
          <ul className="space-y-1 text-sm">
            {found.attempts.map(({ url, status, error }) => (
              <li key={url} className="flex flex-wrap items-baseline gap-x-3">
                <code className="font-mono text-xs [overflow-wrap:anywhere]">{url}</code>
                {status !== null && <Tag>{status}</Tag>}
                {error && <span className="text-soft [overflow-wrap:anywhere]">{error}</span>}
              </li>
            ))}
          </ul>
          <p className="mt-3 text-sm text-soft">
            {t(
              "If the API has no OpenAPI document, paste curl commands, an HTTP archive or its documentation.",
            )}
          </p>
        </>
      ) : (
        <p className="text-sm text-soft">{t("No endpoints or tools found")}</p>
      )}
      {found.warnings.map((warning) => (
        <p key={warning} className="mt-2 text-sm text-warn" dir="auto">
          {warning}
        </p>
      ))}
    </Section>
  );
}

/** A server that lists its tools only to signed-in users. */
function SignInFirst({ found }: { found: Found }) {
  const isAdmin = useMay("admin");
  const [isOpen, setOpen] = useState(false);
  const { type, url, transport, authHints, connectionId } = found;
  const isAsking =
    type === "mcp" && authHints.some((hint) => hint.type === "oauth2") && connectionId === null;
  if (!isAsking || url === null) return null;
  return (
    <div className="mb-3 flex flex-wrap items-center justify-between gap-3 text-sm">
      <p>
        {t("The server requires a sign-in to list its tools.")}
        {!isAdmin && ` ${onlyAdminsSignIn()}`}
      </p>
      {isAdmin && (
        <Button kind="main" onClick={() => setOpen(true)}>
          {t("Sign in")}
        </Button>
      )}
      {isOpen && (
        <SignInDialog server={{ url, transport: transport ?? "http" }} onClose={() => setOpen(false)} />
      )}
    </div>
  );
}
