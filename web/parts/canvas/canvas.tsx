import {
  Background,
  BackgroundVariant,
  type Connection,
  ReactFlow,
  ReactFlowProvider,
  SelectionMode,
  useReactFlow,
} from "@xyflow/react";
import {
  type ClipboardEvent,
  type MouseEvent as ReactMouseEvent,
  useCallback,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { t } from "../../texts/text.ts";
import { plural } from "../base/plural.ts";
import { HEIGHT, WIDTH } from "./arrange.ts";
import { Arrow } from "./arrow.tsx";
import { dependencyOf, reaches, TRIGGER } from "./config.ts";
import { useConnections } from "./connections.ts";
import { useDrag } from "./drag.ts";
import { FlowEdge, type FlowEdgeType } from "./edge.tsx";
import { FrameNode, GroupNode, NoteNode } from "./extras.tsx";
import { useGradual } from "./gradual.ts";
import { selectedSteps, useHand, useMeasured } from "./hand.ts";
import type { StepCommands } from "./keyboard.ts";
import { onCanvasKey } from "./keys.ts";
import { nextWayOut } from "./kinds.ts";
import { StepMap } from "./map.tsx";
import { StepNode } from "./node.tsx";
import { type CanvasNode, type Drawn, useEdges, useNodes } from "./nodes.ts";
import { type MenuSpot, Overlays } from "./overlays.tsx";
import type { CanvasEvents, CanvasProps } from "./props.ts";
import { arrangementOf, sceneOf } from "./scene.ts";
import { ActionsContext, type CanvasActions, createUi, UiContext, type UiStore } from "./ui.ts";
import { Far, NEAREST, useKeepCentred, useStart, useView } from "./view.tsx";
import { Zoom } from "./zoom.tsx";

const NODES = { step: StepNode, note: NoteNode, group: GroupNode, frame: FrameNode };
const EDGES = { flow: FlowEdge };
/** Minimum number of steps for a minimap. */
const LARGE = 30;
/** Modifier keys with which a click adds to the selection. */
const ADDS = ["Meta", "Control", "Shift"];
const NO_FAULTS: ReadonlyMap<string, string> = new Map();

export function Canvas(props: CanvasProps) {
  const ui = useRef<UiStore>(null);
  ui.current ??= createUi(props.chosen ?? TRIGGER);
  // In a task of its own, which gives way to others: what is around the canvas is drawn in the one before.
  const isDrawn = useDeferredValue(true, false);
  if (!isDrawn) return null;
  return (
    <UiContext value={ui.current}>
      <ReactFlowProvider>
        <Flow {...props} ui={ui.current} />
      </ReactFlowProvider>
    </UiContext>
  );
}

/**
 * Defers rendering to a separate task: with hundreds of steps, updating the document and rendering in one task would
 * block the page noticeably. The step to show is deferred too, since its card may be new.
 */
function useLater(props: CanvasProps) {
  const { steps, layout, actions, trigger, titleOf, mayChange } = props;
  const connections = useConnections(steps, actions);
  const { states = null, faults = NO_FAULTS, changes = null, shown = null } = props;
  return useDeferredValue(
    useMemo(
      () => ({
        steps,
        layout,
        actions,
        connections,
        trigger,
        titleOf,
        mayChange,
        states,
        faults,
        changes,
        shown,
      }),
      [steps, layout, actions, connections, trigger, titleOf, mayChange, states, faults, changes, shown],
    ),
  );
}

/** Scene, arrangement, nodes and edges to draw. */
function useDrawn(later: ReturnType<typeof useLater>, chosen: string | null) {
  const { steps, layout, actions, connections, trigger, titleOf, states, faults, changes, mayChange } = later;
  const scene = useMemo(() => sceneOf(steps, actions, layout), [steps, actions, layout]);
  const arrangement = useMemo(() => arrangementOf(scene, layout), [scene, layout]);
  const drawn = useMemo(
    (): Drawn => ({
      scene,
      arrangement,
      layout,
      trigger,
      actions,
      connections,
      titleOf,
      states,
      faults,
      changes,
      mayChange,
    }),
    [scene, arrangement, layout, trigger, actions, connections, titleOf, states, faults, changes, mayChange],
  );
  const { sizes, take } = useMeasured();
  const wanted = useNodes(drawn, sizes);
  const hand = useHand({ wanted, arrangement, chosen, takeSizes: take });
  const edges = useEdges(drawn, hand.moved);
  const names = useMemo(
    () => new Map([[TRIGGER, trigger.name], ...steps.map(({ key, name }) => [key, name ?? key] as const)]),
    [steps, trigger],
  );
  const nameOf = useCallback((key: string) => names.get(key) ?? key, [names]);
  return { ...hand, scene, arrangement, edges, nameOf, isAcross: layout.direction === "right" };
}

/** Handlers of cards and edges. They stay the same functions, so that no card renders again. */
function useCardActions(on: CanvasEvents, ui: UiStore): CanvasActions {
  const now = useRef(on);
  now.current = on;
  return useMemo(
    () => ({
      choose(key) {
        ui.set({ tabStop: key });
        now.current.onChoose(key);
      },
      add: (spot) => now.current.onAdd(spot),
      disconnect: (source, target) => now.current.onDisconnect(source, target),
      expand: (id) => now.current.expand(id),
      ungroup: (id) => now.current.ungroup(id),
      writeNote: (id, text) => now.current.writeNote(id, text),
      removeNote: (id) => now.current.removeNote(id),
    }),
    [ui],
  );
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its handlers share the selection and the current gesture
function Flow(props: CanvasProps & { ui: UiStore }) {
  const { steps, name, mayChange, on, ui, isEmbedded = false, chosen } = props;
  const flow = useReactFlow<CanvasNode, FlowEdgeType>();
  const box = useRef<HTMLDivElement>(null);
  const later = useLater(props);
  const { shown } = later;
  const parts = useDrawn(later, chosen);
  const { nodes, edges, scene, nameOf, isAcross } = parts;
  const drawn = useGradual(nodes, edges, chosen);
  const [message, say] = useState("");
  const [isFinding, setFinding] = useState(false);
  const [wantsMap, setWantsMap] = useState<boolean | null>(null);
  const [menu, setMenu] = useState<MenuSpot | null>(null);
  const hasMap = wantsMap ?? (steps.length > LARGE && !isEmbedded);
  const view = useView({ nodes, bring: drawn.bring, ui, box });
  const cardActions = useCardActions(on, ui);
  const start = useStart(parts, chosen, box);
  const now = useRef({ on, nodes });
  now.current = { on, nodes };
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs each time that another step is to be shown
  useEffect(() => {
    if (shown) requestAnimationFrame(() => view.focusStep(shown.key));
  }, [shown?.key, shown?.count]);
  const { select } = parts;
  useEffect(() => select(new Set(chosen === null ? [] : [chosen])), [chosen, select]);
  useKeepCentred(box);
  const drawnAcross = useRef(isAcross);
  useEffect(() => {
    if (drawnAcross.current !== isAcross) start();
    drawnAcross.current = isAcross;
  }, [isAcross, start]);
  useEffect(() => {
    // The step that Tab reaches may have been removed.
    const { tabStop } = ui.get();
    if (!nodes.some(({ id }) => id === tabStop)) ui.set({ tabStop: TRIGGER });
  }, [nodes, ui]);

  const onNodesChange = useDrag({ isAcross, box, nodes, edges, onNodesChange: parts.onNodesChange });
  const selected = selectedSteps(nodes);
  const move = (moved: ReadonlyMap<string, { x: number; y: number }>) =>
    now.current.on.onMove(
      Object.fromEntries(
        now.current.nodes
          .filter(({ type }) => type !== "frame")
          .map(({ id, position }) => [id, moved.get(id) ?? position] as const)
          .map(([id, { x, y }]) => [id, [Math.round(x), Math.round(y)] as const]),
      ),
      new Set(moved.keys()),
    );
  const moveTo = (dragged: readonly CanvasNode[]) =>
    move(new Map(dragged.map(({ id, position }) => [id, position])));
  const commands: StepCommands = {
    ...on,
    open: (key) => on.open(key),
    remove(keys) {
      // Otherwise the focus would be lost with the card, and key presses with it.
      box.current?.focus({ preventScroll: true });
      on.remove(keys);
    },
    connectFrom(key) {
      const from = nextWayOut(steps, props.actions, key, ui.get().from);
      ui.set({ from });
      const { branch } = dependencyOf(from);
      const words =
        branch === null ? nameOf(key) : t("{name}, branch {branch}", { name: nameOf(key), branch });
      say(t("Connect {words}: go to a step with the arrow keys, Enter connects, Esc cancels", { words }));
    },
    addAfter: (key, isBranch) => on.onAdd({ after: [key], isInLine: !isBranch }),
    addBefore: (key) => on.onAdd({ before: key }),
  };
  const onKeyDown = (event: React.KeyboardEvent) =>
    onCanvasKey(event, {
      ...on,
      flow,
      ui,
      steps,
      nodes,
      links: scene.links,
      selected,
      chosen,
      isAcross,
      mayChange,
      commands,
      nameOf,
      say,
      view,
      select,
      nudge(ids, dx, dy) {
        const nudged = nodes.flatMap(({ id, position: { x, y } }) =>
          ids.has(id) ? [{ type: "position" as const, id, position: { x: x + dx, y: y + dy } }] : [],
        );
        parts.onNodesChange(nudged);
        move(new Map(nudged.map(({ id, position }) => [id, position])));
      },
      expand: on.expand,
      onFind: () => setFinding(true),
      onMap: () => setWantsMap(!hasMap),
    });
  const onInit = () => {
    start();
    // If nothing else has the focus, shortcuts work immediately, and the next Tab focuses a step.
    if (!isEmbedded && document.activeElement === document.body) box.current?.focus({ preventScroll: true });
  };
  const onto = () => (document.activeElement as HTMLElement | null)?.dataset.step ?? null;
  const onCopy = (event: ClipboardEvent, isCut: boolean) => {
    if ((event.target as HTMLElement).closest("input, textarea, [contenteditable]")) return;
    const step = onto();
    const keys = selected.size > 0 ? selected : new Set(step && step !== TRIGGER ? [step] : []);
    const text = on.copy(keys);
    if (text === null) return;
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
    say(plural(keys.size, { one: "Copied # step", other: "Copied # steps" }));
    if (isCut && mayChange) commands.remove(keys);
  };
  const onPaste = (event: ClipboardEvent) => {
    if (!mayChange || (event.target as HTMLElement).closest("input, textarea, [contenteditable]")) return;
    if (on.paste(event.clipboardData.getData("text/plain"), onto())) event.preventDefault();
  };
  const isValid = useCallback(
    ({ source, target }: Connection | FlowEdgeType) =>
      source !== target && target !== TRIGGER && !reaches(steps, target, source),
    [steps],
  );
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: key events of the steps inside bubble to here
    <div
      ref={box}
      tabIndex={-1}
      className="relative size-full outline-none"
      onKeyDown={onKeyDown}
      onCopy={(event) => onCopy(event, false)}
      onCut={(event) => onCopy(event, true)}
      onPaste={onPaste}
    >
      <ActionsContext value={cardActions}>
        <ReactFlow<CanvasNode, FlowEdgeType>
          nodes={drawn.nodes}
          edges={drawn.edges}
          nodeTypes={NODES}
          edgeTypes={EDGES}
          onInit={onInit}
          onNodesChange={onNodesChange}
          onConnect={({ source, target, sourceHandle }) =>
            on.onConnect(sourceHandle ? `${source}:${sourceHandle}` : source, target)
          }
          onConnectStart={() => box.current?.classList.add("connecting")}
          onConnectEnd={(event, { toNode, fromNode, fromHandle }) => {
            box.current?.classList.remove("connecting");
            if (toNode || !fromNode || fromHandle?.type !== "source" || !("clientX" in event)) return;
            const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
            on.onAdd({
              after: [fromHandle.id ? `${fromNode.id}:${fromHandle.id}` : fromNode.id],
              at: isAcross
                ? [Math.round(x), Math.round(y - HEIGHT / 2)]
                : [Math.round(x - WIDTH / 2), Math.round(y)],
            });
          }}
          isValidConnection={isValid}
          onEdgeMouseEnter={useCallback((_: unknown, { id }: FlowEdgeType) => ui.set({ hovered: id }), [ui])}
          onEdgeMouseLeave={useCallback(
            // The buttons on an edge must stay until the pointer reaches them.
            () => void setTimeout(() => ui.set({ hovered: null }), 400),
            [ui],
          )}
          onPaneClick={useCallback((event: ReactMouseEvent) => {
            if (event.detail > 1) return;
            box.current?.focus({ preventScroll: true });
            now.current.on.onChoose(null);
          }, [])}
          onDoubleClick={(event) => {
            if (!mayChange || !(event.target as HTMLElement).classList.contains("react-flow__pane")) return;
            const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
            on.onAdd({ after: [], at: [Math.round(x - WIDTH / 2), Math.round(y)] });
          }}
          onNodeContextMenu={(event, node) => {
            if (node.type !== "step") return;
            event.preventDefault();
            const around = (event.target as HTMLElement).getBoundingClientRect();
            const isByKey = event.clientX === 0 && event.clientY === 0;
            setMenu({
              x: isByKey ? around.left + 24 : event.clientX,
              y: isByKey ? around.bottom : event.clientY,
              step: node.id,
            });
          }}
          onNodeDragStop={(_, __, dragged) => moveTo(dragged)}
          onSelectionEnd={() => box.current?.focus({ preventScroll: true })}
          multiSelectionKeyCode={ADDS}
          selectionMode={SelectionMode.Partial}
          nodesDraggable={mayChange}
          nodesConnectable={mayChange}
          nodesFocusable={false}
          edgesFocusable={false}
          disableKeyboardA11y
          deleteKeyCode={null}
          nodeDragThreshold={4}
          panOnScroll={!isEmbedded}
          zoomOnScroll={false}
          zoomOnPinch
          preventScrolling={!isEmbedded}
          zoomOnDoubleClick={false}
          minZoom={NEAREST}
          maxZoom={1.6}
          proOptions={{ hideAttribution: true }}
          aria-label={t("Steps of {name}", { name })}
        >
          <Arrow />
          <Background variant={BackgroundVariant.Dots} gap={20} size={1} />
          {hasMap && <StepMap />}
          <Zoom
            onFit={() => view.fit()}
            hasMap={hasMap}
            onMap={() => setWantsMap(!hasMap)}
            onFind={() => setFinding(true)}
            isAcross={isAcross}
            onTurn={on.onTurn && (() => on.onTurn?.(isAcross ? "down" : "right"))}
            onTidy={mayChange ? on.onTidy : null}
            onHelp={mayChange ? on.onHelp : null}
          />
          <Far box={box} />
        </ReactFlow>
      </ActionsContext>
      <Overlays
        steps={steps}
        selected={selected}
        commands={commands}
        mayChange={mayChange}
        isFinding={isFinding}
        view={view}
        menu={menu}
        onFound={(key) => {
          setFinding(false);
          if (key !== null) requestAnimationFrame(() => view.focusStep(key));
        }}
        onMenuClose={() => setMenu(null)}
      />
      <p aria-live="polite" className="sr-only">
        {message}
      </p>
    </div>
  );
}
