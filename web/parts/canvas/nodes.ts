import { Position } from "@xyflow/react";
import type { LucideIcon } from "lucide-react";
import { useMemo, useRef } from "react";
import { t } from "../../texts/text.ts";
import { kindStyle } from "../base/kind-icons.tsx";
import { plural } from "../base/plural.ts";
import { inText } from "../base/status.tsx";
import { type Arrangement, HEIGHT, WIDTH } from "./arrange.ts";
import { TRIGGER } from "./config.ts";
import { connectionOf, type Used } from "./connections.ts";
import type { FlowEdgeType } from "./edge.tsx";
import { type FrameNodeType, type GroupNodeType, NOTE_WIDTH, type NoteNodeType } from "./extras.tsx";
import { type Actions, kindOf, summaryOf } from "./kinds.ts";
import type { Layout } from "./layout.ts";
import type { StepNodeType } from "./node.tsx";
import { framesOf, groupNode, type Scene, type SceneLink } from "./scene.ts";
import { changeName, type StepChange, type StepState } from "./states.ts";
import type { StepValue } from "./steps-config.ts";

export type CanvasNode = StepNodeType | NoteNodeType | GroupNodeType | FrameNodeType;

export interface TriggerCard {
  readonly name: string;
  readonly summary: string;
  readonly icon: LucideIcon;
}

export interface Drawn {
  scene: Scene;
  arrangement: Arrangement;
  layout: Layout;
  trigger: TriggerCard;
  actions: Actions;
  /** By ID. */
  connections: ReadonlyMap<string, Used>;
  titleOf: (kind: string) => string;
  states: ReadonlyMap<string, StepState> | null;
  faults: ReadonlyMap<string, string>;
  changes: ReadonlyMap<string, StepChange> | null;
  mayChange: boolean;
}

/** Sizes measured by the library, by node. */
export type Sizes = ReadonlyMap<string, { width: number; height: number }>;

/** Text alternative for what is shown around a card: "Extract, after New order, before 2 steps, completed". */
function labelOf(
  key: string,
  title: string,
  links: readonly SceneLink[],
  nameOf: (key: string) => string,
): string {
  const before = links
    .filter(({ target }) => target === key)
    .map(({ source, branch }) =>
      branch === null ? nameOf(source) : t("{name}, branch {branch}", { name: nameOf(source), branch }),
    );
  const count = links.filter(({ source }) => source === key).length;
  return [
    `, ${title}`,
    ...(before.length > 0 ? [t("after {steps}", { steps: before.join(` ${t("and")} `) })] : []),
    count === 0 ? t("last|of steps") : plural(count, { one: "before # step", other: "before # steps" }),
  ].join(", ");
}

const namesOf = ({ scene, trigger }: Pick<Drawn, "scene" | "trigger">) => {
  const names = new Map<string, string>([
    [TRIGGER, trigger.name],
    ...scene.steps.map(({ key, name }) => [key, name ?? key] as const),
    ...scene.collapsed.map(({ id, title }) => [groupNode(id), title] as const),
  ]);
  return (key: string) => names.get(key) ?? key;
};

/** Edges by both their ends: scanning all of them for each card would be slow with hundreds. */
function linksBy(links: readonly SceneLink[]): ReadonlyMap<string, readonly SceneLink[]> {
  const by = new Map<string, SceneLink[]>();
  for (const link of links) {
    for (const end of [link.source, link.target]) {
      const known = by.get(end);
      if (known) known.push(link);
      else by.set(end, [link]);
    }
  }
  return by;
}

