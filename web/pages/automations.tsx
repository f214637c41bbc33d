import { Plus, SearchX, Workflow } from "lucide-react";
import type { Automation } from "../calls.ts";
import { useApi, useMay } from "../data.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Choice, FilterBar, SearchField } from "../parts/filters.tsx";
import { Empty, PageHead, Shown } from "../parts/page.tsx";
import { Status, StatusIcon } from "../parts/status.tsx";
import { type Column, Named, Pager, Table, useFilters } from "../parts/table.tsx";
import { When } from "../parts/time.tsx";

const LIMIT = 50;
export const TRIGGERS = [
  ["manual", "By hand"],
  ["webhook", "Webhook"],
  ["schedule", "Schedule"],
  ["event", "Event"],
] as const;

const COLUMNS: readonly Column<Automation>[] = [
  {
    name: "Name",
    isWide: true,
    cell: ({ name, description, slug }) => <Named name={name} below={description ?? slug} />,
  },
  {
    name: "Trigger",
    isMinor: true,
    cell: ({ triggerType, nextRunAt }) => (
      <span className="text-soft">
        {TRIGGERS.find(([id]) => id === triggerType)?.[1]}
        {nextRunAt && (
          <>
            , <When at={nextRunAt} />
          </>
        )}
      </span>
    ),
  },
  { name: "Status", cell: ({ status }) => <Status status={status} /> },
  {
    name: "Latest run",
    cell: ({ latestRun }) =>
      latestRun ? (
        <span className="inline-flex items-center gap-1.5">
          <StatusIcon status={latestRun.status} />
          <When at={latestRun.completedAt ?? latestRun.startedAt} empty="just now" />
        </span>
      ) : (
        <span className="text-faint">never</span>
      ),
  },
];

export default function Automations() {
  const filters = useFilters();
  const may = useMay("member");
  const automations = useApi(
    "GET /api/v1/automations",
    {
      query: {
        q: filters.get("q"),
        trigger_type: (filters.get("trigger") || undefined) as Automation["triggerType"] | undefined,
        status: (filters.get("status") || undefined) as Automation["status"] | undefined,
        limit: LIMIT,
        offset: filters.offset,
      },
    },
    { keep: true },
  );
  return (
    <>
      <PageHead title="Automations" about="Steps that run when something triggers them.">
        {may && (
          <LinkButton href="/automations/new" kind="main" icon={Plus}>
            New automation
          </LinkButton>
        )}
      </PageHead>
      <div className="card">
        <FilterBar onClear={filters.isAny && filters.clear}>
          <SearchField
            label="Name or slug"
            value={filters.get("q")}
            onChange={(value) => filters.set("q", value)}
          />
          <Choice
            label="Trigger"
            value={filters.get("trigger")}
            options={TRIGGERS}
            onChange={(value) => filters.set("trigger", value)}
          />
          <Choice
            label="Status"
            value={filters.get("status")}
            options={[
              ["active", "Active"],
              ["disabled", "Disabled"],
            ]}
            onChange={(value) => filters.set("status", value)}
          />
        </FilterBar>
        <Shown of={automations} rows={6}>
          {(page) =>
            page.automations.length > 0 ? (
              <>
                <Table
                  label="Automations"
                  columns={COLUMNS}
                  rows={page.automations}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/automations/${id}`}
                />
                <Pager
                  {...page}
                  shown={page.automations.length}
                  onOffset={(offset) => filters.set("offset", offset ? String(offset) : "")}
                />
              </>
            ) : filters.isAny ? (
              <Empty
                icon={SearchX}
                title="No automation fits these filters"
                action={<Button onClick={filters.clear}>Clear filters</Button>}
              />
            ) : (
              <Empty
                icon={Workflow}
                title="No automations yet"
                action={
                  <LinkButton href="/automations/new" kind="main">
                    Create the first
                  </LinkButton>
                }
              >
                An automation runs actions when a webhook comes, at set times, when something happens here, or
                by hand.
              </Empty>
            )
          }
        </Shown>
      </div>
    </>
  );
}
