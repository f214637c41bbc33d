import { Cable, Plus, SearchX } from "lucide-react";
import type { Connection } from "../calls.ts";
import { useApi, useMay } from "../data.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Choice, FilterBar, SearchField } from "../parts/filters.tsx";
import { Empty, PageHead, Shown } from "../parts/page.tsx";
import { Status, Tag } from "../parts/status.tsx";
import { type Column, Named, Pager, Table, useFilters } from "../parts/table.tsx";
import { When } from "../parts/time.tsx";

const LIMIT = 50;

const COLUMNS: readonly Column<Connection>[] = [
  {
    name: "Name",
    isWide: true,
    cell: ({ name, slug, verificationError }) => <Named name={name} below={verificationError ?? slug} />,
  },
  {
    name: "Provider",
    isMinor: true,
    cell: ({ provider, isDefault }) => (
      <span className="space-x-1.5 text-soft">
        <span>{provider}</span>
        {isDefault && <Tag>default</Tag>}
      </span>
    ),
  },
  { name: "Status", cell: ({ status }) => <Status status={status} /> },
  {
    name: "Verified",
    isRight: true,
    isMinor: true,
    cell: ({ lastVerifiedAt }) => <When at={lastVerifiedAt} />,
  },
  { name: "Used", isRight: true, isMinor: true, cell: ({ lastUsedAt }) => <When at={lastUsedAt} /> },
];

export default function Connections() {
  const filters = useFilters();
  const may = useMay("member");
  const providers = useApi("GET /api/v1/connection-providers", {}, { isFixed: true });
  const connections = useApi(
    "GET /api/v1/connections",
    {
      query: {
        q: filters.get("q"),
        provider: filters.all("provider"),
        status: filters.all("status") as never[],
        limit: LIMIT,
        offset: filters.offset,
      },
    },
    { keep: true },
  );
  return (
    <>
      <PageHead
        title="Connections"
        about="Links to other systems. Their credentials are written, never read back."
      >
        {may && (
          <LinkButton href="/connections/new" kind="main" icon={Plus}>
            New connection
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
            label="Provider"
            value={filters.get("provider")}
            options={(providers.data?.providers ?? []).map(({ id, title }) => [id, title] as const)}
            onChange={(value) => filters.set("provider", value)}
          />
          <Choice
            label="Status"
            value={filters.get("status")}
            options={[
              ["active", "Active"],
              ["needs_verification", "Not verified"],
              ["error", "Error"],
              ["disabled", "Disabled"],
            ]}
            onChange={(value) => filters.set("status", value)}
          />
        </FilterBar>
        <Shown of={connections} rows={6}>
          {(page) =>
            page.connections.length > 0 ? (
              <>
                <Table
                  label="Connections"
                  columns={COLUMNS}
                  rows={page.connections}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/connections/${id}`}
                />
                <Pager
                  {...page}
                  shown={page.connections.length}
                  onOffset={(offset) => filters.set("offset", offset ? String(offset) : "")}
                />
              </>
            ) : filters.isAny ? (
              <Empty
                icon={SearchX}
                title="No connection fits these filters"
                action={<Button onClick={filters.clear}>Clear filters</Button>}
              />
            ) : (
              <Empty
                icon={Cable}
                title="No connections yet"
                action={
                  <LinkButton href="/connections/new" kind="main">
                    Connect a system
                  </LinkButton>
                }
              >
                Databases, object stores, files and HTTP APIs that actions read from and write to.
              </Empty>
            )
          }
        </Shown>
      </div>
    </>
  );
}
