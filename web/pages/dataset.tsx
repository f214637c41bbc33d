import { Database, SquareTerminal, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import type { Dataset } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { IconButton, LinkButton } from "../parts/base/button.tsx";
import { CopyButton } from "../parts/base/copy.tsx";
import { Confirm } from "../parts/base/dialog.tsx";
import { Empty, PageHead, Section, Shown } from "../parts/base/page.tsx";
import { plural } from "../parts/base/plural.ts";
import { Tag } from "../parts/base/status.tsx";
import { tableName } from "../parts/base/table-name.ts";
import { counted, sized } from "../parts/base/time.tsx";
import { LineageOf } from "../parts/datasets/lineage.tsx";
import { Freshness, LoadsOf, Updated } from "../parts/datasets/loads.tsx";
import { ProfileOf } from "../parts/datasets/profile.tsx";
import { UploadArea } from "../parts/datasets/upload.tsx";
import { Grid } from "../parts/table/grid.tsx";
import { t } from "../texts/text.ts";

const PREVIEW_ROWS = 200;

export default function DatasetPage({ layer, dataset }: { layer: string; dataset: string }) {
  const found = useApi("GET /api/v1/datasets", { query: { layer, q: dataset, limit: 100 } });
  return (
    <Shown of={found} isPage>
      {({ datasets }) => {
        const whole = datasets.find((each) => each.dataset === dataset && each.layer === layer);
        return whole ? (
          <Uploading of={whole} />
        ) : (
          <>
            <PageHead title={t("Not found")} />
            <div className="card">
              <Empty
                icon={Database}
                title={t("Dataset not found")}
                action={<LinkButton href="/datasets">{t("View all datasets")}</LinkButton>}
              />
            </div>
          </>
        );
      }}
    </Shown>
  );
}

/** A file dropped on the page is loaded into the table shown. */
function Uploading({ of }: { of: Dataset }) {
  const [search] = useSearchParams();
  const table = tableOf(of, search.get("table"));
  const to = { layer: of.layer, dataset: of.dataset, table: table?.name ?? of.dataset };
  return <UploadArea to={to}>{(upload) => <Whole of={of} upload={upload} />}</UploadArea>;
}

/** The table in the URL, else the one with the dataset's name, else the first. */
const tableOf = ({ tables, dataset }: Dataset, named: string | null) =>
  tables.find(({ name }) => name === named) ?? tables.find(({ name }) => name === dataset) ?? tables[0];

const PARTS = [
  ["preview", t("Preview")],
  ["profile", t("Profile")],
  ["loads", t("Loads")],
  ["lineage", t("Lineage")],
] as const;
type Part = (typeof PARTS)[number][0];

function Parts({ part, onPick }: { part: Part; onPick: (part: Part) => void }) {
  return (
    <span className="flex gap-3">
      {PARTS.map(([id, name]) => (
        <button
          key={id}
          type="button"
          aria-pressed={id === part}
          onClick={() => onPick(id)}
          className={id === part ? "" : "font-normal text-soft hover:text-ink"}
        >
          {name}
        </button>
      ))}
    </span>
  );
}

function Whole({ of, upload }: { of: Dataset; upload: ReactNode }) {
  const { layer, dataset, tables, updatedAt } = of;
  const may = useMay("member");
  const [search, setSearch] = useSearchParams();
  const part = PARTS.find(([id]) => id === search.get("tab"))?.[0] ?? "preview";
  const put = (change: Record<string, string>) =>
    setSearch((before) => ({ ...Object.fromEntries(before), ...change }), { replace: true });
  const [, go] = useLocation();
  const [asks, setAsks] = useState(false);
  const table = tableOf(of, search.get("table"));
  const remove = useChange("DELETE /api/v1/datasets/{layer}/{dataset}", {
    touches: ["/datasets"],
    done: t("{layer}.{dataset} deleted", { layer, dataset }),
    onDone: () => go("/datasets"),
  });
  const name = table ? tableName(layer, dataset, table.name) : "";
  const rows = counted(tables.reduce((all, table) => all + table.rows, 0));
  return (
    <>
      <PageHead
        title={dataset}
        from={[
          ["/datasets", t("Datasets")],
          [`/datasets?layer=${layer}`, layer],
        ]}
        beside={<Tag>{layer}</Tag>}
        about={<Updated layer={layer} dataset={dataset} updatedAt={updatedAt} />}
      >
        {upload}
        {may && <IconButton icon={Trash2} label={t("Delete dataset")} onClick={() => setAsks(true)} />}
        {table && (
          <LinkButton
            href={`/sql?sql=${encodeURIComponent(`SELECT *\nFROM ${name}\nLIMIT 100`)}`}
            icon={SquareTerminal}
          >
            {t("Query")}
          </LinkButton>
        )}
      </PageHead>
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-5 lg:grid-cols-[15rem_minmax(0,1fr)]">
        <div className="max-lg:order-last">
          <Freshness layer={layer} dataset={dataset} />
          <Section title={t("Tables")} flush>
            <ul>
              {tables.map((each) => (
                <li key={each.name} className="border-t border-line first:border-t-0">
                  <button
                    type="button"
                    aria-current={each.name === table?.name ? "true" : undefined}
                    onClick={() => put({ table: each.name })}
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
            title={<Parts part={part} onPick={(tab) => put({ tab })} />}
            flush
            aside={
              <span className="inline-flex items-center gap-1">
                <code className="font-mono">{name}</code>
                <CopyButton text={name} label={t("Copy name for SQL")} />
              </span>
            }
          >
            {part === "preview" && <PreviewOf layer={layer} dataset={dataset} table={table.name} />}
            {part === "profile" && <ProfileOf layer={layer} dataset={dataset} table={table.name} />}
            {part === "loads" && <LoadsOf layer={layer} dataset={dataset} table={table.name} name={name} />}
            {part === "lineage" && <LineageOf key={`${layer}.${dataset}`} layer={layer} dataset={dataset} />}
          </Section>
        )}
      </div>
      {asks && (
        <Confirm
          title={t("Delete {layer}.{dataset}?", { layer, dataset })}
          verb={t("Delete")}
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
          <p className="p-4 text-sm text-soft">{t("This table has no rows.")}</p>
        ) : (
          <Grid columns={columns} rows={rows} label={t("Rows of {table}", { table })} height={520} />
        )
      }
    </Shown>
  );
}
