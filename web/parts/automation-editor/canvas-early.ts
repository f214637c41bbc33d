import { useEffect } from "react";
import { useApi } from "../../data.ts";
import { useActionKinds } from "../base/action-kinds.ts";
import { part } from "../base/later.tsx";

/** The canvas of runs. */
export const runCanvas = part(() => import("./run-canvas.tsx"));

/** Fetches the canvas of runs and what it draws while the page still waits for the rest. */
export function useCanvasEarly(automationId: string | null): void {
  useEffect(() => void runCanvas.load().catch(() => undefined), []); // what draws it says when it can't be fetched
  useActionKinds();
  useApi(
    "GET /api/v1/automations/{automation_id}/layout",
    { path: { automation_id: automationId ?? "" } },
    { enabled: automationId !== null },
  );
}
