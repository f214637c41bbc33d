import { BaseEdge, type Edge, EdgeLabelRenderer, type EdgeProps, Position } from "@xyflow/react";
import { Plus, X } from "lucide-react";
import { memo, useContext } from "react";
import { t } from "../../texts/text.ts";
import { counted } from "../base/time.tsx";
import { TRIGGER } from "./config.ts";
import { pathOf } from "./path.ts";
import { ActionsContext, useUi } from "./ui.ts";

interface FlowData extends Record<string, unknown> {
  bends: readonly { x: number; y: number }[];
  tone: "idle" | "good" | "busy" | "off";
  /** Number of rows that passed it. */
  count: number | null;
  /** Accessible name. */
  label: string;
  /** As in `dependsOn`. */
  dependency: string;
  mayChange: boolean;
}
export type FlowEdgeType = Edge<FlowData, "flow">;

const INK: Readonly<Record<FlowData["tone"], string>> = {
  idle: "var(--strong-line)",
  good: "var(--good)",
  busy: "var(--busy)",
  off: "var(--line)",
};

const ROUND = "grid size-6 place-items-center rounded-full border bg-raised";

export const FlowEdge = memo(function FlowEdge(props: EdgeProps<FlowEdgeType>) {
  const { id, source, target, sourceX, sourceY, targetX, targetY, data, selected, markerEnd } = props;
  const isAcross = props.sourcePosition === Position.Right;
  const actions = useContext(ActionsContext);
  const isHovered = useUi(({ hovered }) => hovered === id);
  if (!data) return null;
  const { bends, tone, count, label, dependency, mayChange } = data;
  const tip = { x: isAcross ? targetX - 3 : targetX, y: isAcross ? targetY : targetY - 3 };
  const path = pathOf([{ x: sourceX, y: sourceY }, ...bends, tip], isAcross);
  const middle = bends[Math.floor((bends.length - 1) / 2)] ?? {
    x: (sourceX + targetX) / 2,
    y: (sourceY + targetY) / 2,
  };
  const isLit = selected || isHovered;
  return (
    <>
      <BaseEdge
        id={id}
        path={path}
        {...(markerEnd ? { markerEnd } : {})}
        className={tone === "busy" ? "flowing" : ""}
        style={{
          stroke: isLit ? "var(--accent)" : INK[tone],
          strokeWidth: isLit ? 2 : 1.5,
          ...(tone === "off" ? { strokeDasharray: "3 4" } : {}),
        }}
      />
      {((isLit && mayChange) || count !== null) && (
        <EdgeLabelRenderer>
          <span
            className="nodrag nopan pointer-events-auto absolute flex items-center gap-1"
            style={{ transform: `translate(-50%, -50%) translate(${middle.x}px, ${middle.y}px)` }}
          >
            {count !== null && (
              <span className="rounded-full border border-line bg-raised px-1.5 text-[11px] leading-4 text-soft tabular-nums">
                {counted(count)}
              </span>
            )}
            {isLit && mayChange && (
              <>
                <button
                  type="button"
                  tabIndex={-1}
                  aria-label={t("Insert a step {label}", { label })}
                  onClick={() => actions.add({ source: dependency, target })}
                  className={`${ROUND} border-accent text-accent hover:bg-accent hover:text-on-accent`}
                >
                  <Plus size={14} aria-hidden />
                </button>
                {source !== TRIGGER && (
                  <button
                    type="button"
                    tabIndex={-1}
                    aria-label={t("Remove the edge {label}", { label })}
                    onClick={() => actions.disconnect(dependency, target)}
                    className={`${ROUND} border-strong-line text-soft hover:border-bad hover:text-bad`}
                  >
                    <X size={14} aria-hidden />
                  </button>
                )}
              </>
            )}
          </span>
        </EdgeLabelRenderer>
      )}
    </>
  );
});
