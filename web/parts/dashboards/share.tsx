import { Link2, Unlink } from "lucide-react";
import { useState } from "react";
import type { Dashboard } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { rich } from "../../texts/rich.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { CopyButton } from "../base/copy.tsx";
import { Confirm, Dialog } from "../base/dialog.tsx";
import { Labelled } from "../base/labelled.tsx";
import { When } from "../base/time.tsx";

/** Creates and revokes the link to a dashboard. It works for anyone who has it. */
export function ShareDialog({ dashboard, onClose }: { dashboard: Dashboard; onClose: () => void }) {
  const [isRevoking, setRevoking] = useState(false);
  const [days, setDays] = useState(NEVER);
  const { id: dashboard_id, name, shareUrl, shareExpiresAt } = dashboard;
  const change = useChange("PATCH /api/v1/dashboards/{dashboard_id}", { touches: ["/dashboards"] });
  const revoke = () =>
    change.mutate(
      { path: { dashboard_id }, body: { sharing: "organization" } },
      { onSuccess: () => setRevoking(false) },
    );
  const share = (end: string) =>
    change.mutate({ path: { dashboard_id }, body: { sharing: "link", shareExpiresAt: instantIn(end) } });
  if (isRevoking)
    return (
      <Confirm
        title={t("Revoke the link to {name}?", { name })}
        verb={t("Revoke link")}
        isBusy={change.isPending}
        onConfirm={revoke}
        onClose={() => setRevoking(false)}
      >
        <p>{t("The link stops working for everyone who has it. Sharing again creates a different link.")}</p>
      </Confirm>
    );
  return (
    <Dialog
      title={t("Share {name}", { name })}
      onClose={onClose}
      foot={
        <>
          {shareUrl !== null && (
            <Button kind="bad" icon={Unlink} onClick={() => setRevoking(true)}>
              {t("Revoke link")}
            </Button>
          )}
          <Button onClick={onClose}>{t("Done")}</Button>
        </>
      }
    >
      {shareUrl === null ? (
        <>
          <p className="mb-4 text-soft">
            {t(
              "Members of the organization can view this dashboard. With a link, anyone can view it without signing in, including its filters, but not its SQL.",
            )}
          </p>
          <div className="flex flex-wrap items-end gap-3">
            <Expiry label={t("Link expires")} value={days} onChange={setDays} />
            <Button kind="main" icon={Link2} busy={change.isPending} onClick={() => share(days)}>
              {t("Create link")}
            </Button>
          </div>
        </>
      ) : (
        <>
          <p className="mb-3 text-soft">
            {t("Anyone with this link can view the dashboard without signing in.")}
          </p>
          <div className="flex items-center gap-2 rounded-md border border-line bg-ground px-3 py-2">
            <code className="min-w-0 grow font-mono text-xs break-all select-all">{shareUrl}</code>
            <CopyButton text={shareUrl} label={t("Copy link")} />
          </div>
          <div className="mt-4 flex flex-wrap items-end gap-3">
            <Expiry label={t("Change expiry")} value="" onChange={share} />
            <p role="status" className="pb-1.5 text-soft">
              {shareExpiresAt === null ? (
                t("The link never expires.")
              ) : Date.parse(shareExpiresAt) > Date.now() ? (
                <>{rich("The link expires {when}.", { when: <When at={shareExpiresAt} /> })}</>
              ) : (
                t("The link has expired.")
              )}
            </p>
          </div>
        </>
      )}
    </Dialog>
  );
}

const NEVER = "never";
const DAYS = [
  ["1", t("In 1 day")],
  ["7", t("In 7 days")],
  ["30", t("In 30 days")],
  ["90", t("In 90 days")],
  [NEVER, t("Never")],
] as const;
const MS_PER_DAY = 86_400_000;

const instantIn = (days: string) =>
  days === NEVER ? null : new Date(Date.now() + Number(days) * MS_PER_DAY).toISOString();

function Expiry({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (days: string) => void;
}) {
  return (
    <Labelled label={label}>
      {(wiring) => (
        <select
          {...wiring}
          className="field w-auto"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        >
          {value === "" && <option value="">{t("Choose")}</option>}
          {DAYS.map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}
