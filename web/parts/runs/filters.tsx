import type { Run } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { named } from "../base/named.ts";
import { shortly } from "../base/time.tsx";
import { Chip, Choice } from "../table/filters.tsx";
import type { Filters } from "../table/table.tsx";

const HOUR_MS = 3_600_000;

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

/** What started a run, in words. */
export const triggerName = (method: Run["triggerMethod"]): string => TRIGGER_NAMES.get(method) ?? method;

const SPANS = [
  ["1", t("Last hour")],
  ["24", t("Last 24 hours")],
  ["168", t("Last 7 days")],
  ["720", t("Last 30 days")],
] as const;

/** The start of a span that ends now, to the minute, so that the same filter asks the same question. */
const sinceOf = (hours: string): string | undefined =>
  Number(hours) > 0
    ? new Date(Math.floor(Date.now() / 60_000) * 60_000 - Number(hours) * HOUR_MS).toISOString()
    : undefined;

/** What every list of runs is asked by the address. */
export const runQueryOf = (filters: Filters) => ({
  statuses: filters.all("status") as Run["status"][],
  trigger_method: (filters.get("trigger") || undefined) as Run["triggerMethod"] | undefined,
  since: filters.get("since") || sinceOf(filters.get("span")),
  until: filters.get("until"),
});

export const StatusChoice = ({ filters }: { filters: Filters }) => (
  <Choice
    label={t("Status")}
    value={filters.get("status")}
    options={STATUSES}
    onChange={(value) => filters.set("status", value)}
  />
);

/** By trigger and by time; a period that a link set shows as its two ends. */
export function TriggerAndTime({ filters }: { filters: Filters }) {
  return (
    <>
      <Choice
        label={t("Trigger")}
        value={filters.get("trigger")}
        options={TRIGGERS}
        onChange={(value) => filters.set("trigger", value)}
      />
      <Choice
        label={t("Time")}
        value={filters.get("span")}
        options={SPANS}
        onChange={(value) => filters.set("span", value)}
      />
      <LinkedChip
        filters={filters}
        name="since"
        title={t("From")}
        shown={instantName(filters.get("since"))}
      />
      <LinkedChip filters={filters} name="until" title={t("To")} shown={instantName(filters.get("until"))} />
    </>
  );
}

const instantName = (text: string) => (Number.isNaN(Date.parse(text)) ? text : shortly(text));

interface LinkedProps {
  filters: Filters;
  name: string;
  title: string;
  /** In place of the value, which may be an ID. */
  shown?: string | undefined;
}

/** A filter that a link has set. */
export function LinkedChip({ filters, name, title, shown }: LinkedProps) {
  const value = filters.get(name);
  if (value === "") return null;
  return <Chip name={title} value={shown ?? value} onDrop={() => filters.set(name, "")} />;
}
