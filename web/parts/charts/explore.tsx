import { useState } from "react";
import {
  type Column,
  type Row,
  type StoredChart,
  specOf,
  suggestChart,
} from "../../../src/base/chart-spec.ts";
import { t } from "../../texts/text.ts";
import { ChartBuilder } from "./builder.tsx";
import { ChartView } from "./view.tsx";

const HEIGHT = 360;

interface Props {
  columns: readonly Column[];
  rows: readonly Row[];
  /** Null for an automatic one. */
  chart: StoredChart | null;
  onChange: (chart: StoredChart) => void;
}

/** A chart of a result, with fields to edit it. */
export function Explore({ columns, rows, chart, onChange }: Props) {
  const stored = chart && fits(chart, columns) ? chart : chartFor(columns, rows);
  if (!stored)
    return (
      <p className="p-4 text-sm text-soft">
        {t("Charts need at least one numeric column and one other column.")}
      </p>
    );
  const spec = specOf(stored);
  return (
    <div className="space-y-4 p-4">
      {spec && (
        <ChartBuilder
          spec={spec}
          columns={columns}
          onChange={(next) => onChange(next as unknown as StoredChart)}
        />
      )}
      <ChartView chart={stored} columns={columns} rows={rows} title={t("Result")} height={HEIGHT} />
    </div>
  );
}

/** Suggests a chart for the rows. Null if there is none. */
export const chartFor = (columns: readonly Column[], rows: readonly Row[]): StoredChart | null =>
  suggestChart(columns, rows.length) as unknown as StoredChart | null;

/** Returns whether the chart's columns exist, which may not be the case for another query. */
function fits(chart: StoredChart, columns: readonly Column[]): boolean {
  const spec = specOf(chart);
  if (!spec) return true;
  const named = [...(spec.y ?? []), ...(spec.x ? [spec.x] : []), ...(spec.series ? [spec.series] : [])];
  return named.every((name) => columns.some((column) => column.name === name));
}

/** The same without saving the chart. */
export function Chart({ columns, rows }: Pick<Props, "columns" | "rows">) {
  const [chart, setChart] = useState<StoredChart | null>(null);
  return <Explore columns={columns} rows={rows} chart={chart} onChange={setChart} />;
}
