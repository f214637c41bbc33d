import { LayoutDashboard, Plus, SearchX } from "lucide-react";
import type { Dashboard } from "../calls.ts";
import { useApi, useMay } from "../data.ts";
import { Button, LinkButton } from "../parts/base/button.tsx";
import { Empty, PageHead, Shown } from "../parts/base/page.tsx";
import { When } from "../parts/base/time.tsx";
import { pathOf } from "../parts/dashboards/found.ts";
import { MadeByRuns, useMade } from "../parts/dashboards/of-runs.tsx";
import { askOf } from "../parts/layout/list-page.tsx";
import { FilterBar, SearchField } from "../parts/table/filters.tsx";
import { type Column, Named, Pager, Table, useFilters } from "../parts/table/table.tsx";
import { t } from "../texts/text.ts";

const COLUMNS: readonly Column<Dashboard>[] = [
  {
    name: t("Name"),
    isWide: true,
    cell: ({ name, description }) => <Named name={name} below={description} />,
  },
  { name: t("Panels"), isRight: true, isMinor: true, cell: ({ panels }) => panels.length },
  {
    name: t("Sharing"),
    isMinor: true,
    cell: ({ sharing }) => (sharing === "link" ? t("Anyone with the link") : t("Organization")),
  },
  { name: t("Updated"), isRight: true, cell: ({ updatedAt }) => <When at={updatedAt} /> },
];

export default function Dashboards() {
  const filters = useFilters();
  const may = useMay("member");
  const dashboards = useApi("GET /api/v1/dashboards", { query: askOf(filters) }, { keep: true });
  const made = useMade();
  return (
    <>
      <PageHead
        title={t("Dashboards")}
        about={t("Charts and tables of your data, queried when you open them.")}
      >
        {may && (
          <LinkButton href="/dashboards/new" kind="main" icon={Plus}>
            {t("New dashboard")}
          </LinkButton>
        )}
      </PageHead>
      <div className="card">
        <FilterBar onClear={filters.isAny && filters.clear}>
          <SearchField
            label={t("Name or slug")}
            value={filters.get("q")}
            onChange={(q) => filters.set("q", q)}
          />
        </FilterBar>
        <Shown of={dashboards}>
          {(page) =>
            page.dashboards.length > 0 ? (
              <>
                <Table
                  label={t("Dashboards")}
                  columns={COLUMNS}
                  rows={page.dashboards}
                  keyOf={({ id }) => id}
                  hrefOf={pathOf}
                />
                <Pager {...page} shown={page.dashboards.length} />
              </>
            ) : filters.isAny ? (
              <Empty
                icon={SearchX}
                title={t("No dashboards match these filters")}
                action={<Button onClick={filters.clear}>{t("Clear filters")}</Button>}
              />
            ) : (
              <Empty
                icon={LayoutDashboard}
                title={t("No dashboards yet")}
                action={
                  may && (
                    <LinkButton href="/dashboards/new" kind="main">
                      {t("Create dashboard")}
                    </LinkButton>
                  )
                }
              >
                {t("A dashboard shows the results of SQL queries as charts and tables, with filters.")}
              </Empty>
            )
          }
        </Shown>
      </div>
      {made.length > 0 && <MadeByRuns made={made} />}
    </>
  );
}
