import { LogIn } from "lucide-react";
import { useState } from "react";
import type { CatalogEntry, Reply, SignIn } from "../../calls.ts";
import { useApi, useChange, useMay } from "../../data.ts";
import { rich } from "../../texts/rich.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Mono } from "../base/copy.tsx";
import { Confirm, Dialog } from "../base/dialog.tsx";
import { Labelled, TextField } from "../base/labelled.tsx";
import { Facts, Section } from "../base/page.tsx";
import { Tag } from "../base/status.tsx";
import { onlyAdminsSignIn } from "../base/texts.ts";
import { When } from "../base/time.tsx";
import { messagesBy, Refusal } from "../form/frame.tsx";

type Started = Reply<"POST /api/v1/api-catalog/authorize">;

/** Returns whether an entry uses a sign-in. */
const hasSignIn = ({ type, connectionId }: CatalogEntry) => type === "mcp" && connectionId === null;

const useSignIn = (api: CatalogEntry) =>
  useApi(
    "GET /api/v1/api-catalog/{api_id}/sign-in",
    { path: { api_id: api.id } },
    { enabled: hasSignIn(api) },
  );

/** Shown above the tools if the server requires a user. */
export function SignInWanted({ api }: { api: CatalogEntry }) {
  const isAdmin = useMay("admin");
  const [isOpen, setOpen] = useState(false);
  const { data } = useSignIn(api);
  const isNeeded = data?.state === "needed";
  if (!data || !hasSignIn(api) || !(isNeeded || data.wantedScope !== null)) return null;
  return (
    <div
      role="status"
      className="mb-5 flex flex-wrap items-center justify-between gap-3 rounded-lg bg-warn-soft px-4 py-3 text-sm text-warn"
    >
      <p className="min-w-0">
        {isNeeded
          ? t("The server requires a sign-in.")
          : t("The server requires more scopes than the current sign-in has.")}{" "}
        {data.problem}
        {!isAdmin && ` ${onlyAdminsSignIn()}`}
      </p>
      {isAdmin && (
        <Button kind="main" icon={LogIn} onClick={() => setOpen(true)}>
          {t("Sign in")}
        </Button>
      )}
      {isOpen && <SignInDialog entryId={api.id} onClose={() => setOpen(false)} />}
    </div>
  );
}

/** Status of the sign-in with the server, and its actions. */
export function SignInFacts({ api }: { api: CatalogEntry }) {
  const isAdmin = useMay("admin");
  const [open, setOpen] = useState<"in" | "out" | null>(null);
  const { data } = useSignIn(api);
  const signOut = useChange("DELETE /api/v1/api-catalog/{api_id}/sign-in", {
    touches: ["/api-catalog"] as const,
    done: t("Signed out"),
    onDone: () => setOpen(null),
  });
  if (!data || !hasSignIn(api)) return null;
  return (
    <Section
      title={t("Sign-in")}
      aside={
        isAdmin && (
          <span className="flex gap-2">
            {data.state !== "none" && <Button onClick={() => setOpen("out")}>{t("Sign out")}</Button>}
            <Button icon={LogIn} onClick={() => setOpen("in")}>
              {data.state === "signed_in" ? t("Sign in again") : t("Sign in")}
            </Button>
          </span>
        )
      }
    >
      <Facts of={factsOf(data)} />
      {open === "in" && <SignInDialog entryId={api.id} onClose={() => setOpen(null)} />}
      {open === "out" && (
        <Confirm
          title={t("Sign out of {name}?", { name: api.name })}
          verb={t("Sign out")}
          isBusy={signOut.isPending}
          onClose={() => setOpen(null)}
          onConfirm={() => signOut.mutate({ path: { api_id: api.id } })}
        >
          <p>{t("Tokens are revoked. Tools can't be called until someone signs in again.")}</p>
        </Confirm>
      )}
    </Section>
  );
}

const STATES = {
  none: t("Not required"),
  needed: t("Needs sign-in"),
  signed_in: t("Signed in"),
} as const;

const factsOf = (of: SignIn): Parameters<typeof Facts>[0]["of"] => [
  [t("Status"), STATES[of.state]],
  ...(of.issuer === null ? [] : [[t("Authorization server"), <Mono key="with" text={of.issuer} />] as const]),
  ...(of.clientId === null ? [] : [[t("Client ID"), <Mono key="client" text={of.clientId} />] as const]),
  ...(of.scope === null ? [] : [[t("Scopes"), <Scopes key="scope" of={of.scope} />] as const]),
  ...(of.wantedScope === null
    ? []
    : [[t("Requested scopes"), <Scopes key="more" of={of.wantedScope} />] as const]),
  ...(of.signedInAt === null ? [] : [[t("Last sign-in"), <When key="since" at={of.signedInAt} />] as const]),
  ...(of.expiresAt === null
    ? []
    : [[of.isRenewable ? t("Next refresh") : t("Expires"), <When key="until" at={of.expiresAt} />] as const]),
];