function dataOf(
  drawn: Drawn,
  step: StepValue | null,
  around: readonly SceneLink[],
  nameOf: (key: string) => string,
) {
  const { scene, trigger, actions, connections, titleOf, states, faults, changes, mayChange } = drawn;
  const key = step?.key ?? TRIGGER;
  const kind = step ? kindOf(step, actions) : undefined;
  const style = step ? kindStyle(kind) : { icon: trigger.icon, tint: "bg-accent-soft text-accent" };
  const state = states?.get(key) ?? null;
  const fault = faults.get(key) ?? null;
  const change = changes?.get(key) ?? null;
  const used = (step && connections.get(connectionOf(step, actions))) ?? null;
  const branches = scene.branches.get(key) ?? NONE;
  const words = [
    labelOf(key, step ? titleOf(kind ?? "") : t("Trigger"), around, nameOf),
    ...(used ? [used.name] : []),
    ...(state ? [inText(state.status)] : []),
    ...(fault ? [t("fault: {fault}", { fault })] : []),
    ...(change ? [changeName(change)] : []),
  ];
  return {
    step,
    name: nameOf(key),
    summary: step ? summaryOf(step, actions, titleOf) : trigger.summary,
    ...style,
    used,
    branches,
    unused: branches.filter(
      (branch) => !around.some((link) => link.source === key && link.branch === branch),
    ),
    state,
    fault,
    change,
    hasNext: around.some(({ source }) => source === key),
    mayChange,
    label: words.join(", "),
  };
}

const NONE: readonly string[] = [];

/** Returns whether two nodes look the same. Then the old object is kept, and nothing renders again. */
function isAlike(one: CanvasNode, other: CanvasNode): boolean {
  if (
    one.position.x !== other.position.x ||
    one.position.y !== other.position.y ||
    one.measured?.width !== other.measured?.width ||
    one.measured?.height !== other.measured?.height ||
    one.sourcePosition !== other.sourcePosition
  )
    return false;
  const [before, after] = [one.data, other.data] as Record<string, unknown>[];
  if (!before || !after) return false;
  return Object.keys(after).every((name) => {
    const [old, now] = [before[name], after[name]];
    if (Array.isArray(old) && Array.isArray(now))
      return old.length === now.length && old.every((each, at) => each === now[at]);
    return old === now;
  });
}

function nodesOf(drawn: Drawn): CanvasNode[] {
  const { scene, arrangement, layout, states, mayChange } = drawn;
  const nameOf = namesOf(drawn);
  const isAcross = layout.direction === "right";
  // The library looks up the ports again when these change.
  const ports = isAcross
    ? { sourcePosition: Position.Right, targetPosition: Position.Left }
    : { sourcePosition: Position.Bottom, targetPosition: Position.Top };
  const by = linksBy(scene.links);
  const around = (key: string) => by.get(key) ?? [];
  const fixed = { deletable: false, focusable: false } as const;
  // Passed as measured: the library's own measurements are lost with the ports if a card changes in the meantime.
  const boxOf = (key: string) => {
    const { x = 0, y = 0, width = WIDTH, height = HEIGHT } = arrangement.boxes.get(key) ?? {};
    return { position: { x, y }, width, height, measured: { width, height } };
  };
  const frames = framesOf(layout, arrangement).map(
    ({ id, title, x, y, width, height }): FrameNodeType => ({
      id: `frame:${id}`,
      type: "frame",
      position: { x, y },
      width,
      height,
      measured: { width, height },
      data: { group: id, title, mayChange },
      draggable: false,
      selectable: false,
      zIndex: -1,
      ...fixed,
    }),
  );
  const steps = [null, ...scene.steps].map((step): StepNodeType => {
    const id = step?.key ?? TRIGGER;
    return {
      id,
      type: "step",
      ...boxOf(id),
      ...ports,
      data: dataOf(drawn, step, around(id), nameOf),
      ...fixed,
    };
  });
  const groups = scene.collapsed.map(({ id: own, title, steps: inside }): GroupNodeType => {
    const id = groupNode(own);
    const statuses = inside.flatMap((key) => states?.get(key)?.status ?? []);
    const worst = (["failed", "waiting", "running", "pending", "completed"] as const).find((status) =>
      statuses.includes(status),
    );
    const label = labelOf(id, t("Group"), around(id), nameOf);
    return {
      id,
      type: "group",
      ...boxOf(id),
      ...ports,
      data: { title, count: inside.length, status: worst ?? null, label },
      ...fixed,
    };
  });
  const notes = layout.notes.map(({ id, text, near, x, y }): NoteNodeType => {
    const box = near === undefined ? undefined : arrangement.boxes.get(near);
    const [right, below] = !box ? [0, 0] : isAcross ? [0, HEIGHT + 24] : [WIDTH + 24, 0];
    return {
      id: `note:${id}`,
      type: "note",
      position: { x: (box?.x ?? 0) + (x ?? right), y: (box?.y ?? 0) + (y ?? below) },
      width: NOTE_WIDTH,
      data: { text, mayChange },
      ...fixed,
    };
  });
  return [...frames, ...steps, ...groups, ...notes];
}

