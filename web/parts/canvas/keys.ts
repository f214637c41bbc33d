import type { ReactFlowInstance } from "@xyflow/react";
import type { KeyboardEvent } from "react";
import { t } from "../../texts/text.ts";
import { plural } from "../base/plural.ts";
import { reaches, TRIGGER } from "./config.ts";
import type { FlowEdgeType } from "./edge.tsx";
import { COMMANDS, neighbour, type Side, type StepCommands, sideOf } from "./keyboard.ts";
import type { CanvasNode } from "./nodes.ts";
import type { SceneLink } from "./scene.ts";
import type { StepValue } from "./steps-config.ts";
import type { UiStore } from "./ui.ts";
import type { View } from "./view.tsx";
import { glide } from "./zoom.tsx";

export interface KeyContext {
  flow: ReactFlowInstance<CanvasNode, FlowEdgeType>;
  ui: UiStore;
  steps: readonly StepValue[];
  nodes: readonly CanvasNode[];
  links: readonly SceneLink[];
  selected: ReadonlySet<string>;
  /** The step whose panel is open. */
  chosen: string | null;
  /** True if steps follow each other to the right. */
  isAcross: boolean;
  mayChange: boolean;
  commands: StepCommands;
  nameOf: (key: string) => string;
  say: (text: string) => void;
  view: View;
  select: (ids: ReadonlySet<string>) => void;
  nudge: (ids: ReadonlySet<string>, dx: number, dy: number) => void;
  onConnect: (source: string, target: string) => void;
  onUndo: () => void;
  onRedo: () => void;
  expand: (groupId: string) => void;
  onFind: () => void;
  onMap: () => void;
  onTidy: () => void;
  onHelp: () => void;
  onVersions: () => void;
  onNextFault: (by: 1 | -1) => void;
}

const NUDGE = 16;
const isStep = ({ type }: CanvasNode) => type === "step" || type === "group";

/** Keys that work wherever the focus is in the canvas. Returns true if this was one. */
function onAnywhere(event: KeyboardEvent, on: KeyContext): boolean {
  const hold = event.ctrlKey || event.metaKey;
  const key = event.key.toLowerCase();
  if (hold && key === "z") event.shiftKey ? on.onRedo() : on.onUndo();
  else if (hold && key === "y") on.onRedo();
  else if (hold && key === "f") on.onFind();
  else if (event.key === "F8") on.onNextFault(event.shiftKey ? -1 : 1);
  else return false;
  return true;
}

function movedTo(side: Side): string {
  if (side === "up") return t("Moved up");
  if (side === "down") return t("Moved down");
  return side === "left" ? t("Moved left") : t("Moved right");
}

function onArrow(event: KeyboardEvent, key: string, on: KeyContext): boolean {
  const side = sideOf(event.key);
  if (!side || event.ctrlKey || event.metaKey) return false;
  if (event.altKey) {
    if (!on.mayChange) return false;
    const by = side === "up" || side === "left" ? -NUDGE : NUDGE;
    const isDown = side === "up" || side === "down";
    on.nudge(on.selected.has(key) ? on.selected : new Set([key]), isDown ? 0 : by, isDown ? by : 0);
    on.say(movedTo(side));
    return true;
  }
  const to = neighbour({ nodes: on.nodes.filter(isStep), links: on.links, isAcross: on.isAcross }, key, side);
  if (to === null) on.say(t("No step in this direction"));
  else {
    if (event.shiftKey) on.select(new Set([...on.selected, key, to].filter((each) => each !== TRIGGER)));
    on.view.focusStep(to);
  }
  return true;
}

/** While an edge is drawn by keyboard: Enter completes it, Escape cancels it. */
function onDrawing(event: KeyboardEvent, key: string, on: KeyContext): boolean {
  const { from } = on.ui.get();
  if (from === null || (event.key !== "Enter" && event.key !== "Escape")) return false;
  const source = from.split(":")[0] ?? from;
  if (event.key === "Escape") on.say(t("Not connected"));
  else if (key === TRIGGER || key === source || reaches(on.steps, key, source)) {
    on.say(t("Not connected: this would close a circle"));
    return true;
  } else {
    on.onConnect(from, key);
    on.say(t("Connected {source} to {target}", { source: on.nameOf(source), target: on.nameOf(key) }));
  }
  on.ui.set({ from: null });
  return true;
}

