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
import { TYPES, typeName } from "../parts/templates/fields.tsx";
import { t } from "../texts/text.ts";

const LIMIT = 50;

const STATUSES = named<ListedTemplate["status"]>({
  draft: t("Draft"),
  published: t("Published"),
  deprecated: t("Deprecated"),
});

const COLUMNS: readonly Column<ListedTemplate>[] = [
  {
    name: t("Name"),
    isWide: true,
    cell: ({ displayName, slug }) => <Named name={displayName} below={slug} />,
  },
  { name: t("Type"), isMinor: true, cell: ({ templateType }) => <Tag>{typeName(templateType)}</Tag> },
  { name: t("Version"), isRight: true, cell: ({ version }) => version },
  { name: t("Status"), cell: ({ status }) => <Status status={status} /> },
  { name: t("Updated"), isRight: true, isMinor: true, cell: ({ updatedAt }) => <When at={updatedAt} /> },
];

export default function Templates() {
  const may = useMay("member");
  const filters = useFilters();
  const query = {
    template_type: filters.get("type") || undefined,
    status: filters.get("status") || undefined,
    built_in: false,
    summary: true,
    limit: LIMIT,
    offset: filters.offset,
  };
  const templates = useApi("GET /api/v1/templates", { query: query as never }, { keep: true });
  return (
    <>
      <PageHead
        title={t("Templates")}
        about={t(
          "Versioned definitions for your own connections, actions and bundles. Published versions are immutable.",
        )}
      >
        {may && (
          <LinkButton href="/templates/new" kind="main" icon={Plus}>
            {t("New template")}
          </LinkButton>
        )}
      </PageHead>
      <Siblings of={BUNDLE_PAGES} label={t("Bundles and templates")} />
      <div className="card">
        <FilterBar onClear={filters.isAny && filters.clear}>
          <Choice
            label={t("Status")}
            value={filters.get("status")}
            options={STATUSES}
            onChange={(value) => filters.set("status", value)}
          />
          <Choice
            label={t("Type")}
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
                  label={t("Templates")}
                  columns={COLUMNS}
                  rows={rows}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/templates/${id}`}
                />
                <Pager offset={filters.offset} limit={LIMIT} total={total} shown={rows.length} />
              </>
            ) : filters.isAny ? (
              <NoMatches title={t("No templates match these filters")} onClear={filters.clear} />
            ) : (
              <Empty
                icon={FileCode}
                title={t("No templates yet")}
                action={
                  <>
                    {may && (
                      <LinkButton href="/templates/new" kind="main">
                        {t("Create template")}
                      </LinkButton>
                    )}
                    <LinkButton href="/bundles">{t("View built-in bundles")}</LinkButton>
                  </>
                }
              >
                {t("Write a template once, then reuse it with different inputs.")}
              </Empty>
            )
          }
        </Shown>
      </div>
    </>
  );
}
