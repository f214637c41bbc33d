import { useMemo } from "react";
import type { Automation, AutomationRun, ListedRun } from "../../calls.ts";
import { useApi } from "../../data.ts";
import type { StepValue } from "../canvas/steps-config.ts";
import { ALWAYS, pathsIn, type TemplatePath } from "../editor/template-paths.ts";
import { useStepRuns } from "../runs/step-runs.ts";

export interface LastRun {
  run: AutomationRun | null;
  /** By step key. */
  results: ReadonlyMap<string, ListedRun>;
  /** What templates saw: `payload`, `input`, `steps`, … */
  scope: Readonly<Record<string, unknown>>;
  paths: readonly TemplatePath[];
}

/** Templates see a result that is stored as an artifact with its small values. See `summary`. */
function seen(result: unknown): unknown {
  const summary = (result as { summary?: { fields?: object } } | null)?.summary;
  return typeof summary?.fields === "object" ? { ...summary.fields, ...(result as object) } : result;
}

/** Input of a run, and the output of each of its steps. Default: the last run. Reads nothing unless `isNeeded`. */
export function useLastRun(
  automation: Pick<Automation, "id" | "triggerType"> | null,
  shown: AutomationRun | null = null,
  isNeeded = true,
): LastRun {
  const { id = "", triggerType } = automation ?? {};
  const latest = useApi(
    "GET /api/v1/automations/{automation_id}/runs",
    { path: { automation_id: id }, query: { limit: 1 } },
    { enabled: isNeeded && automation !== null && shown === null },
  );
  const run = shown ?? latest.data?.runs[0] ?? null;
  const isTest = run?.triggerMethod === "test";
  const isWebhook = triggerType === "webhook" && !isTest;
  const deliveries = useApi(
    "GET /api/v1/webhook-deliveries",
    { query: { automation_id: id, limit: 1 } },
    { enabled: isNeeded && isWebhook },
  );
  const delivery = useApi(
    "GET /api/v1/webhook-deliveries/{delivery_id}",
    { path: { delivery_id: deliveries.data?.items[0]?.id ?? "" } },
    { enabled: isNeeded && isWebhook && deliveries.data?.items[0] !== undefined },
  );
  const found = useStepRuns(run, { enabled: isNeeded });
  return useMemo(() => {
    const results = new Map(
      (run?.steps ?? []).flatMap(({ key, actionRunId }) => {
        const made = found.get(actionRunId ?? "");
        return made ? [[key, made] as const] : [];
      }),
    );
    const came = isWebhook ? (delivery.data ?? null) : null;
    const steps = Object.fromEntries(
      [...results].map(([key, { id: actionRunId, status, result, error }]) => [
        key,
        { status, actionRunId, result: seen(result), error },
      ]),
    );
    const hasPayload =
      triggerType === "schedule" || triggerType === "event" || triggerType === "form" || isTest;
    const scope = {
      ...(came ? { payload: came.payload, headers: came.headers, query: came.query } : {}),
      ...(run && triggerType !== "manual" && hasPayload ? { payload: run.input } : {}),
      ...(run ? { input: run.input } : {}),
      steps,
      ...ALWAYS,
    };
    return { run, results, scope, paths: run || came ? pathsIn(scope) : [] };
  }, [run, found, delivery.data, triggerType, isTest, isWebhook]);
}

/**
 * Scope for evaluating expressions while they are written. Pinned results take precedence over those of the last run.
 * Null if there are neither.
 */
export function useWrittenScope({ run, scope, paths }: LastRun, steps: readonly StepValue[]) {
  const pinned = steps.flatMap(({ key, pinned: result }) =>
    result === undefined ? [] : [[key, result] as const],
  );
  const known = JSON.stringify(pinned);
  return useMemo(() => {
    const results = JSON.parse(known) as [string, unknown][];
    if (run === null && paths.length === 0 && results.length === 0) return null;
    const own = results.map(([key, result]) => [key, { status: "completed", result }]);
    return { ...scope, steps: { ...(scope.steps as object), ...Object.fromEntries(own) } };
  }, [run, scope, paths, known]);
}
