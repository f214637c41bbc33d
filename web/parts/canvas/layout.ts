import type { Reply } from "../../calls.ts";
import { dependencyOf } from "./config.ts";
import type { StepValue } from "./steps-config.ts";

/** Layout of an automation on the canvas: stored next to the config, never in it. */
export type Layout = Reply<"GET /api/v1/automations/{automation_id}/layout">;
export type Group = Layout["groups"][number];
export type Point = readonly [x: number, y: number];

export const NO_LAYOUT: Layout = { direction: "down", positions: {}, groups: [], notes: [] };

/** Whether someone positioned the steps. Otherwise they are arranged again after each change. */
export const isByHand = ({ positions }: Layout): boolean => Object.keys(positions).length > 0;

/** Drops keys of removed steps, and applies renames. */
export function keepLayout(
  layout: Layout,
  steps: readonly StepValue[],
  renames: ReadonlyMap<string, string> = new Map(),
): Layout {
  const keys = new Set(steps.map(({ key }) => key));
  const now = (key: string) => renames.get(key) ?? key;
  return {
    ...layout,
    positions: Object.fromEntries(
      Object.entries(layout.positions).flatMap(([key, at]) =>
        keys.has(now(key)) || key.startsWith("$") ? [[now(key), at] as const] : [],
      ),
    ),
    groups: layout.groups
      .map((group) => ({ ...group, steps: group.steps.map(now).filter((key) => keys.has(key)) }))
      .filter(({ steps: own }) => own.length > 1),
    notes: layout.notes.map(({ near, ...note }) =>
      near !== undefined && keys.has(now(near)) ? { ...note, near: now(near) } : note,
    ),
  };
}

interface Spacing {
  width: number;
  height: number;
  gapX: number;
  gapY: number;
}

const swap = ([x = 0, y = 0]: readonly number[]): Point => [y, x];

/** Transposes a layout for the direction right. */
export function pointAcross(
  positions: Readonly<Record<string, readonly number[]>>,
  step: StepValue,
  { width, height, gapX, gapY }: Spacing,
): Point {
  const turned = Object.fromEntries(Object.entries(positions).map(([key, at]) => [key, swap(at)]));
  return swap(pointFor(turned, step, { width: height, height: width, gapX, gapY }));
}

/** Position of a step without one: below the steps it follows, right of existing ones. */
export function pointFor(
  positions: Readonly<Record<string, readonly number[]>>,
  { dependsOn = [] }: StepValue,
  { width, height, gapX, gapY }: Spacing,
): Point {
  const parents = (dependsOn.length > 0 ? dependsOn : ["$trigger"]).flatMap((text) => {
    const at = positions[dependencyOf(text).key];
    return at ? [at] : [];
  });
  const sumOf = (of: readonly (readonly number[])[]) => of.reduce((sum, [left = 0]) => sum + left, 0);
  const y = parents.length > 0 ? Math.max(...parents.map(([, top = 0]) => top)) + height + gapY : 0;
  let x = parents.length > 0 ? sumOf(parents) / parents.length : 0;
  const isTaken = () =>
    Object.values(positions).some(
      ([left = 0, top = 0]) => Math.abs(left - x) < width + gapX / 2 && Math.abs(top - y) < height + gapY / 2,
    );
  while (isTaken()) x += width + gapX;
  return [x, y];
}

/** Steps between those of a group, which would both precede and follow the collapsed group. */
export function between(
  below: ReadonlyMap<string, readonly string[]>,
  group: ReadonlySet<string>,
): string | null {
  const comesBack = (key: string, seen: Set<string>): boolean => {
    if (group.has(key)) return true;
    if (seen.has(key)) return false;
    seen.add(key);
    return (below.get(key) ?? []).some((next) => comesBack(next, seen));
  };
  for (const key of group) {
    for (const next of below.get(key) ?? []) if (!group.has(next) && comesBack(next, new Set())) return next;
  }
  return null;
}
