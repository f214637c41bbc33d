import { LogOut, Monitor, TerminalSquare } from "lucide-react";
import { useState } from "react";
import type { Reply } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { Button, IconButton } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";
import { When } from "../base/time.tsx";
import { Older, useOlder } from "../table/older.tsx";
import { type Column, Named, Table } from "../table/table.tsx";

type Session = Reply<"GET /api/v1/sessions">["items"][number];

const nameOf = ({ browserFamily, browserVersion, osFamily, cliVersion, terminal, clientType }: Session) => {
  if (clientType !== "web") return ["weir command", cliVersion, terminal].filter(Boolean).join(" ");
  const browser = [browserFamily, browserVersion?.split(".")[0]].filter(Boolean).join(" ");
  return [browser || "A browser", osFamily].filter(Boolean).join(" on ");
};

/** Where the person is signed in. */
export function Sessions() {
  const [gone, setGone] = useState<Session | null>(null);
  const list = useOlder("GET /api/v1/sessions", {});
  const others = useChange("DELETE /api/v1/sessions", {
    touches: ["/sessions"],
    done: ({ revokedCount }) =>
      revokedCount === 1 ? "Signed out in one other place" : `Signed out in ${revokedCount} other places`,
  });
  const columns: readonly Column<Session>[] = [
    {
      name: "Where",
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
    { name: "Seen", isRight: true, cell: ({ lastActiveAt }) => <When at={lastActiveAt} /> },
    { name: "Signed in", isRight: true, isMinor: true, cell: ({ createdAt }) => <When at={createdAt} /> },
    {
      name: "Deeds",
      isRight: true,
      isUntitled: true,
      cell: (session) => (
        <IconButton icon={LogOut} label={`Sign out ${nameOf(session)}`} onClick={() => setGone(session)} />
      ),
    },
  ];
  return (
    <>
      <div className="mb-4 flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-prose text-sm text-soft">
          Where you are signed in. What you don't know, sign out.
        </p>
        {(list.items?.length ?? 0) > 1 && (
          <Button icon={LogOut} busy={others.isPending} onClick={() => others.mutate({})}>
            Sign out everywhere else
          </Button>
        )}
      </div>
      <div className="card">
        <Older of={list}>
          {(items) => <Table label="Sessions" columns={columns} rows={items} keyOf={({ id }) => id} />}
        </Older>
      </div>
      {gone && <SignOut session={gone} onClose={() => setGone(null)} />}
    </>
  );
}

function SignOut({ session, onClose }: { session: Session; onClose: () => void }) {
  const revoke = useChange("DELETE /api/v1/sessions/{session_id}", {
    touches: ["/sessions"],
    done: "Signed out there",
    onDone: onClose,
  });
  return (
    <Confirm
      title={`Sign out ${nameOf(session)}?`}
      verb="Sign out"
      isBusy={revoke.isPending}
      onClose={onClose}
      onConfirm={() => revoke.mutate({ path: { session_id: session.id } }, { onError: onClose })}
    >
      <p>Whoever works there signs in anew. If it is this browser, that is you.</p>
    </Confirm>
  );
}
