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

const LIMIT = 50;
const sum = (tables: Dataset["tables"], of: "rows" | "bytes") =>
  tables.reduce((all, table) => all + table[of], 0);

const COLUMNS: readonly Column<Dataset>[] = [
  {
    name: "Dataset",
    isWide: true,
    cell: ({ dataset, tables }) => <Named name={dataset} below={tables.map(({ name }) => name).join(", ")} />,
  },
  { name: "Layer", cell: ({ layer }) => <Tag>{layer}</Tag> },
  { name: "Tables", isRight: true, isMinor: true, cell: ({ tables }) => tables.length },
  { name: "Rows", isRight: true, cell: ({ tables }) => counted(sum(tables, "rows")) },
  { name: "Size", isRight: true, isMinor: true, cell: ({ tables }) => sized(sum(tables, "bytes")) },
  { name: "Updated", isRight: true, isMinor: true, cell: ({ updatedAt }) => <When at={updatedAt} /> },
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
          <PageHead title="Datasets" about="Tables in the lake, by layer. Drop a file here to upload it.">
            {button}
            <LinkButton href="/sql">Open SQL</LinkButton>
          </PageHead>
          <div className="card">
            <FilterBar onClear={filters.isAny && filters.clear}>
              <SearchField
                label="Dataset or table"
                value={filters.get("q")}
                onChange={(value) => filters.set("q", value)}
              />
              <Choice
                label="Layer"
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
                      label="Datasets"
                      columns={COLUMNS}
                      rows={page.datasets}
                      keyOf={({ layer, dataset }) => `${layer}.${dataset}`}
                      hrefOf={({ layer, dataset }) => `/datasets/${layer}/${dataset}`}
                    />
                    <Pager {...page} shown={page.datasets.length} />
                  </>
                ) : filters.isAny ? (
                  <NoMatches title="No datasets match these filters" onClear={filters.clear} />
                ) : (
                  <Empty
                    icon={Database}
                    title="No data yet"
                    action={
                      <LinkButton href="/actions/new?kind=dlt_extract" kind="main">
                        Load data
                      </LinkButton>
                    }
                  >
                    Extracts load tables or files from a connection. Transforms build new tables from them.
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
