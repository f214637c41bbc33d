import { Send, Trash2 } from "lucide-react";
import { useState } from "react";
import type { Dashboard, Reply } from "../../calls.ts";
import { useApi, useChange, useMe } from "../../data.ts";
import { rich } from "../../texts/rich.ts";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { ownZone } from "../base/formats.ts";
import { Labelled, TextField } from "../base/labelled.tsx";
import { Shown } from "../base/page.tsx";
import { personName } from "../base/person.ts";
import { plural } from "../base/plural.ts";
import { When } from "../base/time.tsx";
import { cronOf, inRhythm, RHYTHMS, type Rhythm } from "./schedule.ts";

type Subscription = Reply<"GET /api/v1/dashboards/{dashboard_id}/subscriptions">["subscriptions"][number];

interface Props {
  dashboard: Dashboard;
  /** Those of the address. */
  filters: Record<string, string>;
  onClose: () => void;
}

/** Emails a dashboard to members, now or on a schedule. */
export default function EmailDialog({ dashboard, filters, onClose }: Props) {
  const path = { dashboard_id: dashboard.id };
  const listed = useApi("GET /api/v1/dashboards/{dashboard_id}/subscriptions", { path });
  const [rhythm, setRhythm] = useState<Rhythm>("now");
  const [time, setTime] = useState("07:00");
  const [cron, setCron] = useState("0 7 * * 1-5");
  const { user } = useMe();
  const [chosen, setChosen] = useState<readonly string[] | null>(null);
  const recipients = chosen ?? (user ? [user.id] : []);
  const timezone = ownZone() ?? "UTC";
  const send = useChange("POST /api/v1/dashboards/{dashboard_id}/send", {
    touches: ["/notices"],
    done: ({ recipients: count }) => plural(count, { one: "Email queued", other: "# emails queued" }),
    onDone: onClose,
    tellsErrors: false,
  });
  const subscribe = useChange("POST /api/v1/dashboards/{dashboard_id}/subscriptions", {
    touches: ["/subscriptions"],
    done: t("Schedule saved"),
    tellsErrors: false,
  });
  const isNow = rhythm === "now";
  const submit = () => {
    if (isNow) return send.mutate({ path, body: { recipients: [...recipients], filters } });
    const schedule = { cron: rhythm === "cron" ? cron : cronOf(rhythm, time), timezone };
    subscribe.mutate({ path, body: { schedule, recipients: [...recipients], filters } });
  };
  const { error } = isNow ? send : subscribe;
  const named = Object.entries(filters).map(([name, value]) => `${name}: ${value || "any"}`);
  return (
    <Dialog
      title={t("Email {name}", { name: dashboard.name })}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Close")}</Button>
          <Button
            kind="main"
            icon={Send}
            busy={send.isPending || subscribe.isPending}
            disabled={recipients.length === 0}
            onClick={submit}
          >
            {isNow ? t("Send") : t("Save schedule")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <Shown of={listed}>
          {({ subscriptions, warnings }) => (
            <>
              {warnings?.map((warning) => (
                <p key={warning} role="status" className="text-warn">
                  {warning}
                </p>
              ))}
              {subscriptions.length > 0 && (
                <ul
                  aria-label={t("Schedules")}
                  className="divide-y divide-line rounded-md border border-line"
                >
                  {subscriptions.map((each) => (
                    <Scheduled key={each.id} of={each} />
                  ))}
                </ul>
              )}
            </>
          )}
        </Shown>
        <Recipients chosen={recipients} onChange={setChosen} />
        <div className="flex flex-wrap items-end gap-3">
          <Labelled label={t("When")}>
            {(wiring) => (
              <select
                {...wiring}
                className="field w-auto"
                value={rhythm}
                onChange={(event) => setRhythm(event.target.value as Rhythm)}
              >
                {RHYTHMS.map(([id, name]) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </select>
            )}
          </Labelled>
          {rhythm === "cron" && (
            <TextField
              label={t("Cron expression")}
              isRequired
              maxLength={200}
              value={cron}
              onChange={setCron}
            />
          )}
          {!isNow && rhythm !== "cron" && (
            <Labelled label={t("Time")}>
              {(wiring) => (
                <input
                  {...wiring}
                  type="time"
                  required
                  className="field w-32"
                  value={time}
                  onChange={(event) => setTime(event.target.value || "07:00")}
                />
              )}
            </Labelled>
          )}
        </div>
        <p className="text-soft">
          {!isNow && `${t("Times are in {timezone}.", { timezone })} `}
          {named.length === 0
            ? t("Uses the filters' defaults.")
            : t("Uses these filters: {filters}.", { filters: named.join(", ") })}{" "}
          {t("Each email has the panels' numbers and tables, and a link.")}
        </p>
        {error && (
          <p role="alert" className="text-xs text-bad">
            {error.message}
          </p>
        )}
      </div>
    </Dialog>
  );
}

function Scheduled({ of: { id, dashboardId, schedule, recipients, sentAt, error } }: { of: Subscription }) {
  const remove = useChange("DELETE /api/v1/dashboards/{dashboard_id}/subscriptions/{subscription_id}", {
    touches: ["/subscriptions"],
    done: t("Schedule deleted"),
  });
  const when = inRhythm(schedule.cron);
  return (
    <li className="flex items-center gap-2 py-1.5 pr-1.5 pl-3">
      <span className="min-w-0 grow">
        <span className="block font-medium">{when}</span>
        <span className="block text-xs text-soft">
          {schedule.timezone}, {plural(recipients.length, { one: "# recipient", other: "# recipients" })}
          {sentAt !== null && (
            <>
              {", "}
              {rich("last sent {when}", { when: <When at={sentAt} /> })}
            </>
          )}
        </span>
        {error !== null && <span className="block text-xs text-bad">{error}</span>}
      </span>
      <IconButton
        icon={Trash2}
        label={t("Delete schedule {when}", { when })}
        disabled={remove.isPending}
        onClick={() => remove.mutate({ path: { dashboard_id: dashboardId, subscription_id: id } })}
      />
    </li>
  );
}

const FEW = 8;

function Recipients({
  chosen,
  onChange,
}: {
  chosen: readonly string[];
  onChange: (ids: readonly string[]) => void;
}) {
  const team = useApi("GET /api/v1/organizations/team", {});
  const [q, setQ] = useState("");
  const members = team.data?.members ?? [];
  const found = members.filter((each) =>
    `${personName(each)} ${each.email}`.toLowerCase().includes(q.trim().toLowerCase()),
  );
  return (
    <fieldset>
      <legend className="mb-1 text-sm font-medium">{t("Recipients")}</legend>
      {members.length > FEW && (
        <input
          type="search"
          aria-label={t("Find members")}
          placeholder={t("Name or email")}
          className="field mb-2"
          value={q}
          onChange={(event) => setQ(event.target.value)}
        />
      )}
      <ul className="max-h-40 overflow-y-auto rounded-md border border-line px-3 py-1.5">
        {found.map((each) => (
          <li key={each.userId}>
            <label className="flex min-h-7 items-center gap-2">
              <input
                type="checkbox"
                className="size-4 accent-accent"
                checked={chosen.includes(each.userId)}
                onChange={({ target: { checked } }) =>
                  onChange(checked ? [...chosen, each.userId] : chosen.filter((id) => id !== each.userId))
                }
              />
              <span className="min-w-0 truncate" dir="auto">
                {personName(each)}
              </span>
              <span className="min-w-0 truncate text-xs text-soft">{each.email}</span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}
