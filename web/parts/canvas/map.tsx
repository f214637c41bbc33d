import { MiniMap } from "@xyflow/react";
import { t } from "../../texts/text.ts";
import type { CanvasNode } from "./nodes.ts";

const mapColor = (node: CanvasNode): string => {
  if (node.type === "note") return "var(--warn)";
  if (node.type !== "step") return "var(--soft)";
  const { fault, state } = node.data;
  if (fault || state?.status === "failed") return "var(--bad)";
  if (state?.status === "completed") return "var(--good)";
  return state?.status === "running" ? "var(--busy)" : "var(--soft)";
};

export const StepMap = () => (
  <MiniMap
    pannable
    zoomable
    ariaLabel={t("Minimap")}
    nodeBorderRadius={10}
    nodeColor={mapColor}
    className="m-2! overflow-hidden rounded-[10px] border border-line"
    style={{ width: 160, height: 120 }}
  />
);
