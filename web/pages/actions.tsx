import { Plus, SearchX, Zap } from "lucide-react";
import type { Action } from "../calls.ts";
import { useApi, useMay } from "../data.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Choice, FilterBar, SearchField } from "../parts/filters.tsx";
import { Empty, PageHead, Shown } from "../parts/page.tsx";
import { Status, StatusIcon } from "../parts/status.tsx";
import { type Column, Named, Pager, Table, useFilters } from "../parts/table.tsx";
import { When } from "../parts/time.tsx";

const LIMIT = 50;

const COLUMNS: readonly Column<Action>[] = [
  { name: "Name", isWide: true, cell: ({ name, slug }) => <Named name={name} below={slug} /> },
  { name: "Kind", isMinor: true, cell: ({ kind }) => <span className="text-soft">{kind}</span> },
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
  { name: "Changed", isRight: true, isMinor: true, cell: ({ updatedAt }) => <When at={updatedAt} /> },
];

export default function Actions() {
  const filters = useFilters();
  const may = useMay("member");
  const kinds = useApi("GET /api/v1/action-kinds", {}, { isFixed: true });
  const actions = useApi(
    "GET /api/v1/actions",
    {
      query: {
        q: filters.get("q"),
        kinds: filters.all("kind") as never[],
        statuses: filters.all("status") as never[],
        sort_by: "updated_at",
        limit: LIMIT,
        offset: filters.offset,
      },
    },
    { keep: true },
  );
  return (
    <>
      <PageHead title="Actions" about="Units of work: what they do is their kind, how is their definition.">
        {may && (
          <LinkButton href="/actions/new" kind="main" icon={Plus}>
            New action
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
            label="Kind"
            value={filters.get("kind")}
            options={(kinds.data?.kinds ?? []).map(({ kind, title }) => [kind, title] as const)}
            onChange={(value) => filters.set("kind", value)}
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
        <Shown of={actions} rows={8}>
          {(page) =>
            page.actions.length > 0 ? (
              <>
                <Table
                  label="Actions"
                  columns={COLUMNS}
                  rows={page.actions}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/actions/${id}`}
                />
                <Pager
                  {...page}
                  shown={page.actions.length}
                  onOffset={(offset) => filters.set("offset", offset ? String(offset) : "")}
                />
              </>
            ) : filters.isAny ? (
              <Empty
                icon={SearchX}
                title="No action fits these filters"
                action={<Button onClick={filters.clear}>Clear filters</Button>}
              />
            ) : (
              <Empty
                icon={Zap}
                title="No actions yet"
                action={
                  <LinkButton href="/actions/new" kind="main">
                    Create the first
                  </LinkButton>
                }
              >
                An action loads a table, transforms data with SQL, calls an API, or asks a person.
              </Empty>
            )
          }
        </Shown>
      </div>
    </>
  );
}
