import { Database, SquareTerminal, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import type { Dataset } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { IconButton, LinkButton } from "../parts/base/button.tsx";
import { CopyButton } from "../parts/base/copy.tsx";
import { Confirm } from "../parts/base/dialog.tsx";
import { Empty, PageHead, Section, Shown } from "../parts/base/page.tsx";
import { plural } from "../parts/base/plural.ts";
import { Tag } from "../parts/base/status.tsx";
import { counted, sized, When } from "../parts/base/time.tsx";
import { Grid } from "../parts/table/grid.tsx";

const PREVIEW_ROWS = 200;

export default function DatasetPage({ layer, dataset }: { layer: string; dataset: string }) {
  const found = useApi("GET /api/v1/datasets", { query: { layer, q: dataset, limit: 100 } });
  return (
    <Shown of={found}>
      {({ datasets }) => {
        const whole = datasets.find((each) => each.dataset === dataset && each.layer === layer);
        return whole ? (
          <Whole of={whole} />
        ) : (
          <Empty
            icon={Database}
            title="Dataset not found"
            action={<LinkButton href="/datasets">View all datasets</LinkButton>}
          />
        );
      }}
    </Shown>
  );
}

/** How SQL names a table: by the dataset alone where it bears its name. */
const sqlName = (layer: string, dataset: string, table: string) =>
  `${layer}.${table === dataset ? dataset : `${dataset}__${table}`}`;

function Whole({ of: { layer, dataset, tables, updatedAt } }: { of: Dataset }) {
  const may = useMay("member");
  const [search] = useSearchParams();
  const [, go] = useLocation();
  const [asks, setAsks] = useState(false);
  const table =
    tables.find(({ name }) => name === search.get("table")) ??
    tables.find(({ name }) => name === dataset) ??
    tables[0];
  const remove = useChange("DELETE /api/v1/datasets/{layer}/{dataset}", {
    touches: ["/datasets"],
    done: `${layer}.${dataset} deleted`,
    onDone: () => go("/datasets"),
  });
  const name = table ? sqlName(layer, dataset, table.name) : "";
  const rows = counted(tables.reduce((all, table) => all + table.rows, 0));
  return (
    <>
      <PageHead
        title={dataset}
        from={[
          ["/datasets", "Datasets"],
          [`/datasets?layer=${layer}`, layer],
        ]}
        beside={<Tag>{layer}</Tag>}
        about={
          <>
            Updated <When at={updatedAt} />
          </>
        }
      >
        {may && <IconButton icon={Trash2} label="Delete dataset" onClick={() => setAsks(true)} />}
        {table && (
          <LinkButton
            href={`/sql?sql=${encodeURIComponent(`SELECT *\nFROM ${name}\nLIMIT 100`)}`}
            icon={SquareTerminal}
          >
            Query
          </LinkButton>
        )}
      </PageHead>
      <div className="grid items-start gap-x-5 lg:grid-cols-[15rem_minmax(0,1fr)]">
        <div>
          <Section title="Tables" flush>
            <ul>
              {tables.map((each) => (
                <li key={each.name} className="border-t border-line first:border-t-0">
                  <button
                    type="button"
                    aria-current={each.name === table?.name ? "true" : undefined}
                    onClick={() => go(`/datasets/${layer}/${dataset}?table=${encodeURIComponent(each.name)}`)}
                    className={`block w-full px-4 py-2 text-left text-sm hover:bg-sunken ${each.name === table?.name ? "bg-accent-soft" : ""}`}
                  >
                    <span className="block truncate font-medium">{each.name}</span>
                    <span className="block text-xs text-soft tabular-nums">
                      {[
                        plural(each.rows, { one: "# row", other: "# rows" }),
                        sized(each.bytes),
                        plural(each.files, { one: "# file", other: "# files" }),
                      ].join(" · ")}
                    </span>
                  </button>
                </li>
              ))}
            </ul>
          </Section>
          {table && (
            <Section title={plural(table.columns.length, { one: "# column", other: "# columns" })} flush>
              <dl className="max-h-96 overflow-y-auto py-1 text-xs">
                {table.columns.map((column) => (
                  <div key={column.name} className="flex justify-between gap-3 px-4 py-1">
                    <dt className="truncate font-mono" title={column.name}>
                      {column.name}
                    </dt>
                    <dd className="shrink-0 text-soft">{column.dataType.toLowerCase()}</dd>
                  </div>
                ))}
              </dl>
            </Section>
          )}
        </div>
        {table && (
          <Section
            title="Preview"
            flush
            aside={
              <span className="inline-flex items-center gap-1">
                <code className="font-mono">{name}</code>
                <CopyButton text={name} label="Copy name for SQL" />
              </span>
            }
          >
            <PreviewOf layer={layer} dataset={dataset} table={table.name} />
          </Section>
        )}
      </div>
      {asks && (
        <Confirm
          title={`Delete ${layer}.${dataset}?`}
          verb="Delete"
          typed={dataset}
          isBusy={remove.isPending}
          onClose={() => setAsks(false)}
          onConfirm={() => remove.mutate({ path: { layer, dataset } }, { onSettled: () => setAsks(false) })}
        >
          <p>
            {plural(tables.length, {
              one: `This permanently deletes # table (rows: ${rows}). Transforms that read it will fail.`,
              other: `This permanently deletes # tables (rows: ${rows}). Transforms that read them will fail.`,
            })}
          </p>
        </Confirm>
      )}
    </>
  );
}

function PreviewOf({ layer, dataset, table }: { layer: string; dataset: string; table: string }) {
  const preview = useApi("GET /api/v1/datasets/{layer}/{dataset}/preview", {
    path: { layer, dataset },
    query: { table, limit: PREVIEW_ROWS },
  });
  return (
    <Shown of={preview} rows={8}>
      {({ columns, rows }) =>
        rows.length === 0 ? (
          <p className="p-4 text-sm text-soft">This table has no rows.</p>
        ) : (
          <Grid columns={columns} rows={rows} label={`Rows of ${table}`} height={520} />
        )
      }
    </Shown>
  );
}
