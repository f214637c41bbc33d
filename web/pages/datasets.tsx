import { Database } from "lucide-react";
import type { Dataset } from "../calls.ts";
import { useApi } from "../data.ts";
import { LinkButton } from "../parts/base/button.tsx";
import { Empty, PageHead, Shown } from "../parts/base/page.tsx";
import { Tag } from "../parts/base/status.tsx";
import { counted, sized, When } from "../parts/base/time.tsx";
import { UploadArea } from "../parts/datasets/upload.tsx";
import { Choice, FilterBar, SearchField } from "../parts/table/filters.tsx";
import { NoMatches } from "../parts/table/no-matches.tsx";
import { type Column, Named, Pager, Table, useFilters } from "../parts/table/table.tsx";
import { t } from "../texts/text.ts";

const LIMIT = 50;
const sum = (tables: Dataset["tables"], of: "rows" | "bytes") =>
  tables.reduce((all, table) => all + table[of], 0);

const COLUMNS: readonly Column<Dataset>[] = [
  {
    name: t("Dataset"),
    isWide: true,
    cell: ({ dataset, tables }) => (
      <Named
        name={dataset}
        below={
          tables.length === 1 && tables[0]?.name === dataset
            ? null
            : tables.map(({ name }) => name).join(", ")
        }
      />
    ),
  },
  { name: t("Layer"), cell: ({ layer }) => <Tag>{layer}</Tag> },
  { name: t("Tables"), isRight: true, isMinor: true, cell: ({ tables }) => tables.length },
  { name: t("Rows"), isRight: true, cell: ({ tables }) => counted(sum(tables, "rows")) },
  { name: t("Size"), isRight: true, isMinor: true, cell: ({ tables }) => sized(sum(tables, "bytes")) },
  { name: t("Updated"), isRight: true, isMinor: true, cell: ({ updatedAt }) => <When at={updatedAt} /> },
];

export default function Datasets() {
  const filters = useFilters();
  const datasets = useApi(
    "GET /api/v1/datasets",
    {
      query: {
        q: filters.get("q"),
        layer: filters.get("layer") || undefined,
        limit: LIMIT,
        offset: filters.offset,
      } as never,
    },
    { keep: true },
  );
  return (
    <UploadArea>
      {(button) => (
        <>
          <PageHead
            title={t("Datasets")}
            about={t("Tables in the lake, by layer. Drop a file here to upload it.")}
          >
            {button}
            <LinkButton href="/sql">{t("Open SQL")}</LinkButton>
          </PageHead>
          <div className="card">
            <FilterBar onClear={filters.isAny && filters.clear}>
              <SearchField
                label={t("Dataset or table")}
                value={filters.get("q")}
                onChange={(value) => filters.set("q", value)}
              />
              <Choice
                label={t("Layer")}
                value={filters.get("layer")}
                options={["raw", "staging", "marts"].map((layer) => [layer, layer] as const)}
                onChange={(value) => filters.set("layer", value)}
              />
            </FilterBar>
            <Shown of={datasets}>
              {(page) =>
                page.datasets.length > 0 ? (
                  <>
                    <Table
                      label={t("Datasets")}
                      columns={COLUMNS}
                      rows={page.datasets}
                      keyOf={({ layer, dataset }) => `${layer}.${dataset}`}
                      hrefOf={({ layer, dataset }) => `/datasets/${layer}/${dataset}`}
                    />
                    <Pager {...page} shown={page.datasets.length} />
                  </>
                ) : filters.isAny ? (
                  <NoMatches title={t("No datasets match these filters")} onClear={filters.clear} />
                ) : (
                  <Empty
                    icon={Database}
                    title={t("No data yet")}
                    action={
                      <LinkButton href="/actions/new?kind=dlt_extract" kind="main">
                        {t("Load data")}
                      </LinkButton>
                    }
                  >
                    {t(
                      "Extracts load tables or files from a connection. Transforms build new tables from them.",
                    )}
                  </Empty>
                )
              }
            </Shown>
          </div>
        </>
      )}
    </UploadArea>
  );
}
