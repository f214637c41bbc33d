import { LogOut, Monitor, TerminalSquare } from "lucide-react";
import { useState } from "react";
import type { Reply } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";
import { plural } from "../base/plural.ts";
import { When } from "../base/time.tsx";
import { Older, useOlder } from "../table/older.tsx";
import { type Column, Named, Table } from "../table/table.tsx";

type Session = Reply<"GET /api/v1/sessions">["items"][number];

const nameOf = ({ browserFamily, browserVersion, osFamily, cliVersion, terminal, clientType }: Session) => {
  if (clientType !== "web") return ["weir command", cliVersion, terminal].filter(Boolean).join(" ");
  const browser = [browserFamily, browserVersion?.split(".")[0]].filter(Boolean).join(" ");
  const name = browser || t("Unknown browser");
  return osFamily ? t("{name} on {system}", { name, system: osFamily }) : name;
};

/** The user's sessions. */
export function Sessions() {
  const [gone, setGone] = useState<Session | null>(null);
  const list = useOlder("GET /api/v1/sessions", {});
  const others = useChange("DELETE /api/v1/sessions", {
    touches: ["/sessions"],
    done: ({ revokedCount }) =>
      plural(revokedCount, { one: "# session signed out", other: "# sessions signed out" }),
  });
  const columns: readonly Column<Session>[] = [
    {
      name: t("Device"),
      isWide: true,
      cell: (session) => (
        <span className="flex min-w-0 items-center gap-2.5">
          {session.clientType === "web" ? (
            <Monitor size={16} aria-hidden className="shrink-0 text-soft" />
          ) : (
            <TerminalSquare size={16} aria-hidden className="shrink-0 text-soft" />
          )}
          <Named name={nameOf(session)} below={session.ipAddress} />
        </span>
      ),
    },
    { name: t("Last active"), isRight: true, cell: ({ lastActiveAt }) => <When at={lastActiveAt} /> },
    { name: t("Signed in"), isRight: true, isMinor: true, cell: ({ createdAt }) => <When at={createdAt} /> },
    {
      name: t("Actions"),
      isRight: true,
      isUntitled: true,
      cell: (session) => (
        <IconButton
          icon={LogOut}
          label={t("Sign out {session}", { session: nameOf(session) })}
          onClick={() => setGone(session)}
        />
      ),
    },
  ];
  return (
    <>
      <div className="mb-4 flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-prose text-sm text-soft">
          {t("Devices that are signed in to your account. Sign out any you don't recognize.")}
        </p>
        {(list.items?.length ?? 0) > 1 && (
          <Button icon={LogOut} busy={others.isPending} onClick={() => others.mutate({})}>
            {t("Sign out all other sessions")}
          </Button>
        )}
      </div>
      <div className="card">
        <Older of={list}>
          {(items) => <Table label={t("Sessions")} columns={columns} rows={items} keyOf={({ id }) => id} />}
        </Older>
      </div>
      {gone && <SignOut session={gone} onClose={() => setGone(null)} />}
    </>
  );
}

function SignOut({ session, onClose }: { session: Session; onClose: () => void }) {
  const revoke = useChange("DELETE /api/v1/sessions/{session_id}", {
    touches: ["/sessions"],
    done: t("Session signed out"),
    onDone: onClose,
  });
  return (
    <Confirm
      title={t("Sign out {session}?", { session: nameOf(session) })}
      verb={t("Sign out")}
      isBusy={revoke.isPending}
      onClose={onClose}
      onConfirm={() => revoke.mutate({ path: { session_id: session.id } }, { onError: onClose })}
    >
      <p>{t("That device will have to sign in again.")}</p>
    </Confirm>
  );
}
