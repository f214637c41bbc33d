import { FileCode, Plus } from "lucide-react";
import type { ListedTemplate } from "../calls.ts";
import { useApi, useMay } from "../data.ts";
import { LinkButton } from "../parts/base/button.tsx";
import { named } from "../parts/base/named.ts";
import { Empty, PageHead, Shown } from "../parts/base/page.tsx";
import { Status, Tag } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { BUNDLE_PAGES, Siblings } from "../parts/layout/siblings.tsx";
import { Choice, FilterBar } from "../parts/table/filters.tsx";
import { NoMatches } from "../parts/table/no-matches.tsx";
import { type Column, Named, Pager, Table, useFilters } from "../parts/table/table.tsx";
import { TYPES } from "../parts/templates/fields.tsx";

const LIMIT = 50;

const STATUSES = named<ListedTemplate["status"]>({
  draft: "Draft",
  published: "Published",
  deprecated: "Deprecated",
});

const COLUMNS: readonly Column<ListedTemplate>[] = [
  {
    name: "Name",
    isWide: true,
    cell: ({ displayName, slug }) => <Named name={displayName} below={slug} />,
  },
  { name: "Type", isMinor: true, cell: ({ templateType }) => <Tag>{templateType}</Tag> },
  { name: "Version", isRight: true, cell: ({ version }) => version },
  { name: "Status", cell: ({ status }) => <Status status={status} /> },
  { name: "Updated", isRight: true, isMinor: true, cell: ({ updatedAt }) => <When at={updatedAt} /> },
];

export default function Templates() {
  const may = useMay("member");
  const filters = useFilters();
  const query = {
    template_type: filters.get("type") || undefined,
    status: filters.get("status") || undefined,
    summary: true,
    limit: LIMIT,
    offset: filters.offset,
  };
  const templates = useApi("GET /api/v1/templates", { query: query as never }, { keep: true });
  return (
    <>
      <PageHead
        title="Templates"
        about="Versioned definitions for your own connections, actions and bundles. Published versions are immutable."
      >
        {may && (
          <LinkButton href="/templates/new" kind="main" icon={Plus}>
            New template
          </LinkButton>
        )}
      </PageHead>
      <Siblings of={BUNDLE_PAGES} label="Bundles and templates" />
      <div className="card">
        <FilterBar onClear={filters.isAny && filters.clear}>
          <Choice
            label="Status"
            value={filters.get("status")}
            options={STATUSES}
            onChange={(value) => filters.set("status", value)}
          />
          <Choice
            label="Type"
            value={filters.get("type")}
            options={TYPES}
            onChange={(value) => filters.set("type", value)}
          />
        </FilterBar>
        <Shown of={templates} rows={8}>
          {({ templates: rows, total }) =>
            rows.length > 0 ? (
              <>
                <Table
                  label="Templates"
                  columns={COLUMNS}
                  rows={rows}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/templates/${id}`}
                />
                <Pager offset={filters.offset} limit={LIMIT} total={total} shown={rows.length} />
              </>
            ) : filters.isAny ? (
              <NoMatches title="No templates match these filters" onClear={filters.clear} />
            ) : (
              <Empty
                icon={FileCode}
                title="No templates yet"
                action={
                  <>
                    {may && (
                      <LinkButton href="/templates/new" kind="main">
                        Create template
                      </LinkButton>
                    )}
                    <LinkButton href="/bundles">View built-in bundles</LinkButton>
                  </>
                }
              >
                Write a template once, then reuse it with different inputs.
              </Empty>
            )
          }
        </Shown>
      </div>
    </>
  );
}
