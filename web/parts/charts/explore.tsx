import { useState } from "react";
import { ChartBuilder } from "./builder.tsx";
import { type ChartSpec, type Column, type Row, type StoredChart, suggestChart } from "./spec.ts";
import { ChartView } from "./view.tsx";

const HEIGHT = 360;

interface Props {
  columns: readonly Column[];
  rows: readonly Row[];
  /** The chart; null for one that fits the columns. */
  spec: ChartSpec | null;
  onChange: (spec: ChartSpec) => void;
}

/** A chart of a result with the fields that build it. */
function Explore({ columns, rows, spec, onChange }: Props) {
  const shown = spec ?? suggestChart(columns, rows.length);
  if (!shown)
    return (
      <p className="p-4 text-sm text-soft">Charts need at least one numeric column and one other column.</p>
    );
  return (
    <div className="space-y-4 p-4">
      <ChartBuilder spec={shown} columns={columns} onChange={onChange} />
      <ChartView
        chart={shown as unknown as StoredChart}
        columns={columns}
        rows={rows}
        title="Result"
        height={HEIGHT}
      />
    </div>
  );
}

/** The same where nobody keeps the chart. */
export function Chart({ columns, rows }: Pick<Props, "columns" | "rows">) {
  const [spec, setSpec] = useState<ChartSpec | null>(null);
  return <Explore columns={columns} rows={rows} spec={spec} onChange={setSpec} />;
}
