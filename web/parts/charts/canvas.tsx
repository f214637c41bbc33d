import {
  ArcElement,
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  type ChartConfiguration,
  type ChartDataset,
  Filler,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  PieController,
  PointElement,
  ScatterController,
  Tooltip,
} from "chart.js";
import { useEffect, useRef } from "react";
import type { Shaped } from "../../../src/base/chart-shape.ts";
import type { ChartSpec } from "../../../src/base/chart-spec.ts";
import { t } from "../../texts/text.ts";
import { useShade } from "../../theme.ts";
import { dateFormat } from "../base/formats.ts";
import type { Cell } from "../table/picks.ts";
import { formatted } from "./format.ts";

Chart.register(
  ArcElement,
  BarController,
  BarElement,
  CategoryScale,
  Filler,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  PieController,
  PointElement,
  ScatterController,
  Tooltip,
);

/** Distinguished by color, dashes and the shape of points. */
const INKS = ["--accent", "--good", "--code-number", "--wait", "--bad", "--soft"] as const;
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 4], [1, 2]];
const SHAPES = ["circle", "rect", "triangle", "rectRot", "cross", "star"] as const;
/** With more points than this, lines have no markers. */
const MAX_MARKS = 80;
/** With few bars, wider ones would look like blocks. */
const MAX_BAR_PIXELS = 96;
const AREA_OPACITY = "55";

const NAMES = {
  line: t("Line chart"),
  bar: t("Bar chart"),
  area: t("Area chart"),
  scatter: t("Scatter plot"),
  pie: t("Pie chart"),
};

interface Props {
  spec: ChartSpec;
  shaped: Shaped;
  /** Height in pixels. Default: the height of its container. */
  height?: number | undefined;
  /** Called with the values of a clicked element. */
  onPick?: ((cells: readonly Cell[]) => void) | undefined;
}

/** Draws on a canvas with Chart.js, which needs neither inline styles nor `eval`. */
export default function Canvas({ spec, shaped, height, onPick }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const report = useRef(onPick);
  report.current = onPick;
  const isPicked = onPick !== undefined;
  const shade = useShade();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the colors
  useEffect(() => {
    if (!canvas.current) return;
    const config = configOf(spec, shaped);
    if (isPicked)
      Object.assign(
        config.options ?? {},
        picking(spec, shaped, (cells) => report.current?.(cells)),
      );
    const chart = new Chart(canvas.current, config);
    return () => chart.destroy();
  }, [spec, shaped, shade, isPicked]);
  const kind = NAMES[spec.kind as keyof typeof NAMES];
  const what = shaped.series.map(({ name }) => name).join(", ");
  return (
    <div className="relative h-full min-h-0 w-full" style={height === undefined ? {} : { height }}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={t("{kind}. X axis: {x}. Y axis: {what}.", { kind, x: shaped.x, what })}
      />
    </div>
  );
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const thisYear = dateFormat({ day: "numeric", month: "short", timeZone: "UTC" });
const anyYear = dateFormat({ day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });

/** Formats dates for the user, without the year if it is the same for all. */
function inDays(labels: readonly string[]): string[] {
  if (!labels.every((label) => DAY.test(label))) return [...labels];
  const isOne = new Set(labels.map((label) => label.slice(0, 4))).size === 1;
  return labels.map((label) => (isOne ? thisYear : anyYear)().format(Date.parse(label)));
}

type Config = ChartConfiguration<"line" | "bar" | "scatter" | "pie">;

/**
 * Options for clicks: an element identifies its series, while its position on the axis identifies only the x value.
 */
function picking(
  spec: ChartSpec,
  { x, keys, series }: Shaped,
  pick: (cells: readonly Cell[]) => void,
): Pick<NonNullable<Config["options"]>, "onHover" | "onClick"> {
  return {
    onHover: (event, active) => {
      const canvas = event.native?.target;
      if (canvas instanceof HTMLElement) canvas.style.cursor = active.length > 0 ? "pointer" : "";
    },
    onClick: (event, active, chart) => {
      const hit = event.native
        ? chart.getElementsAtEventForMode(event.native, "nearest", { intersect: true }, true)[0]
        : undefined;
      const at = (hit ?? active[0])?.index;
      if (at === undefined) return;
      const part = hit && series[hit.datasetIndex]?.part;
      const isSplit = spec.series !== undefined && part !== undefined;
      pick([
        { column: x, value: keys[at] },
        ...(isSplit ? [{ column: spec.series ?? "", value: part }] : []),
      ]);
    },
  };
}

function configOf(spec: ChartSpec, shaped: Shaped): Config {
  const style = getComputedStyle(document.body);
  const ink = (name: string) => style.getPropertyValue(name).trim();
  Chart.defaults.font.family = style.fontFamily;
  const isPie = spec.kind === "pie";
  const isPlane = spec.kind === "scatter" && shaped.numbers !== null;
  return {
    type: isPie ? "pie" : spec.kind === "bar" ? "bar" : isPlane ? "scatter" : "line",
    data: {
      ...(isPlane ? {} : { labels: inDays(shaped.labels) }),
      datasets: isPie ? [slices(shaped, ink)] : datasetsOf(spec, shaped, ink, isPlane),
    } as Config["data"],
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      interaction:
        isPie || isPlane ? { mode: "nearest", intersect: true } : { mode: "index", intersect: false },
      color: ink("--soft"),
      ...(isPie ? {} : { scales: scalesOf(spec, shaped, ink) }),
      plugins: {
        legend: {
          display: isPie || shaped.series.length > 1 || spec.goal !== undefined,
          position: isPie ? "right" : "top",
          labels: { usePointStyle: true, boxHeight: 7, color: ink("--ink") },
        },
        tooltip: {
          callbacks: {
            label: (item) => {
              const parsed = item.parsed as { y?: number | null } | number;
              const value = typeof parsed === "number" ? parsed : (parsed.y ?? null);
              const name = isPie ? item.label : (item.dataset.label ?? "");
              return `${name}: ${formatted(value, spec)}`;
            },
          },
        },
      },
    },
  };
}

