import { expressionInterpreter } from "vega-interpreter";
import type { JsonObject } from "../base/json.ts";
import type { Chart, Drawn } from "./contract.ts";

/** The style of all charts: calm, colorblind-safe colors, and the reader's own font. */
const CONFIG: JsonObject = {
  background: null,
  font: "system-ui, sans-serif",
  axis: {
    gridColor: "#e7e5e4",
    domainColor: "#a8a29e",
    tickColor: "#a8a29e",
    labelColor: "#57534e",
    titleColor: "#44403c",
  },
  legend: { labelColor: "#57534e", titleColor: "#44403c" },
  title: { color: "#1c1917", fontWeight: 600, anchor: "start" },
  mark: { color: "#0f766e" },
  view: { stroke: null },
  range: {
    category: ["#0f766e", "#c2410c", "#4f46e5", "#a16207", "#be185d", "#0369a1", "#4d7c0f", "#78716c"],
  },
};
const HEIGHT = 240;
/** Name of a chart's dataset. */
const ROWS = "rows";
/** Never in a valid drawing; its presence means that a specification has injected it. */
const HOSTILE = /<script|<foreignObject|\bon\w+=|\bhref=|<image/i;

/** The child process: reads charts from standard input, writes them as SVG and returns the exit code. */
export async function drawChild(): Promise<number> {
  const charts: Chart[] = await Bun.stdin.json();
  const drawn: Drawn[] = [];
  for (const chart of charts) drawn.push(await draw(chart));
  await Bun.write(Bun.stdout, JSON.stringify(drawn));
  return 0;
}

async function draw({ spec, rows, width }: Chart): Promise<Drawn> {
  const [vega, { compile }] = await Promise.all([import("vega"), import("vega-lite")]);
  const refuse = async (): Promise<never> => {
    throw new Error("A chart can't load external data.");
  };
  const complaints: string[] = [];
  const logger = vega.logger(vega.Warn);
  for (const level of ["warn", "error"] as const) {
    logger[level] = (...parts: readonly unknown[]) => {
      complaints.push(parts.map(String).join(" "));
      return logger;
    };
  }
  try {
    const whole = {
      width,
      height: HEIGHT,
      autosize: { type: "fit-x", contains: "padding" },
      ...spec,
      data: { name: ROWS },
    };
    const compiled = compile(whole as never, { config: CONFIG as never, logger }).spec;
    const view = new vega.View(vega.parse(compiled, undefined, { ast: true }), {
      renderer: "none",
      expr: expressionInterpreter,
      loader: { load: refuse, sanitize: refuse, http: refuse, file: refuse } as never,
      logger,
    });
    const svg = await view.data(ROWS, structuredClone(rows) as never[]).toSVG();
    view.finalize();
    if (HOSTILE.test(svg)) return { fault: "The drawing contains elements that aren't allowed." };
    if (/<path d="[^"]*NaN/.test(svg)) return { fault: complaints[0] ?? "Its values are not numbers." };
    return { svg };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { fault: message.slice(0, 500) };
  }
}
