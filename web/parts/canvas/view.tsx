import { getViewportForBounds, useReactFlow, useStore } from "@xyflow/react";
import { type RefObject, useCallback, useEffect, useMemo, useRef } from "react";
import { type Arrangement, HEIGHT, WIDTH } from "./arrange.ts";
import { TRIGGER } from "./config.ts";
import type { FlowEdgeType } from "./edge.tsx";
import type { CanvasNode } from "./nodes.ts";
import type { UiStore } from "./ui.ts";
import { glide } from "./zoom.tsx";

/** Below this zoom, cards show only their names. */
const FAR = 0.6;
/** Minimum zoom to show everything if the canvas is far too large. */
export const NEAREST = 0.1;

/** Bounding box of all nodes, whether they are drawn yet or not. */
function boundsOf(nodes: readonly CanvasNode[]) {
  const lefts = nodes.map(({ position }) => position.x);
  const tops = nodes.map(({ position }) => position.y);
  const [x, y] = [Math.min(...lefts), Math.min(...tops)];
  const rights = nodes.map(({ width = 0 }, at) => (lefts[at] ?? 0) + width);
  const feet = nodes.map(({ height = 0 }, at) => (tops[at] ?? 0) + height);
  return { x, y, width: Math.max(...rights) - x, height: Math.max(...feet) - y };
}

interface ViewOptions {
  nodes: readonly CanvasNode[];
  /** Draws a card now instead of in a later frame. Null once all are drawn. */
  bring: ((key: string) => void) | null;
  ui: UiStore;
  box: RefObject<HTMLElement | null>;
}

/** Maximum wait for a card: a new one is hidden until the library has measured it, and can't be focused. */
const FRAMES = 30;

/** Scrolls to steps and fits the view, whether their cards are drawn yet or not. */
export function useView({ nodes, bring, ui, box }: ViewOptions) {
  const flow = useReactFlow<CanvasNode, FlowEdgeType>();
  const now = useRef({ nodes, bring });
  now.current = { nodes, bring };
  return useMemo(() => {
    const at = (key: string) => now.current.nodes.find(({ id }) => id === key)?.position;
    const centre = ({ x, y }: { x: number; y: number }, zoom: number) =>
      void flow.setCenter(x + WIDTH / 2, y + HEIGHT / 2, { zoom, ...glide() });
    const focus = (key: string, frames: number) => {
      if (ui.get().tabStop !== key) return; // a later key moved on
      const card = box.current?.querySelector<HTMLElement>(`[data-step="${CSS.escape(key)}"]`);
      // Scrolling by the browser would shift the whole canvas.
      card?.focus({ preventScroll: true });
      if (document.activeElement !== card && frames > 0) requestAnimationFrame(() => focus(key, frames - 1));
    };
    return {
      /** Scrolls to a step and focuses it. */
      focusStep(key: string) {
        const position = at(key);
        if (!position) return;
        ui.set({ tabStop: key });
        now.current.bring?.(key);
        const around = box.current?.getBoundingClientRect();
        const { x, y } = flow.flowToScreenPosition(position);
        const zoom = flow.getZoom();
        const isOut =
          around &&
          (x < around.left ||
            y < around.top ||
            x + WIDTH * zoom > around.right ||
            y + HEIGHT * zoom > around.bottom);
        if (isOut) centre(position, zoom);
        focus(key, now.current.bring ? FRAMES : 0);
      },
      show(key: string) {
        const position = at(key);
        if (position) centre(position, Math.max(flow.getZoom(), 0.6));
      },
      /** Fits the view to all steps, or to these. */
      fit(ids?: ReadonlySet<string>) {
        const { width = 0, height = 0 } = box.current?.getBoundingClientRect() ?? {};
        const all = now.current.nodes;
        const wanted = all.filter(({ id }) => ids?.has(id));
        const [bounds, padding] = wanted.length > 0 ? [boundsOf(wanted), 0.3] : [boundsOf(all), 0.1];
        void flow.setViewport(getViewportForBounds(bounds, width, height, NEAREST, 1, padding), glide());
      },
    };
  }, [flow, ui, box]);
}

export type View = ReturnType<typeof useView>;

/** Initial view: everything if it is readable, else the beginning or the selected step. */
export function useStart(
  {
    nodes,
    arrangement,
    isAcross,
  }: { nodes: readonly CanvasNode[]; arrangement: Arrangement; isAcross: boolean },
  chosen: string | null,
  box: RefObject<HTMLElement | null>,
) {
  const flow = useReactFlow<CanvasNode, FlowEdgeType>();
  return useCallback(() => {
    const { width = 0, height = 0 } = box.current?.getBoundingClientRect() ?? {};
    const bounds = boundsOf(nodes);
    const fitting = Math.min(width / (bounds.width + 80), height / (bounds.height + 80), 1);
    if (fitting >= 0.5 && chosen === null) {
      const [right, below] = [
        width / 2 - (bounds.width / 2) * fitting,
        height / 2 - (bounds.height / 2) * fitting,
      ];
      void flow.setViewport({
        x: (isAcross ? Math.min(40, right) : right) - bounds.x * fitting,
        y: (isAcross ? below : Math.min(40, below)) - bounds.y * fitting,
        zoom: fitting,
      });
      return;
    }
    const at = arrangement.boxes.get(chosen ?? TRIGGER) ?? arrangement.boxes.get(TRIGGER);
    if (!at) return;
    const zoom = Math.max(fitting, Math.min(0.8, width / (WIDTH + 60)));
    const isFirst = chosen === null || chosen === TRIGGER;
    const left = isFirst && isAcross ? 40 : width / 2 - (WIDTH / 2) * zoom;
    const top = isFirst && !isAcross ? 40 : height / 2 - (HEIGHT / 2) * zoom;
    void flow.setViewport({ x: left - at.x * zoom, y: top - at.y * zoom, zoom });
  }, [flow, nodes, arrangement, isAcross, chosen, box]);
}

/** Keeps the center in place when the canvas is resized, for example when a step's panel opens. */
export function useKeepCentred(box: RefObject<HTMLElement | null>) {
  const flow = useReactFlow<CanvasNode, FlowEdgeType>();
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let before = element.clientWidth;
    const observer = new ResizeObserver(() => {
      const by = element.clientWidth - before;
      before = element.clientWidth;
      if (by === 0) return;
      const { x, y, zoom } = flow.getViewport();
      void flow.setViewport({ x: x + by / 2, y, zoom });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [flow, box]);
}

/** Number of cards updated per frame: hundreds at once would take longer than one. */
const AT_ONCE = 24;

/** Shows only the names of steps, enlarged, when zoomed out: sets an attribute of each card at the threshold. */
export function Far({ box }: { box: RefObject<HTMLElement | null> }) {
  const isFar = useStore(({ transform }) => transform[2] < FAR);
  const nodes = useStore((state) => state.nodes); // new cards don't have it yet
  // biome-ignore lint/correctness/useExhaustiveDependencies: the cards in the DOM depend on the nodes
  useEffect(() => {
    const cards = [...(box.current?.querySelectorAll("[data-card]") ?? [])].filter(
      (card) => card.hasAttribute("data-far") !== isFar,
    );
    let frame = 0;
    const next = () => {
      for (const card of cards.splice(0, AT_ONCE)) card.toggleAttribute("data-far", isFar);
      if (cards.length > 0) frame = requestAnimationFrame(next);
    };
    next();
    return () => cancelAnimationFrame(frame);
  }, [isFar, nodes, box]);
  return null;
}