const Scopes = ({ of }: { of: string }) => (
  <span className="flex flex-wrap gap-1">
    {of.split(" ").map((scope) => (
      <Tag key={scope}>{scope}</Tag>
    ))}
  </span>
);

interface DialogProps {
  onClose: () => void;
  /** ID of the catalog entry. Without one, `server` is the URL. */
  entryId?: string;
  server?: { url: string; transport: "http" | "sse" };
}

/** Starts a sign-in: shows the target, and opens it. */
export function SignInDialog({ entryId, server, onClose }: DialogProps) {
  const [grant, setGrant] = useState<"authorization_code" | "client_credentials">("authorization_code");
  const [clientId, setClientId] = useState("");
  const [clientSecret, setClientSecret] = useState("");
  const [started, setStarted] = useState<Started | null>(null);
  const options = {
    touches: ["/api-catalog"] as const,
    tellsErrors: false as const,
    onDone: (reply: Started) => (reply.authorizationUrl === null ? onClose() : setStarted(reply)),
  };
  const ofEntry = useChange("POST /api/v1/api-catalog/{api_id}/authorize", options);
  const ofServer = useChange("POST /api/v1/api-catalog/authorize", options);
  const begin = entryId === undefined ? ofServer : ofEntry;
  const messageFor = messagesBy(begin.error);
  const send = () => {
    const wish = {
      grant,
      ...(clientId.trim() ? { clientId: clientId.trim() } : {}),
      ...(clientSecret ? { clientSecret } : {}),
    };
    if (entryId !== undefined) ofEntry.mutate({ path: { api_id: entryId }, body: wish });
    else if (server)
      ofServer.mutate({ body: { mcpUrl: server.url, mcpTransport: server.transport, ...wish } });
  };
  if (started) return <Leave started={started} onClose={onClose} />;
  return (
    <Dialog
      title={t("Sign in to server")}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button kind="main" busy={begin.isPending} onClick={send}>
            {" "}
            {t("Continue")}
          </Button>
        </>
      }
    >
      <Refusal error={begin.error} />
      <div className="space-y-4">
        <p className="text-soft">
          {t("This sign-in is shared with your organization. All tool calls use the account that signs in.")}
        </p>
        <Labelled label={t("Sign-in type")} fault={messageFor("grant")}>
          {(wiring) => (
            <select
              {...wiring}
              className="field"
              value={grant}
              onChange={({ target: { value } }) =>
                setGrant(value === "client_credentials" ? value : "authorization_code")
              }
            >
              <option value="authorization_code">{t("A user, in this browser")}</option>
              <option value="client_credentials">{t("Client credentials (no user)")}</option>
            </select>
          )}
        </Labelled>
        <TextField
          label={t("Client ID")}
          isRequired={grant === "client_credentials"}
          value={clientId}
          onChange={setClientId}
          fault={messageFor("clientId")}
          about={t("Only if Weir was registered manually with the authorization server.")}
          maxLength={2048}
        />
        <TextField
          label={t("Client secret")}
          type="password"
          isRequired={grant === "client_credentials"}
          value={clientSecret}
          onChange={setClientSecret}
          fault={messageFor("clientSecret")}
          maxLength={4096}
        />
      </div>
    </Dialog>
  );
}

/** Shows who the user is about to trust. */
function Leave({ started, onClose }: { started: Started; onClose: () => void }) {
  const { host, isElsewhere, resource, scope, authorizationUrl } = started;
  return (
    <Dialog
      title={t("Continue to {host}?", { host })}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button kind="main" onClick={() => authorizationUrl && location.assign(authorizationUrl)}>
            {t("Continue")}
          </Button>
        </>
      }
    >
      <div className="space-y-3">
        <p>
          {rich("The server uses {host} for sign-in.", { host: <strong>{host}</strong> })}{" "}
          {isElsewhere && t("This is a different host from the MCP server. Continue only if you trust it.")}
        </p>
        <Facts
          of={[
            [t("Resource"), <Mono key="for" text={resource} />],
            [t("Scopes"), scope === null ? t("Server default") : <Scopes key="rights" of={scope} />],
          ]}
        />
      </div>
    </Dialog>
  );
}
