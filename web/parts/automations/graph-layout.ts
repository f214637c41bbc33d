import type { Automation } from "../../calls.ts";

export interface Step {
  key: string;
  name?: string;
  kind?: string;
  actionId?: string;
  dependsOn?: string[];
  when?: string;
  forEach?: unknown;
}

/** The work of an automation as steps, whichever way it is written. */
export function stepsOf(config: Automation["config"]): Step[] {
  const { steps, action } = config as { steps?: Step[]; action?: Omit<Step, "key"> };
  return steps ?? (action ? [{ key: "action", ...action }] : []);
}

export const HEIGHT = 52;
const GAP_Y = 20;
const EDGE = 18;
/** A step and the gap after it, where there is room and where there is little. */
const [WIDE, WIDE_GAP] = [162, 56];
const [NARROW, NARROW_GAP] = [112, 36];
/** Smaller than this the words in it are hard to read: what would be scrolls instead. */
const LEAST_ZOOM = 0.8;

interface PlacedStep extends Step {
  x: number;
  y: number;
}

export interface Layout {
  steps: readonly PlacedStep[];
  /** Of each step. */
  stepWidth: number;
  width: number;
  height: number;
  /** By how much all of it is to be drawn smaller. */
  zoom: number;
}

export const dependencyOf = (text: string) => {
  const colon = text.indexOf(":");
  return colon < 0
    ? { key: text, branch: null }
    : { key: text.slice(0, colon), branch: text.slice(colon + 1) };
};

/** The column of each step: after the last one that it hangs on. */
function columnsOf(steps: readonly Step[]): ReadonlyMap<string, number> {
  const byKey = new Map(steps.map((step) => [step.key, step]));
  const columns = new Map<string, number>();
  const columnOf = (key: string, above: readonly string[] = []): number => {
    const known = columns.get(key);
    if (known !== undefined) return known;
    const parents = (byKey.get(key)?.dependsOn ?? [])
      .map((text) => dependencyOf(text).key)
      .filter((parent) => byKey.has(parent) && !above.includes(parent));
    const column = Math.max(-1, ...parents.map((parent) => columnOf(parent, [...above, key]))) + 1;
    columns.set(key, column);
    return column;
  };
  for (const step of steps) columnOf(step.key);
  return columns;
}

/** Rows in the order of what the steps hang on. */
function rowsOf(steps: readonly Step[], columns: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const rows = new Map<string, number>();
  const filled: number[] = [];
  const ordered = [...steps].sort((a, b) => (columns.get(a.key) ?? 0) - (columns.get(b.key) ?? 0));
  for (const step of ordered) {
    const column = columns.get(step.key) ?? 0;
    const wanted = (step.dependsOn ?? []).map((text) => rows.get(dependencyOf(text).key) ?? 0);
    const row = Math.max(filled[column] ?? 0, wanted.length > 0 ? Math.min(...wanted) : 0);
    rows.set(step.key, row);
    filled[column] = row + 1;
  }
  return rows;
}

/** Where each step stands in `room` pixels: first the gaps and steps get narrower, then all of it smaller. */
export function layOut(steps: readonly Step[], room: number): Layout {
  const columns = columnsOf(steps);
  const rows = rowsOf(steps, columns);
  const count = Math.max(0, ...columns.values()) + 1;
  const widthOf = (step: number, gap: number) => count * (step + gap) - gap + 2 * EDGE;
  const isTight = widthOf(WIDE, WIDE_GAP) > room;
  const gap = isTight ? NARROW_GAP : WIDE_GAP;
  const fitting = Math.floor((room - 2 * EDGE + gap) / count) - gap;
  const stepWidth = isTight ? Math.min(Math.max(fitting, NARROW), WIDE) : WIDE;
  const width = widthOf(stepWidth, gap);
  return {
    steps: steps.map((step) => ({
      ...step,
      x: EDGE + (columns.get(step.key) ?? 0) * (stepWidth + gap),
      y: EDGE + (rows.get(step.key) ?? 0) * (HEIGHT + GAP_Y),
    })),
    stepWidth,
    width,
    height: Math.max(0, ...rows.values()) * (HEIGHT + GAP_Y) + HEIGHT + 2 * EDGE,
    zoom: room / width < LEAST_ZOOM ? 1 : Math.min(room / width, 1),
  };
}
