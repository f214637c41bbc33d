import { ListChecks } from "lucide-react";
import type { TRIGGER_METHODS } from "../../src/resources/runs/table.ts";
import type { Run } from "../calls.ts";
import { useApi } from "../data.ts";
import { LinkButton } from "../parts/base/button.tsx";
import { named } from "../parts/base/named.ts";
import { Empty, PageHead, Shown } from "../parts/base/page.tsx";
import { RunTable } from "../parts/runs/table.tsx";
import { Chip, Choice, FilterBar } from "../parts/table/filters.tsx";
import { NoMatches } from "../parts/table/no-matches.tsx";
import { Pager, useFilters } from "../parts/table/table.tsx";

const LIMIT = 50;
const HOUR_MS = 3_600_000;

const RUN_STATUSES = named<Run["status"]>({
  pending: "Queued",
  running: "Running",
  waiting: "Waiting",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
});

const TRIGGERS: typeof TRIGGER_METHODS = [
  "ui",
  "api",
  "cli",
  "schedule",
  "webhook",
  "form",
  "event",
  "automation",
  "agent",
  "retry",
  "test",
];
const SPANS = [
  ["1", "Last hour"],
  ["24", "Last 24 hours"],
  ["168", "Last 7 days"],
  ["720", "Last 30 days"],
] as const;

/** The start of a span that ends now, to the minute, so that the same filter asks the same question. */
const sinceOf = (hours: string): string | undefined =>
  Number(hours) > 0
    ? new Date(Math.floor(Date.now() / 60_000) * 60_000 - Number(hours) * HOUR_MS).toISOString()
    : undefined;

/** Filters that links set. */
const LINKED = [
  ["action", "Action"],
  ["automation_run", "Automation run"],
  ["since", "From"],
  ["until", "To"],
] as const;

export default function Runs() {
  const filters = useFilters();
  const kinds = useApi("GET /api/v1/action-kinds", {}, { isFixed: true });
  const since = filters.get("since") || sinceOf(filters.get("span"));
  const runs = useApi(
    "GET /api/v1/action-runs",
    {
      query: {
        statuses: filters.all("status") as Run["status"][],
        kinds: filters.all("kind") as never[],
        action_id: filters.get("action"),
        automation_run_id: filters.get("automation_run"),
        trigger_method: (filters.get("trigger") || undefined) as Run["triggerMethod"] | undefined,
        since,
        until: filters.get("until"),
        limit: LIMIT,
        offset: filters.offset,
      },
    },
    { keep: true },
  );
  return (
    <>
      <PageHead title="Runs" about="Every run of every action, newest first." />
      <div className="card">
        <FilterBar onClear={filters.isAny && filters.clear}>
          <Choice
            label="Status"
            value={filters.get("status")}
            options={RUN_STATUSES}
            onChange={(value) => filters.set("status", value)}
          />
          <Choice
            label="Kind"
            value={filters.get("kind")}
            options={(kinds.data?.kinds ?? []).map(({ kind, title }) => [kind, title] as const)}
            onChange={(value) => filters.set("kind", value)}
          />
          <Choice
            label="Trigger"
            value={filters.get("trigger")}
            options={TRIGGERS.map((trigger) => [trigger, trigger] as const)}
            onChange={(value) => filters.set("trigger", value)}
          />
          <Choice
            label="Time"
            value={filters.get("span")}
            options={SPANS}
            onChange={(value) => filters.set("span", value)}
          />
          {LINKED.map(
            ([name, title]) =>
              filters.get(name) !== "" && (
                <Chip
                  key={name}
                  name={title}
                  value={filters.get(name)}
                  onDrop={() => filters.set(name, "")}
                />
              ),
          )}
        </FilterBar>
        <Shown of={runs} rows={8}>
          {(page) =>
            page.runs.length === 0 ? (
              filters.isAny ? (
                <NoMatches title="No runs match these filters" onClear={filters.clear} />
              ) : (
                <Empty
                  icon={ListChecks}
                  title="No runs yet"
                  action={
                    <>
                      <LinkButton href="/actions/new" kind="main">
                        Create action
                      </LinkButton>
                      <LinkButton href="/bundles">Browse bundles</LinkButton>
                    </>
                  }
                >
                  Runs appear here when you run an action or an automation starts one.
                </Empty>
              )
            ) : (
              <>
                <RunTable runs={page.runs} />
                <Pager {...page} shown={page.runs.length} />
              </>
            )
          }
        </Shown>
      </div>
    </>
  );
}
