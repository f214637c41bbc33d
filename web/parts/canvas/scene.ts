import {
  type Arrangement,
  arrange,
  BRANCH_ACROSS,
  BRANCHES,
  BRANCHES_ACROSS,
  GAP_ACROSS,
  GAP_X,
  GAP_Y,
  HEIGHT,
  WIDTH,
} from "./arrange.ts";
import { dependencyText, type Link, linksOf, TRIGGER } from "./config.ts";
import { type Actions, branchesOf, drawnBranches } from "./kinds.ts";
import { type Group, isByHand, type Layout, pointAcross, pointFor } from "./layout.ts";
import type { StepValue } from "./steps-config.ts";

export interface SceneLink extends Link {
  /** As in the target's `dependsOn`. */
  readonly dependency: string;
}

/** What the canvas draws: steps, groups instead of the steps they hide, and edges. */
export interface Scene {
  readonly steps: readonly StepValue[];
  readonly collapsed: readonly Group[];
  readonly branches: ReadonlyMap<string, readonly string[]>;
  readonly links: readonly SceneLink[];
}

export const groupNode = (id: string) => `group:${id}`;

export function sceneOf(all: readonly StepValue[], actions: Actions, { groups }: Layout): Scene {
  const collapsed = groups.filter(({ isCollapsed }) => isCollapsed === true);
  const hidden = new Map(collapsed.flatMap(({ id, steps }) => steps.map((key) => [key, groupNode(id)])));
  const steps = all.filter(({ key }) => !hidden.has(key));
  const branches = new Map(
    steps.flatMap((step) => {
      const own = drawnBranches(branchesOf(step, actions), step.key, all);
      return own.length > 0 ? [[step.key, own] as const] : [];
    }),
  );
  const seen = new Set<string>();
  const links = linksOf(all).flatMap((link): SceneLink[] => {
    const dependency = dependencyText(link);
    const source = hidden.get(link.source) ?? link.source;
    const target = hidden.get(link.target) ?? link.target;
    if (source === link.source && target === link.target) return [{ ...link, dependency }];
    const branch = source === link.source ? link.branch : null;
    const id = `${dependencyText({ source, branch })}>${target}`;
    if (source === target || seen.has(id)) return [];
    seen.add(id);
    return [{ id, source, target, branch, dependency }];
  });
  return { steps, collapsed, branches, links };
}

/** Positions of everything: as stored, or arranged. */
export function arrangementOf({ steps, collapsed, branches, links }: Scene, layout: Layout): Arrangement {
  const isAcross = layout.direction === "right";
  const sizeOf = (key: string) => {
    const { length = 0 } = branches.get(key) ?? [];
    if (length === 0) return { width: WIDTH, height: HEIGHT };
    return isAcross
      ? { width: WIDTH + BRANCHES_ACROSS, height: Math.max(HEIGHT, length * BRANCH_ACROSS) }
      : { width: WIDTH, height: HEIGHT + BRANCHES };
  };
  const keys = [TRIGGER, ...steps.map(({ key }) => key), ...collapsed.map(({ id }) => groupNode(id))];
  const sizes = new Map(keys.map((key) => [key, sizeOf(key)]));
  const gap = isAcross ? GAP_ACROSS : GAP_Y;
  if (!isByHand(layout)) return arrange(sizes, links, isAcross, gap);
  const positions: Record<string, readonly number[]> = { ...layout.positions };
  positions[TRIGGER] ??= [0, 0];
  for (const step of steps)
    positions[step.key] ??= (isAcross ? pointAcross : pointFor)(positions, step, {
      width: WIDTH,
      height: HEIGHT,
      gapX: GAP_X,
      gapY: gap,
    });
  for (const {
    id,
    steps: [first = ""],
  } of collapsed)
    positions[groupNode(id)] ??= positions[first] ?? [0, 0];
  const boxes = new Map(
    [...sizes].map(([key, size]) => {
      const [x = 0, y = 0] = positions[key] ?? [];
      return [key, { x, y, ...size }];
    }),
  );
  return { boxes, bends: new Map() };
}

const PADDING = 24;

/** Frames around the steps of expanded groups. */
export function framesOf(layout: Layout, { boxes }: Arrangement) {
  return layout.groups
    .filter(({ isCollapsed }) => isCollapsed !== true)
    .flatMap(({ id, title, steps }) => {
      const own = steps.flatMap((key) => boxes.get(key) ?? []);
      if (own.length === 0) return [];
      const x = Math.min(...own.map((box) => box.x)) - PADDING;
      const y = Math.min(...own.map((box) => box.y)) - PADDING - 12;
      return {
        id,
        title,
        x,
        y,
        width: Math.max(...own.map((box) => box.x + box.width)) + PADDING - x,
        height: Math.max(...own.map((box) => box.y + box.height)) + PADDING - y,
      };
    });
}
