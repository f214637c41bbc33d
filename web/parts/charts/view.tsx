import { useEffect, useMemo } from "react";
import { type ChartNote, numberOf, shapeChart } from "../../../src/base/chart-shape.ts";
import {
  type ChartSpec,
  type Column,
  type Row,
  type StoredChart,
  specOf,
} from "../../../src/base/chart-spec.ts";
import { t } from "../../texts/text.ts";
import { Later, part } from "../base/later.tsx";
import { counted } from "../base/time.tsx";
import { Grid } from "../table/grid.tsx";
import type { Picking } from "../table/picks.ts";
import { formatted } from "./format.ts";

const canvas = part(() => import("./canvas.tsx"));
const vega = part(() => import("./vega.tsx"));

/** Loads the code for these charts while their rows are loading. */
export function useChartCode(panels: readonly { chart: StoredChart | null }[]): void {
  useEffect(() => {
    for (const { chart } of panels) {
      if (chart === null) continue;
      const { kind } = specOf(chart) ?? {};
      if (kind === "table" || kind === "number") continue;
      void (kind ? canvas : vega).load().catch(() => undefined); // the component reports failures
    }
  }, [panels]);
}

interface Props {
  /** Null for a table. */
  chart: StoredChart | null;
  columns: readonly Column[];
  rows: readonly Row[];
  title: string;
  /** Maximum height of the chart or table in pixels. */
  height: number;
  picking?: Picking | undefined;
}

/** Rows as a chart, or as a table without one. */
export function ChartView({ chart, columns, rows, title, height, picking }: Props) {
  const spec = chart && specOf(chart);
  if (rows.length === 0) return <p className="p-4 text-sm text-soft">{t("No rows")}</p>;
  if (chart === null || spec?.kind === "table")
    return (
      <Grid
        label={t("Rows of {title}", { title })}
        columns={columns}
        rows={rows}
        height={height}
        picking={picking}
        isPlain
      />
    );
  if (spec === null) return <Later of={vega} props={{ chart, rows, title, height }} />;
  if (spec.kind === "number") return <BigNumber spec={spec} columns={columns} rows={rows} />;
  return <Drawn {...{ spec, columns, rows, height, picking }} />;
}

interface DrawnProps {
  spec: ChartSpec;
  columns: readonly Column[];
  rows: readonly Row[];
  height: number;
  picking?: Picking | undefined;
}

const NOTE_HEIGHT = 20;

function Drawn({ spec, columns, rows, height, picking }: DrawnProps) {
  const shaped = useMemo(() => shapeChart(spec, columns, rows), [spec, columns, rows]);
  if (!shaped)
    return (
      <p className="p-4 text-sm text-soft">
        {t("Charts need at least one numeric column and one other column.")}
      </p>
    );
  return (
    <>
      <Later
        of={canvas}
        props={{
          spec,
          shaped,
          height: height - shaped.notes.length * NOTE_HEIGHT,
          onPick: picking?.pick,
        }}
      />
      {shaped.notes.map((note) => (
        <p key={note.of} className="text-xs text-soft">
          {noteText(note)}
        </p>
      ))}
    </>
  );
}

function noteText({ of, shown, total }: ChartNote): string {
  const counts = { shown: counted(shown), total: counted(total) };
  return of === "points"
    ? t("Shows the first {shown} of {total} points.", counts)
    : t("Shows the first {shown} of {total} series.", counts);
}

function BigNumber({ spec, columns, rows }: Omit<DrawnProps, "height">) {
  const value = numberOf(spec, columns, rows);
  const { goal } = spec;
  return (
    <div className="@container flex h-full min-h-16 flex-col items-center justify-center text-center">
      <p className="text-[clamp(1.25rem,13cqw,2.25rem)] leading-tight font-semibold tracking-tight tabular-nums">
        {formatted(value, spec)}
      </p>
      {goal !== undefined && (
        <p className={`mt-1 text-sm ${value !== null && value >= goal ? "text-good" : "text-soft"}`}>
          {t("Goal: {formatted}", { formatted: formatted(goal, spec) })}
        </p>
      )}
    </div>
  );
}
