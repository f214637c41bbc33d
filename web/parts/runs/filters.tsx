import type { Run } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { named } from "../base/named.ts";
import { Choice } from "../table/filters.tsx";
import { PeriodChoice, periodOf } from "../table/period.tsx";
import type { Filters } from "../table/table.tsx";

const STATUSES = named<Run["status"]>({
  pending: t("Queued"),
  running: t("Running"),
  waiting: t("Waiting"),
  completed: t("Completed"),
  failed: t("Failed"),
  cancelled: t("Cancelled"),
});

const TRIGGERS = named<Run["triggerMethod"]>({
  ui: t("Manual"),
  api: "API",
  cli: t("Command line"),
  schedule: t("Schedule"),
  webhook: t("Webhook"),
  form: t("Form"),
  event: t("Event"),
  automation: t("Automation"),
  agent: t("Agent"),
  retry: t("Retry"),
  test: t("Test"),
});
const TRIGGER_NAMES = new Map<string, string>(TRIGGERS);

/** Name of a trigger. */
export const triggerName = (method: Run["triggerMethod"]): string => TRIGGER_NAMES.get(method) ?? method;

/** Query of every list of runs, from the URL. */
export const runQueryOf = (filters: Filters) => ({
  statuses: filters.all("status") as Run["status"][],
  trigger_method: (filters.get("trigger") || undefined) as Run["triggerMethod"] | undefined,
  ...periodOf(filters),
});

export const StatusChoice = ({ filters }: { filters: Filters }) => (
  <Choice
    label={t("Status")}
    value={filters.get("status")}
    options={STATUSES}
    onChange={(value) => filters.set("status", value)}
  />
);

/** Filters by trigger and time. */
export function TriggerAndTime({ filters }: { filters: Filters }) {
  return (
    <>
      <Choice
        label={t("Trigger")}
        value={filters.get("trigger")}
        options={TRIGGERS}
        onChange={(value) => filters.set("trigger", value)}
      />
      <PeriodChoice filters={filters} />
    </>
  );
}