function onView({ key, shiftKey }: KeyboardEvent, on: KeyContext): boolean {
  const { flow } = on;
  if (key === "0") void flow.zoomTo(1, glide());
  else if (key === "1") on.view.fit();
  else if (key === "2") on.view.fit(on.selected);
  else if (key === "+" || key === "=") void flow.zoomIn(glide());
  else if (key === "-" || key === "−") void flow.zoomOut(glide());
  else if (key === "/" || key === "F3") on.onFind();
  else if (key === "m") on.onMap();
  else if (key === "?") on.onHelp();
  else if (key === "v") on.onVersions();
  else if (key === "T" && shiftKey && on.mayChange) on.onTidy();
  else return false;
  return true;
}

function onSelection(event: KeyboardEvent, key: string, on: KeyContext): boolean {
  const hold = event.ctrlKey || event.metaKey;
  if (hold && event.key.toLowerCase() === "a") on.select(new Set(on.steps.map((step) => step.key)));
  else if (hold || event.altKey) return false;
  else if (event.key === "Escape") on.select(new Set());
  else if (event.key === " ") {
    const next = new Set(on.selected);
    if (!next.delete(key) && key !== TRIGGER) next.add(key);
    on.select(next);
    on.say(plural(next.size, { one: "# selected", other: "# selected" }));
  } else if (event.key === "Home") on.view.focusStep(TRIGGER);
  else if (event.key === "End") on.view.focusStep(on.steps.at(-1)?.key ?? TRIGGER);
  else return false;
  return true;
}

/**
 * If the canvas itself has the focus, for example after opening, the first key focuses the step that Tab would reach.
 */
function onCanvasItself(event: KeyboardEvent, on: KeyContext): boolean {
  if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return false;
  if (sideOf(event.key) === undefined && event.key !== "Home" && event.key !== "Enter")
    return onView(event, on);
  on.view.focusStep(on.ui.get().tabStop);
  return true;
}

/** After drawing a selection box, the canvas has the focus: step shortcuts apply to the selected steps. */
const ofBox = ({ target, currentTarget }: KeyboardEvent, { selected, chosen }: KeyContext) =>
  target === currentTarget ? [...selected].find((key) => key !== chosen) : undefined;

/** Shortcuts of the canvas. Those of steps work only while a step has the focus, and so never in a form. */
export function onCanvasKey(event: KeyboardEvent, on: KeyContext): void {
  const target = event.target as HTMLElement;
  if (target.closest("input, textarea, [role=menu]")) return;
  const key = target.closest<HTMLElement>("[data-step]")?.dataset.step ?? ofBox(event, on);
  const isHandled =
    onAnywhere(event, on) ||
    (key === undefined && onCanvasItself(event, on)) ||
    (key !== undefined &&
      (onArrow(event, key, on) ||
        onDrawing(event, key, on) ||
        onSelection(event, key, on) ||
        onCommand(event, key, on) ||
        (!event.ctrlKey && !event.metaKey && !event.altKey && onView(event, on))));
  if (!isHandled) return;
  event.preventDefault();
  event.stopPropagation();
}

function onCommand(event: KeyboardEvent, key: string, on: KeyContext): boolean {
  if (key.startsWith("group:") && event.key === "Enter") {
    on.expand(key.slice("group:".length));
    return true;
  }
  const found = COMMANDS.find(({ matches }) => matches(event));
  if (!found || (found.mayOnly && !on.mayChange)) return false;
  if (key.startsWith("group:") || (key === TRIGGER && !found.forTrigger)) return false;
  found.run(on.commands, key, on.selected.has(key) ? on.selected : new Set([key]));
  return true;
}
