import { Link2, Unlink } from "lucide-react";
import { useState } from "react";
import type { Dashboard } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { Button } from "../base/button.tsx";
import { CopyButton } from "../base/copy.tsx";
import { Confirm, Dialog } from "../base/dialog.tsx";

/** Creates and revokes the link that shows a dashboard to anyone who has it. */
export function ShareDialog({ dashboard, onClose }: { dashboard: Dashboard; onClose: () => void }) {
  const [isRevoking, setRevoking] = useState(false);
  const { id: dashboard_id, name, shareUrl } = dashboard;
  const change = useChange("PATCH /api/v1/dashboards/{dashboard_id}", { touches: ["/dashboards"] });
  const set = (sharing: Dashboard["sharing"]) =>
    change.mutate({ path: { dashboard_id }, body: { sharing } }, { onSuccess: () => setRevoking(false) });
  if (isRevoking)
    return (
      <Confirm
        title={`Revoke the link to ${name}?`}
        verb="Revoke link"
        isBusy={change.isPending}
        onConfirm={() => set("organization")}
        onClose={() => setRevoking(false)}
      >
        <p>The link stops working for everyone who has it. Sharing again creates a different link.</p>
      </Confirm>
    );
  return (
    <Dialog
      title={`Share ${name}`}
      onClose={onClose}
      foot={
        <>
          {shareUrl !== null && (
            <Button kind="bad" icon={Unlink} onClick={() => setRevoking(true)}>
              Revoke link
            </Button>
          )}
          <Button onClick={onClose}>Done</Button>
        </>
      }
    >
      {shareUrl === null ? (
        <>
          <p className="mb-4 text-soft">
            Members of the organization can view this dashboard. With a link, anyone can view it without
            signing in, including its filters, but not its SQL.
          </p>
          <Button kind="main" icon={Link2} busy={change.isPending} onClick={() => set("link")}>
            Create link
          </Button>
        </>
      ) : (
        <>
          <p className="mb-3 text-soft">Anyone with this link can view the dashboard without signing in.</p>
          <div className="flex items-center gap-2 rounded-md border border-line bg-ground px-3 py-2">
            <code className="min-w-0 grow font-mono text-xs break-all select-all">{shareUrl}</code>
            <CopyButton text={shareUrl} label="Copy link" />
          </div>
        </>
      )}
    </Dialog>
  );
}
