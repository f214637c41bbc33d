import { Pencil, Save, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import type { Dashboard, Reply } from "../../calls.ts";
import { useApi, useChange, useMe } from "../../data.ts";
import { rich } from "../../texts/rich.ts";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { ownZone } from "../base/formats.ts";
import { Shown } from "../base/page.tsx";
import { plural } from "../base/plural.ts";
import { inRhythm } from "../base/rhythm.ts";
import { When } from "../base/time.tsx";
import { cronOfPlan, NEW_PLAN, planOf, Recipients, WhenFields } from "./email-form.tsx";

type Subscription = Reply<"GET /api/v1/dashboards/{dashboard_id}/subscriptions">["subscriptions"][number];

interface Props {
  dashboard: Dashboard;
  /** Filters in the URL. */
  filters: Record<string, string>;
  onClose: () => void;
}

/** Emails a dashboard to members, now or on a schedule, and edits its schedules. */
export default function EmailDialog({ dashboard, filters, onClose }: Props) {
  const path = { dashboard_id: dashboard.id };
  const members = useApi("GET /api/v1/organizations/team", {}).data?.members;
  const [plan, setPlan] = useState(NEW_PLAN);
  const [editing, setEditing] = useState<Subscription | null>(null);
  const [takesFilters, setTakesFilters] = useState(false);
  const { user } = useMe();
  const chosen = plan.recipients ?? (user ? [user.id] : []);
  const recipients = members
    ? chosen.filter((id) => members.some(({ userId }) => userId === id))
    : [...chosen];
  const edit = (of: Subscription | null) => {
    setEditing(of);
    setTakesFilters(false);
    setPlan(of ? planOf(of.schedule.cron, of.recipients) : NEW_PLAN);
  };
  const save = useSave(onClose, () => edit(null));
  const timezone = editing?.schedule.timezone ?? ownZone() ?? "UTC";
  const isNow = plan.rhythm === "now";
  const isKept = editing !== null && !takesFilters;
  const used = isKept ? editing.filters : filters;
  const submit = () => {
    if (isNow) return save.send.mutate({ path, body: { recipients, filters } });
    const body = { schedule: { cron: cronOfPlan(plan), timezone }, recipients };
    if (!editing) return save.add.mutate({ path, body: { ...body, filters } });
    save.change.mutate({
      path: { ...path, subscription_id: editing.id },
      body: { ...body, ...(takesFilters ? { filters } : {}) },
    });
  };
  const { error } = isNow ? save.send : editing ? save.change : save.add;
  const named = Object.entries(used).map(([name, value]) => `${name}: ${value || t("any")}`);
  return (
    <Dialog
      title={t("Email {name}", { name: dashboard.name })}
      onClose={onClose}
      foot={
        <>
          {editing ? (
            <Button onClick={() => edit(null)}>{t("Cancel")}</Button>
          ) : (
            <Button onClick={onClose}>{t("Close")}</Button>
          )}
          <Button
            kind="main"
            icon={editing ? Save : Send}
            busy={save.isPending}
            disabled={recipients.length === 0}
            onClick={submit}
          >
            {editing ? t("Save changes") : isNow ? t("Send") : t("Save schedule")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <Schedules of={path} editing={editing} onEdit={edit} />
        {editing && (
          <h3 className="font-semibold">
            {t("Edit schedule {when}", { when: inRhythm(editing.schedule.cron) })}
          </h3>
        )}
        <Recipients chosen={recipients} onChange={(ids) => setPlan({ ...plan, recipients: ids })} />
        <WhenFields
          plan={plan}
          mayBeNow={editing === null}
          onChange={(change) => setPlan({ ...plan, ...change })}
        />
        {editing && (
          <label className="flex min-h-7 items-center gap-2">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={takesFilters}
              onChange={({ target }) => setTakesFilters(target.checked)}
            />
            {t("Use the filters that are set on the page now")}
          </label>
        )}
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

/** Calls of the dialog, each with its own error. */
function useSave(onSent: () => void, onSaved: () => void) {
  const send = useChange("POST /api/v1/dashboards/{dashboard_id}/send", {
    touches: ["/notices"],
    done: ({ recipients: count }) => plural(count, { one: "Email queued", other: "# emails queued" }),
    onDone: onSent,
    tellsErrors: false,
  });
  const add = useChange("POST /api/v1/dashboards/{dashboard_id}/subscriptions", {
    touches: ["/subscriptions"],
    done: t("Schedule saved"),
    onDone: onSaved,
    tellsErrors: false,
  });
  const change = useChange("PATCH /api/v1/dashboards/{dashboard_id}/subscriptions/{subscription_id}", {
    touches: ["/subscriptions"],
    done: t("Schedule saved"),
    onDone: onSaved,
    tellsErrors: false,
  });
  return { send, add, change, isPending: send.isPending || add.isPending || change.isPending };
}

interface SchedulesProps {
  of: { dashboard_id: string };
  editing: Subscription | null;
  onEdit: (subscription: Subscription | null) => void;
}

function Schedules({ of: path, editing, onEdit }: SchedulesProps) {
  const listed = useApi("GET /api/v1/dashboards/{dashboard_id}/subscriptions", { path });
  return (
    <Shown of={listed}>
      {({ subscriptions, warnings }) => (
        <>
          {warnings?.map((warning) => (
            <p key={warning} role="status" className="text-warn">
              {warning}
            </p>
          ))}
          {subscriptions.length > 0 && (
            <ul aria-label={t("Schedules")} className="divide-y divide-line rounded-md border border-line">
              {subscriptions.map((each) => (
                <Scheduled
                  key={each.id}
                  of={each}
                  isEdited={each.id === editing?.id}
                  onEdit={() => onEdit(each)}
                  onDeleted={() => each.id === editing?.id && onEdit(null)}
                />
              ))}
            </ul>
          )}
        </>
      )}
    </Shown>
  );
}

interface ScheduledProps {
  of: Subscription;
  isEdited: boolean;
  onEdit: () => void;
  onDeleted: () => void;
}

function Scheduled({ of, isEdited, onEdit, onDeleted }: ScheduledProps) {
  const { id, dashboardId, schedule, recipients, sentAt, error } = of;
  const remove = useChange("DELETE /api/v1/dashboards/{dashboard_id}/subscriptions/{subscription_id}", {
    touches: ["/subscriptions"],
    done: t("Schedule deleted"),
    onDone: onDeleted,
  });
  const when = inRhythm(schedule.cron);
  return (
    <li className={`flex items-center gap-2 py-1.5 pr-1.5 pl-3 ${isEdited ? "bg-accent-soft" : ""}`}>
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
        icon={Pencil}
        label={t("Edit schedule {when}", { when })}
        aria-pressed={isEdited}
        onClick={onEdit}
      />
      <IconButton
        icon={Trash2}
        label={t("Delete schedule {when}", { when })}
        disabled={remove.isPending}
        onClick={() => remove.mutate({ path: { dashboard_id: dashboardId, subscription_id: id } })}
      />
    </li>
  );
}
