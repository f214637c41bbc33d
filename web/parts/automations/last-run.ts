import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { call } from "../../api.ts";
import type { Automation, AutomationRun, Run } from "../../calls.ts";
import { useApi } from "../../data.ts";
import type { StepValue } from "../canvas/steps-config.ts";
import { ALWAYS, pathsIn, type TemplatePath } from "../editor/template-paths.ts";

/** Of an automation with very many steps the results of so many are read. */
const MOST_STEPS = 40;
const FRESH_MS = 60_000;

export interface LastRun {
  run: AutomationRun | null;
  /** By the key of its step. */
  results: ReadonlyMap<string, Run>;
  /** What templates saw in it: `payload`, `input`, `steps`, … */
  scope: Readonly<Record<string, unknown>>;
  paths: readonly TemplatePath[];
}

/** A result that was kept as an artifact stands in templates with its small values; see `summary`. */
function seen(result: unknown): unknown {
  const summary = (result as { summary?: { fields?: object } } | null)?.summary;
  return typeof summary?.fields === "object" ? { ...summary.fields, ...(result as object) } : result;
}

const dataOf = (replies: { data: Run | undefined }[]) => replies.map(({ data }) => data ?? null);

/** Input of a run, and the output of each of its steps. Default: the last run. */
export function useLastRun(
  automation: Pick<Automation, "id" | "triggerType"> | null,
  shown: AutomationRun | null = null,
): LastRun {
  const { id = "", triggerType } = automation ?? {};
  const latest = useApi(
    "GET /api/v1/automations/{automation_id}/runs",
    { path: { automation_id: id }, query: { limit: 1 } },
    { enabled: automation !== null },
  );
  const run = shown ?? latest.data?.runs[0] ?? null;
  const isTest = run?.triggerMethod === "test";
  const isWebhook = triggerType === "webhook" && !isTest;
  const deliveries = useApi(
    "GET /api/v1/webhook-deliveries",
    { query: { automation_id: id, limit: 1 } },
    { enabled: isWebhook },
  );
  const delivery = useApi(
    "GET /api/v1/webhook-deliveries/{delivery_id}",
    { path: { delivery_id: deliveries.data?.items[0]?.id ?? "" } },
    { enabled: isWebhook && deliveries.data?.items[0] !== undefined },
  );
  const ended = useMemo(
    () => (run?.steps ?? []).filter(({ actionRunId }) => actionRunId !== null).slice(0, MOST_STEPS),
    [run],
  );
  const found = useQueries({
    queries: ended.map(({ actionRunId }) => {
      const input = { path: { run_id: actionRunId ?? "" } };
      return {
        queryKey: ["GET /api/v1/action-runs/{run_id}", input],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          call("GET /api/v1/action-runs/{run_id}", input, { signal }),
        staleTime: FRESH_MS,
      };
    }),
    combine: dataOf,
  });
  return useMemo(() => {
    const results = new Map(ended.flatMap(({ key }, at) => (found[at] ? [[key, found[at]] as const] : [])));
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
  }, [run, found, delivery.data, triggerType, ended, isTest, isWebhook]);
}

/** What expressions are evaluated against while they are written: pinned results before those of the last run; null where there is neither. */
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
