import { useEffect } from "react";
import { useApi } from "../../data.ts";
import { useActionKinds } from "../base/action-kinds.ts";
import { part } from "../base/later.tsx";

/** The canvas of runs. */
export const runCanvas = part(() => import("./run-canvas.tsx"));

/** Loads the canvas of runs while the page waits for data. */
export function useCanvasEarly(automationId: string | null): void {
  useEffect(() => void runCanvas.load().catch(() => undefined), []); // the component reports failures
  useActionKinds();
  useApi(
    "GET /api/v1/automations/{automation_id}/layout",
    { path: { automation_id: automationId ?? "" } },
    { enabled: automationId !== null },
  );
}