type Ink = (name: string) => string;
const inkOf = (at: number) => INKS[at % INKS.length] ?? "--accent";

const slices = ({ labels, series }: Shaped, ink: Ink) => ({
  label: series[0]?.name ?? "",
  data: [...(series[0]?.values ?? [])],
  backgroundColor: labels.map((_, at) => ink(inkOf(at))),
  borderColor: ink("--raised"),
  borderWidth: labels.length > 1 ? 2 : 0,
});

function datasetsOf(spec: ChartSpec, { labels, numbers, series }: Shaped, ink: Ink, isPlane: boolean) {
  const hasMarks = spec.kind === "scatter" || labels.length <= MAX_MARKS;
  const sets = series.map(({ name, values }, at) => {
    const color = ink(inkOf(at));
    const common = {
      label: name,
      data: isPlane ? values.map((y, point) => ({ x: numbers?.[point] ?? 0, y })) : [...values],
      borderColor: color,
      backgroundColor: spec.kind === "area" ? color + AREA_OPACITY : color,
      ...(spec.stack ? { stack: "all" } : {}),
    };
    if (spec.kind === "bar") return { ...common, borderRadius: 3, maxBarThickness: MAX_BAR_PIXELS };
    return {
      ...common,
      showLine: spec.kind !== "scatter",
      fill: spec.kind === "area" ? (spec.stack && at > 0 ? "-1" : "origin") : false,
      borderWidth: 2,
      borderDash: spec.kind === "scatter" ? [] : (DASHES[at % DASHES.length] ?? []),
      pointStyle: SHAPES[at % SHAPES.length] ?? "circle",
      pointRadius: hasMarks ? 3 : 0,
    };
  });
  return [...sets, ...(spec.goal === undefined || isPlane ? [] : [goalOf(spec.goal, labels.length, ink)])];
}

const goalOf = (goal: number, count: number, ink: Ink): ChartDataset<"line"> => ({
  type: "line",
  label: t("Goal"),
  data: Array.from({ length: count }, () => goal),
  borderColor: ink("--warn"),
  backgroundColor: ink("--warn"),
  borderDash: [6, 4],
  borderWidth: 1.5,
  pointRadius: 0,
  stack: "goal",
});

function scalesOf(spec: ChartSpec, { x }: Shaped, ink: Ink) {
  return {
    x: {
      stacked: spec.stack === true,
      title: { display: true, text: x, color: ink("--soft") },
      ticks: { color: ink("--soft"), autoSkip: true, maxTicksLimit: 8, maxRotation: 0 },
      grid: { display: false },
      border: { color: ink("--strong-line") },
    },
    y: {
      stacked: spec.stack === true,
      beginAtZero: true,
      ticks: {
        color: ink("--soft"),
        maxTicksLimit: 6,
        callback: (value: string | number) => formatted(Number(value), spec),
      },
      grid: { color: ink("--line") },
      border: { display: false },
    },
  };
}
