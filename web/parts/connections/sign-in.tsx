import { LogIn } from "lucide-react";
import { useState } from "react";
import { call } from "../../api.ts";
import type { Connection, ConnectionSignIn } from "../../calls.ts";
import { useApi, useChange, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Mono } from "../base/copy.tsx";
import { Confirm } from "../base/dialog.tsx";
import { Facts, Section } from "../base/page.tsx";
import { Tag } from "../base/status.tsx";
import { When } from "../base/time.tsx";

const useSignIn = (connection: Connection) =>
  useApi("GET /api/v1/connections/{connection_id}/sign-in", { path: { connection_id: connection.id } });

/** Opens the external system to sign in. */
const useLeave = () =>
  useChange("POST /api/v1/connections/{connection_id}/authorize", {
    touches: [],
    onDone: ({ authorizationUrl }) => location.assign(authorizationUrl),
  });

/** Opens the sign-in of a new connection, or verifies it if none is needed. Returns false if the page stays open. */
export async function leaveToSignIn(id: string): Promise<boolean> {
  const path = { path: { connection_id: id } };
  const { state } = await call("GET /api/v1/connections/{connection_id}/sign-in", path);
  if (state === "unneeded") return false;
  const { authorizationUrl } = await call("POST /api/v1/connections/{connection_id}/authorize", path);
  location.assign(authorizationUrl);
  return true;
}

/** Shown above the tabs if a user has to sign in. */
export function ConnectionSignInWanted({ connection }: { connection: Connection }) {
  const may = useMay("member");
  const { data } = useSignIn(connection);
  const leave = useLeave();
  if (!data || connection.status === "disabled") return null;
  const isNeeded = data.state === "needed";
  if (!isNeeded && data.missingScopes.length === 0) return null;
  return (
    <div
      role="status"
      className="mb-5 flex flex-wrap items-center justify-between gap-3 rounded-lg bg-warn-soft px-4 py-3 text-sm text-warn"
    >
      <p className="min-w-0">
        {isNeeded
          ? (data.problem ?? t("Sign in to use this connection."))
          : t("The sign-in is missing scopes: {scopes}.", { scopes: data.missingScopes.join(", ") })}
        {!may && ` ${t("Signing in requires the member role.")}`}
      </p>
      {may && (
        <Button
          kind="main"
          icon={LogIn}
          busy={leave.isPending}
          onClick={() => leave.mutate({ path: { connection_id: connection.id } })}
        >
          {isNeeded && data.problem === null ? t("Sign in") : t("Sign in again")}
        </Button>
      )}
    </div>
  );
}

/** Status of the connection's sign-in, and its actions. */
export function ConnectionSignInFacts({ connection }: { connection: Connection }) {
  const may = useMay("member");
  const [isOpen, setOpen] = useState(false);
  const { data } = useSignIn(connection);
  const leave = useLeave();
  const path = { path: { connection_id: connection.id } };
  const signOut = useChange("DELETE /api/v1/connections/{connection_id}/sign-in", {
    touches: ["/connections"] as const,
    done: t("Signed out"),
    onDone: () => setOpen(false),
  });
  if (!data || data.state === "unneeded") return null;
  const isIn = data.state === "signed_in";
  return (
    <Section
      title={t("Sign-in")}
      aside={
        may && (
          <span className="flex gap-2">
            {isIn && <Button onClick={() => setOpen(true)}>{t("Sign out")}</Button>}
            <Button icon={LogIn} busy={leave.isPending} onClick={() => leave.mutate(path)}>
              {isIn ? t("Sign in again") : t("Sign in")}
            </Button>
          </span>
        )
      }
    >
      <Facts of={factsOf(data)} />
      {isOpen && (
        <Confirm
          title={t("Sign out of {name}?", { name: connection.name })}
          verb={t("Sign out")}
          isBusy={signOut.isPending}
          onClose={() => setOpen(false)}
          onConfirm={() => signOut.mutate(path)}
        >
          <p>{t("Tokens are deleted. Runs fail until someone signs in again.")}</p>
        </Confirm>
      )}
    </Section>
  );
}

const factsOf = (of: ConnectionSignIn): Parameters<typeof Facts>[0]["of"] => [
  [t("Status"), of.state === "signed_in" ? t("Signed in") : t("Needs sign-in")],
  [t("Redirect URI"), <Mono key="redirect" text={of.redirectUri} />],
  ...(of.scopes.length === 0
    ? []
    : [
        [
          t("Scopes"),
          <span key="rights" className="flex flex-wrap gap-1">
            {of.scopes.map((scope) => (
              <Tag key={scope}>{scope}</Tag>
            ))}
          </span>,
        ] as const,
      ]),
  ...(of.signedInAt === null ? [] : [[t("Last sign-in"), <When key="since" at={of.signedInAt} />] as const]),
  ...(of.expiresAt === null
    ? []
    : [[of.isRenewable ? t("Next refresh") : t("Expires"), <When key="until" at={of.expiresAt} />] as const]),
];
