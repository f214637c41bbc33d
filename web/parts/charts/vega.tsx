import { useEffect, useRef, useState } from "react";
import { parse, View } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile } from "vega-lite";
import type { Row, StoredChart } from "../../../src/base/chart-spec.ts";
import { t } from "../../texts/text.ts";
import { useShade } from "../../theme.ts";

/** Name of the data source with the rows. */
const ROWS = "rows";
const MIN_HEIGHT = 120;

interface Props {
  chart: StoredChart;
  rows: readonly Row[];
  title: string;
  height?: number | undefined;
}

const refuse = async (): Promise<never> => {
  throw new Error(t("A chart can't load anything."));
};
const LOADER = { load: refuse, sanitize: refuse, http: refuse, file: refuse };

/** Draws a Vega-Lite specification on a canvas. Expressions are interpreted, since the CSP doesn't allow `eval`. */
export default function Vega({ chart, rows, title, height }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const shade = useShade();
  const [fault, setFault] = useState<string | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the colors
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let view: View | null = null;
    let width = 0;
    const draw = () => {
      if (element.clientWidth === width) return;
      width = element.clientWidth;
      view?.finalize();
      try {
        view = viewOf(chart, rows, { width, height: Math.max(height ?? element.clientHeight, MIN_HEIGHT) });
        view.initialize(element).run(); // synchronously, since printing doesn't wait
        setFault(null);
      } catch (error) {
        setFault(error instanceof Error ? error.message : String(error));
      }
    };
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return () => {
      observer.disconnect();
      view?.finalize();
    };
  }, [chart, rows, height, shade]);
  return (
    <>
      {fault !== null && (
        <p className="p-4 text-sm text-bad">{t("Couldn't draw this chart: {fault}", { fault })}</p>
      )}
      <div
        role="img"
        aria-label={t("Chart: {title}", { title })}
        hidden={fault !== null}
        className="h-full min-h-0 w-full"
      >
        <div ref={box} className="size-full overflow-hidden" style={height === undefined ? {} : { height }} />
      </div>
    </>
  );
}

function viewOf(chart: StoredChart, rows: readonly Row[], size: { width: number; height: number }): View {
  const whole = {
    ...size,
    autosize: { type: "fit", contains: "padding" },
    ...chart,
    data: { name: ROWS },
  };
  const compiled = compile(whole as never, { config: configOf() as never }).spec;
  const view = new View(parse(compiled, undefined, { ast: true }), {
    renderer: "canvas",
    expr: expressionInterpreter,
    loader: LOADER as never,
  });
  return view.data(ROWS, structuredClone(rows) as never[]);
}

/** The colors of the page. */
function configOf() {
  const style = getComputedStyle(document.body);
  const ink = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    gridColor: ink("--line"),
    domainColor: ink("--strong-line"),
    tickColor: ink("--strong-line"),
    labelColor: ink("--soft"),
    titleColor: ink("--soft"),
  };
  return {
    background: null,
    font: style.fontFamily,
    axis,
    legend: { labelColor: ink("--soft"), titleColor: ink("--soft") },
    title: { color: ink("--ink"), fontWeight: 600, anchor: "start" },
    mark: { color: ink("--accent"), tooltip: true },
    text: { color: ink("--ink") },
    view: { stroke: null },
    range: {
      category: ["--accent", "--good", "--code-number", "--wait", "--bad", "--soft"].map(ink),
    },
  };
}
