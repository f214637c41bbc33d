import { Grip, MoveDiagonal2, Pencil, Trash2 } from "lucide-react";
import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import type { SavedQuery } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { IconButton } from "../base/button.tsx";
import { GAP, heightOf, PanelBody, positionOf, ROW_HEIGHT } from "./board.tsx";
import type { DraftFilter, DraftPanel } from "./draft.ts";
import { COLUMNS, moved } from "./layout.ts";
import { usePanelData } from "./panel-data.ts";

interface Props {
  panels: readonly DraftPanel[];
  filters: readonly DraftFilter[];
  queries: readonly SavedQuery[];
  onChange: (panels: DraftPanel[]) => void;
  onEdit: (panel: DraftPanel) => void;
  onRemove: (panel: DraftPanel) => void;
}

type Way = "move" | "resize";

interface Dragging {
  key: string;
  way: Way;
  fromX: number;
  fromY: number;
  /** Panels when the gesture started. */
  panels: readonly DraftPanel[];
}

const ARROWS: Readonly<Record<string, readonly [across: number, down: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The panels after one of them was moved or resized by cells. */
function shifted(panels: readonly DraftPanel[], key: string, way: Way, across: number, down: number) {
  const panel = panels.find((each) => each.key === key);
  if (!panel) return [...panels];
  return way === "move"
    ? moved(panels, key, { x: panel.x + across, y: panel.y + down })
    : moved(panels, key, { width: panel.width + across, height: panel.height + down });
}

const placed = ({ title, x, y, width, height }: DraftPanel) =>
  t("{title}: column {x}, row {y}, {width} wide, {height} high", {
    title: title || t("Panel"),
    x: x + 1,
    y: y + 1,
    width,
    height,
  });

/** The grid in edit mode: panels are moved and resized by pointer or with arrow keys. */
export function EditGrid({ panels, onChange, ...rest }: Props) {
  const grid = useRef<HTMLDivElement>(null);
  const dragging = useRef<Dragging | null>(null);
  const [status, setStatus] = useState("");
  const change = (next: DraftPanel[], key: string) => {
    onChange(next);
    const panel = next.find((each) => each.key === key);
    if (panel) setStatus(placed(panel));
  };
  const wiringOf = (panel: DraftPanel, way: Way) => ({
    onKeyDown(event: KeyboardEvent) {
      const arrow = ARROWS[event.key];
      if (!arrow) return;
      event.preventDefault();
      change(shifted(panels, panel.key, way, ...arrow), panel.key);
    },
    onPointerDown(event: PointerEvent<HTMLElement>) {
      event.currentTarget.setPointerCapture(event.pointerId);
      dragging.current = { key: panel.key, way, fromX: event.clientX, fromY: event.clientY, panels };
    },
    onPointerMove(event: PointerEvent) {
      const from = dragging.current;
      if (!from || !grid.current) return;
      const cell = (grid.current.clientWidth + GAP) / COLUMNS;
      const across = Math.round((event.clientX - from.fromX) / cell);
      const down = Math.round((event.clientY - from.fromY) / (ROW_HEIGHT + GAP));
      change(shifted(from.panels, from.key, way, across, down), from.key);
    },
    onPointerUp() {
      dragging.current = null;
    },
    onPointerCancel() {
      if (dragging.current) onChange([...dragging.current.panels]);
      dragging.current = null;
    },
  });
  return (
    <>
      <p role="status" className="sr-only">
        {status}
      </p>
      <div ref={grid} className="board">
        {panels.map((panel) => (
          <EditPanel key={panel.key} panel={panel} wiringOf={(way) => wiringOf(panel, way)} {...rest} />
        ))}
      </div>
    </>
  );
}

interface PanelProps extends Omit<Props, "panels" | "onChange"> {
  panel: DraftPanel;
  wiringOf: (way: Way) => object;
}

function EditPanel({ panel, filters, queries, wiringOf, onEdit, onRemove }: PanelProps) {
  const data = usePanelData(panel, filters, queries);
  const title = panel.title || t("Untitled panel");
  return (
    <section aria-label={title} className="board-panel card relative flex flex-col" style={positionOf(panel)}>
      <div className="flex h-10 shrink-0 items-center gap-1 border-b border-line px-1.5">
        <IconButton
          icon={Grip}
          label={t("Move {title}", { title })}
          title={t("Drag, or use the arrow keys")}
          className="cursor-grab touch-none max-md:hidden"
          {...wiringOf("move")}
        />
        <h2 className="min-w-0 grow truncate text-sm font-semibold max-md:pl-2.5" dir="auto">
          {title}
        </h2>
        <IconButton icon={Pencil} label={t("Edit {title}", { title })} onClick={() => onEdit(panel)} />
        <IconButton icon={Trash2} label={t("Remove {title}", { title })} onClick={() => onRemove(panel)} />
      </div>
      <div className="min-h-0 grow overflow-hidden p-3">
        <PanelBody panel={panel} data={data} height={heightOf(panel.height) - 43 - 24} />
      </div>
      <IconButton
        icon={MoveDiagonal2}
        label={t("Resize {title}", { title })}
        title={t("Drag, or use the arrow keys")}
        className="absolute right-0 bottom-0 cursor-nwse-resize touch-none bg-raised max-md:hidden"
        {...wiringOf("resize")}
      />
    </section>
  );
}
