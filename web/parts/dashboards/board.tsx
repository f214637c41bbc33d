import { ChartLine, Table2 } from "lucide-react";
import { type CSSProperties, type ReactNode, useMemo, useState } from "react";
import type { DashboardData, SharedDashboard } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { IconButton } from "../base/button.tsx";
import { Loading } from "../base/page.tsx";
import { exactly } from "../base/time.tsx";
import { ChartView, useChartCode } from "../charts/view.tsx";
import type { Picking } from "../table/picks.ts";

export type ShownPanel = SharedDashboard["panels"][number];
export type PanelData = DashboardData["panels"][string];

/** As in style.css. */
export const ROW_HEIGHT = 64;
export const GAP = 12;
/** Height of a card without its content: title, borders and padding. */
const FRAME_HEIGHT = 41 + 2;
const PADDING = 24;

/** Grid position of a panel, for style.css. On phones, panels are stacked. */
export const positionOf = ({ x, y, width, height }: Pick<ShownPanel, "x" | "y" | "width" | "height">) =>
  ({
    "--column": `${x + 1} / span ${width}`,
    "--row": `${y + 1} / span ${height}`,
    "--height": `${heightOf(height)}px`,
  }) as CSSProperties;

export const heightOf = (rows: number) => rows * ROW_HEIGHT + (rows - 1) * GAP;

const isTable = ({ chart }: Pick<ShownPanel, "chart">) => chart === null || chart.kind === "table";

interface Props<P extends ShownPanel> {
  panels: readonly P[];
  data: DashboardData | undefined;
  /** Buttons of a panel. */
  actionsOf?: ((panel: P) => ReactNode) | undefined;
  /** What clicks on values of a panel do. */
  pickingOf?: (panel: P) => Picking | undefined;
}

/** The panels of a dashboard on its grid of twelve columns. */
export function Board<P extends ShownPanel>({ panels, data, actionsOf, pickingOf }: Props<P>) {
  useChartCode(panels);
  const inOrder = panels.toSorted((a, b) => a.y - b.y || a.x - b.x);
  return (
    <div className="board">
      {inOrder.map((panel) => (
        <PanelCard
          key={panel.key}
          panel={panel}
          data={data?.panels[panel.key]}
          actions={actionsOf?.(panel)}
          picking={pickingOf?.(panel)}
        />
      ))}
    </div>
  );
}

interface CardProps {
  panel: ShownPanel;
  data: PanelData | undefined;
  actions?: ReactNode;
  picking?: Picking | undefined;
}

function PanelCard({ panel: source, data, actions, picking }: CardProps) {
  const [asTable, setAsTable] = useState(false);
  const { title, height } = source;
  const panel = asTable ? { ...source, chart: null } : source;
  const asOf = data?.ranAt ? t("As of {ranAt}", { ranAt: exactly(data.ranAt) }) : undefined;
  return (
    <section
      aria-label={title}
      className={`board-panel card flex flex-col ${isTable(panel) ? "is-table print:block" : ""}`}
      style={positionOf(panel)}
      title={asOf}
    >
      <div className="flex h-10 shrink-0 items-center justify-between gap-2 border-b border-line pr-1.5 pl-4">
        <h2 className="min-w-0 truncate text-sm font-semibold" dir="auto">
          {title}
        </h2>
        <span className="flex shrink-0 items-center print:hidden">
          {!isTable(source) && source.chart?.kind !== "number" && (
            <IconButton
              icon={asTable ? ChartLine : Table2}
              label={
                asTable ? t("Show {title} as a chart", { title }) : t("Show {title} as a table", { title })
              }
              title={asTable ? t("Show as a chart") : t("Show as a table")}
              onClick={() => setAsTable(!asTable)}
            />
          )}
          {actions}
        </span>
      </div>
      <div className={`min-h-0 grow overflow-hidden rounded-b-[9px] ${isTable(panel) ? "" : "p-3"}`}>
        <PanelBody
          panel={panel}
          data={data}
          height={heightOf(height) - FRAME_HEIGHT - (isTable(panel) ? 0 : PADDING)}
          picking={picking}
        />
      </div>
    </section>
  );
}

/** Rows of a panel as objects. */
export const rowsOf = ({ columns, rows }: PanelData): Record<string, unknown>[] =>
  rows.map((row) => Object.fromEntries(columns.map(({ name }, at) => [name, row[at] ?? null])));

/** Content of a panel, or its own error. */
export function PanelBody({
  panel,
  data,
  height,
  picking,
}: {
  panel: Pick<ShownPanel, "title" | "chart">;
  data: PanelData | undefined;
  height: number;
  picking?: Picking | undefined;
}) {
  const rows = useMemo(() => (data ? rowsOf(data) : []), [data]);
  if (!data) return <Loading rows={3} />;
  if (data.error)
    return (
      <p
        role="alert"
        className="h-full overflow-auto p-4 font-mono text-xs whitespace-pre-wrap text-bad [overflow-wrap:anywhere]"
      >
        {data.error.message}
      </p>
    );
  const noteHeight = data.truncated ? 20 : 0;
  return (
    <>
      <ChartView
        chart={panel.chart}
        columns={data.columns}
        rows={rows}
        title={panel.title}
        height={height - noteHeight}
        picking={picking}
      />
      {data.truncated && (
        <p className="px-3 text-xs text-soft">
          {t("Shows the first {rowCount} rows.", { rowCount: data.rowCount })}
        </p>
      )}
    </>
  );
}
