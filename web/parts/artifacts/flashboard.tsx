import type { Json } from "../../../src/base/json.ts";
import { rich } from "../../texts/rich.ts";
import { t } from "../../texts/text.ts";
import { Section } from "../base/page.tsx";
import { plural } from "../base/plural.ts";
import { When } from "../base/time.tsx";
import { Grid } from "../table/grid.tsx";
import { Drawing } from "./drawing.tsx";

interface Origin {
  layer: string;
  dataset: string;
  table: string;
  version: number | null;
  rows: number;
  /** The load that the rows are from, if it isn't the latest. */
  asOf?: string;
}

interface Panel {
  title: string;
  sql: string;
  parameters?: Record<string, Json>;
  chart?: Record<string, Json> | null;
  width: number;
  columns: { name: string; dataType: string }[];
  rows: Record<string, unknown>[];
  truncated: boolean;
  note: string | null;
  svg: string | null;
  provenance: { runId: string; queriedAt: string; tables: Origin[] };
}

export interface Board {
  title: string;
  createdAt: string;
  panels: Panel[];
}

/** The dashboard in an artifact. Null for other artifacts. */
export function boardOf(data: unknown): Board | null {
  if (typeof data !== "object" || data === null) return null;
  const { type, panels } = data as { type?: unknown; panels?: unknown };
  return type === "flashboard" && Array.isArray(panels) && panels.every(isPanel) ? (data as Board) : null;
}

/** Artifacts come from anywhere, so anything that isn't a valid panel is ignored. */
function isPanel(panel: unknown): boolean {
  if (typeof panel !== "object" || panel === null) return false;
  const { title, sql, columns, rows, provenance } = panel as Partial<Record<keyof Panel, unknown>>;
  return (
    typeof title === "string" &&
    typeof sql === "string" &&
    Array.isArray(columns) &&
    Array.isArray(rows) &&
    Array.isArray((provenance as { tables?: unknown } | undefined)?.tables)
  );
}

/** Panels in the form of a dashboard's, which queries them again. */
export const panelsOf = ({ panels }: Board) =>
  panels.map(({ title, sql, parameters = {}, chart = null }) => ({
    title,
    sql,
    queryId: null,
    parameters,
    chart,
  }));

/** A table that numbers come from, such as `marts.sales, table sales: version 1, 2 rows`. */
function sourceInWords({ layer, dataset, table, version, rows, asOf }: Origin): string {
  const names = {
    dataset: `${layer}.${dataset}`,
    table,
    rows: plural(rows, { one: "# row", other: "# rows" }),
  };
  return asOf
    ? t("{dataset}, table {table}: as of load {asOf}, {rows}", { ...names, asOf })
    : t("{dataset}, table {table}: version {version}, {rows}", { ...names, version: String(version) });
}

const HALF = 6;

/** The panels of a dashboard, each with the source of its numbers. */
export function Flashboard({ board }: { board: Board }) {
  return (
    <>
      <p className="mb-4 text-sm text-soft">
        {rich("Data as of {when}. Expand a panel to see its SQL and sources.", {
          when: <When at={board.createdAt} />,
        })}
      </p>
      <div className="grid gap-x-5 md:grid-cols-2">
        {board.panels.map((panel, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: panels have no IDs
          <div key={at} className={`min-w-0 ${panel.width > HALF ? "md:col-span-2" : ""}`}>
            <PanelCard panel={panel} />
          </div>
        ))}
      </div>
    </>
  );
}

function PanelCard({ panel }: { panel: Panel }) {
  const { title, sql, columns, rows, truncated, provenance } = panel;
  return (
    <Section
      title={
        <span dir="auto" className="[overflow-wrap:anywhere]">
          {title}
        </span>
      }
      aside={plural(rows.length, { one: "# row", other: "# rows" })}
    >
      <Body panel={panel} />
      {truncated && (
        <p className="mt-2 text-xs text-soft">
          {plural(rows.length, { one: "Shows the first row only.", other: "Shows the first # rows only." })}
        </p>
      )}
      <details className="mt-3 text-sm text-soft">
        <summary className="hover:text-ink">{t("Sources")}</summary>
        <ul className="mt-2 list-disc pl-5">
          {provenance.tables.map((table) => (
            <li
              key={`${table.layer}.${table.dataset}.${table.table}.${table.asOf}`}
              className="[overflow-wrap:anywhere]"
            >
              {sourceInWords(table)}
            </li>
          ))}
        </ul>
        <pre className="mt-2 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">{sql}</pre>
        <p className="mt-2">
          {rich("Queried {when}, {count}", {
            when: <When at={provenance.queriedAt} />,
            count: plural(columns.length, { one: "# column", other: "# columns" }),
          })}
        </p>
      </details>
    </Section>
  );
}

function Body({ panel: { note, svg, title, columns, rows } }: { panel: Panel }) {
  if (typeof note === "string") return <p className="py-6 text-center text-sm text-soft">{note}</p>;
  if (typeof svg === "string")
    return (
      // In the dark theme, white becomes the page's background, and colors keep their hues.
      <section
        aria-label={title}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: on a phone the drawing scrolls, also by keyboard
        tabIndex={0}
        className="hints-more overflow-x-auto rounded bg-[#fff] p-2 [--ground:#fff] [--ink:#000] text-[#000] in-data-[theme=dark]:hue-rotate-180 in-data-[theme=dark]:invert-91 print:filter-none"
      >
        <Drawing svg={svg} label={title} />
      </section>
    );
  return <Grid label={t("Rows of {title}", { title })} columns={columns} rows={rows} height={320} />;
}
