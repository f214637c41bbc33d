import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  type ChartConfiguration,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  PointElement,
  Tooltip,
} from "chart.js";
import { useEffect, useRef } from "react";
import { useTheme } from "../../theme.ts";
import type { ChartKind, Series } from "./chart.tsx";

Chart.register(
  BarController,
  BarElement,
  CategoryScale,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  PointElement,
  Tooltip,
);

/** Told apart by colour, by dashes and by the shape of their points. */
const INKS = ["--accent", "--good", "--code-number", "--wait", "--bad", "--soft"] as const;
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 4], [1, 2]];
const SHAPES = ["circle", "rect", "triangle", "rectRot", "cross", "star"] as const;
const HEIGHT = 360;
/** With more points than this the lines stand alone. */
const MOST_MARKS = 80;

interface Props {
  kind: ChartKind;
  over: string;
  labels: readonly string[];
  series: readonly Series[];
}

/** Chart.js on a canvas: it needs neither inline styles nor `eval`. */
export default function Canvas({ kind, over, labels, series }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another theme has other inks
  useEffect(() => {
    if (!canvas.current) return;
    const chart = new Chart(canvas.current, configOf({ kind, over, labels, series }));
    return () => chart.destroy();
  }, [kind, over, labels, series, theme]);
  const what = series.map(({ name }) => name).join(", ");
  return (
    <div className="relative" style={{ height: HEIGHT }}>
      <canvas ref={canvas} role="img" aria-label={`Chart. X axis: ${over}. Y axis: ${what}.`} />
    </div>
  );
}

function configOf({ kind, over, labels, series }: Props): ChartConfiguration<"line" | "bar"> {
  const style = getComputedStyle(document.body);
  const ink = (name: string) => style.getPropertyValue(name).trim();
  Chart.defaults.font.family = style.fontFamily;
  const marks = kind === "scatter" || labels.length <= MOST_MARKS;
  return {
    type: kind === "bar" ? "bar" : "line",
    data: {
      labels: [...labels],
      datasets: series.map(({ name, values }, at) => {
        const colour = ink(INKS[at % INKS.length] ?? "--accent");
        return {
          label: name,
          data: [...values],
          borderColor: colour,
          backgroundColor: colour,
          ...(kind === "bar"
            ? { borderRadius: 3 }
            : {
                showLine: kind === "line",
                borderWidth: 2,
                borderDash: DASHES[at % DASHES.length] ?? [],
                pointStyle: SHAPES[at % SHAPES.length] ?? "circle",
                pointRadius: marks ? 3 : 0,
              }),
        };
      }),
    },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      color: ink("--soft"),
      scales: {
        x: {
          title: { display: true, text: over, color: ink("--soft") },
          ticks: { color: ink("--soft"), autoSkip: true, maxTicksLimit: 8, maxRotation: 0 },
          grid: { display: false },
          border: { color: ink("--strong-line") },
        },
        y: {
          beginAtZero: true,
          ticks: { color: ink("--soft") },
          grid: { color: ink("--line") },
          border: { display: false },
        },
      },
      plugins: {
        legend: {
          display: series.length > 1,
          labels: { usePointStyle: true, boxHeight: 7, color: ink("--ink") },
        },
      },
    },
  };
}