/** Nodes for the library. An object is replaced only if it looks different. */
export function useNodes(drawn: Drawn, sizes: Sizes): CanvasNode[] {
  const kept = useRef(new Map<string, CanvasNode>());
  const made = useMemo(() => nodesOf(drawn), [drawn]);
  return useMemo(() => {
    const nodes = made.map((node) => {
      const measured = node.measured ? undefined : sizes.get(node.id);
      const own = measured ? ({ ...node, measured } as CanvasNode) : node;
      const old = kept.current.get(node.id);
      return old && isAlike(old, own) ? old : own;
    });
    kept.current = new Map(nodes.map((node) => [node.id, node]));
    return nodes;
  }, [made, sizes]);
}

function edgeOf(
  link: SceneLink,
  drawn: Drawn,
  isMoved: boolean,
  nameOf: (key: string) => string,
): FlowEdgeType {
  const { states, arrangement, mayChange } = drawn;
  const { id, source, target, branch, dependency } = link;
  const [from, to] = [states?.get(source), states?.get(target)];
  const isOff = to?.status === "skipped" || from?.status === "skipped";
  const hasBegun = to !== undefined && to.status !== "pending";
  const isGood = hasBegun && (from?.status === "completed" || (source === TRIGGER && states !== null));
  const tone = isOff ? "off" : to?.status === "running" ? "busy" : isGood ? "good" : "idle";
  return {
    id,
    type: "flow",
    source,
    target,
    sourceHandle: branch,
    focusable: false,
    data: {
      bends: isMoved ? [] : (arrangement.bends.get(id) ?? []),
      tone,
      count: tone === "good" || tone === "busy" ? (from?.count ?? null) : null,
      label: t("between {source} and {target}", { source: nameOf(source), target: nameOf(target) }),
      dependency,
      mayChange: mayChange && !source.startsWith("group:") && !target.startsWith("group:"),
    },
    markerEnd: "step-arrow",
  };
}

/** `moved` are the keys of the dragged nodes, separated by spaces. */
export function useEdges(drawn: Drawn, moved: string): FlowEdgeType[] {
  const kept = useRef(new Map<string, FlowEdgeType>());
  return useMemo(() => {
    const away = new Set(moved.split(" "));
    const nameOf = namesOf(drawn);
    const edges = drawn.scene.links.map((link) => {
      const edge = edgeOf(link, drawn, away.has(link.source) || away.has(link.target), nameOf);
      const old = kept.current.get(link.id);
      return old && isSameEdge(old, edge) ? old : edge;
    });
    kept.current = new Map(edges.map((edge) => [edge.id, edge]));
    return edges;
  }, [drawn, moved]);
}

function isSameEdge({ data: one }: FlowEdgeType, { data: other }: FlowEdgeType): boolean {
  if (!one || !other) return false;
  const areBends =
    one.bends.length === other.bends.length &&
    one.bends.every(({ x, y }, at) => x === other.bends[at]?.x && y === other.bends[at]?.y);
  const names = ["tone", "count", "label", "dependency", "mayChange"] as const;
  return areBends && names.every((name) => one[name] === other[name]);
}
