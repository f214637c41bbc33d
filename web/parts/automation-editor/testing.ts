import { useCallback, useEffect, useRef, useState } from "react";
import { call } from "../../api.ts";
import type { AutomationRun } from "../../calls.ts";
import { useApi } from "../../data.ts";
import type { RunInput } from "../automations/run-input.tsx";
import { upTo } from "../canvas/config.ts";
import { isSame } from "../canvas/patch.ts";
import { type StepState, statesOf } from "../canvas/states.ts";
import { type StepValue, stepsIn } from "../canvas/steps-config.ts";
import type { Values } from "../form/form.tsx";

const POLL_MS = 1000;
const ENDED = new Set(["completed", "failed", "cancelled"]);
const NONE: ReadonlyMap<string, StepState> = new Map();

/** States of a run's steps. The same objects as long as nothing changes in them. */
export function useStates(run: AutomationRun | null): ReadonlyMap<string, StepState> | null {
  const before = useRef(NONE);
  const [states, setStates] = useState<ReadonlyMap<string, StepState> | null>(null);
  useEffect(() => {
    if (run === null) return setStates(null);
    before.current = statesOf(run, before.current);
    setStates(before.current);
  }, [run]);
  return states;
}

export interface TestPlan {
  upTo: string | null;
  config: Values;
  input: RunInput;
  /** Results of the last test that replace running steps. */
  reused: ReadonlyMap<string, unknown>;
}

interface LastTest {
  runId: string;
  config: Values;
  /** Input of the run. With another input, results can't be reused. */
  input: RunInput;
}

/** Test runs of the config on the canvas. */
export function useTesting(automationId: string) {
  const [last, setLast] = useState<LastTest | null>(null);
  const [isHidden, setHidden] = useState(false);
  const [isOver, setOver] = useState(false);
  const run = useApi(
    "GET /api/v1/automation-runs/{run_id}",
    { path: { run_id: last?.runId ?? "" } },
    { enabled: last !== null, ...(isOver ? {} : { refetchMs: POLL_MS }) },
  );
  const hasEnded = ENDED.has(run.data?.status ?? "");
  useEffect(() => setOver(hasEnded), [hasEnded]);
  const start = useCallback(
    async ({ upTo: end, config, input, reused }: TestPlan) => {
      const made = await call("POST /api/v1/automations/{automation_id}/test", {
        path: { automation_id: automationId },
        body: {
          config: config as never,
          ...(input.fromRunId === undefined ? {} : { fromRunId: input.fromRunId }),
          ...(input.input === undefined ? {} : { input: input.input as never }),
          ...(end === null ? {} : { upTo: end }),
          ...(reused.size > 0 ? { pinned: Object.fromEntries(reused) as never } : {}),
        },
      });
      setOver(false);
      setHidden(false);
      setLast({ runId: made.id, config, input });
    },
    [automationId],
  );
  const cancel = () =>
    last && call("POST /api/v1/automation-runs/{run_id}/cancel", { path: { run_id: last.runId } });
  return {
    run: last === null || isHidden ? null : (run.data ?? null),
    last,
    isOver: hasEnded,
    start,
    cancel,
    hide: () => setHidden(true),
  };
}

/** Results of the last test that can be reused, since the step and all steps before it are unchanged. */
export function reusable(
  steps: readonly StepValue[],
  end: string | null,
  last: LastTest | null,
  run: AutomationRun | null,
): ReadonlyMap<string, unknown> {
  if (!last || !run) return new Map();
  const before = new Map(stepsIn(last.config).map((step) => [step.key, step]));
  const now = new Map(steps.map((step) => [step.key, step]));
  const results = (run.result ?? {}) as Record<string, unknown>;
  const wanted = end === null ? new Set<string>() : upTo(steps, end);
  const found = new Map<string, unknown>();
  for (const key of wanted) {
    const state = run.steps.find((each) => each.key === key);
    if (key === end || state?.status !== "completed" || now.get(key)?.pinned !== undefined) continue;
    const areSame = [...upTo(steps, key)].every((each) => isSame(before.get(each), now.get(each)));
    if (areSame && results[key] !== undefined) found.set(key, results[key]);
  }
  return found;
}

/** Kinds that change external systems or the lake. */
const WRITES: readonly string[] = [
  "dlt_extract",
  "duckdb_transform",
  "file_sync",
  "send_message",
  "call_automation",
  "call_agent",
  "create_flashboard",
  "approval_gate",
  "run_script",
];

/** Steps that a test will really run, and whether they write. */
export function stepsToRun(
  steps: readonly StepValue[],
  end: string | null,
  reused: ReadonlySet<string>,
  kindOf: (step: StepValue) => string | undefined,
): { step: StepValue; writes: boolean }[] {
  const wanted = end === null ? null : upTo(steps, end);
  return steps
    .filter(({ key, pinned }) => (wanted?.has(key) ?? true) && pinned === undefined && !reused.has(key))
    .map((step) => {
      const kind = kindOf(step) ?? "";
      const { method = "GET" } = (step.definition ?? {}) as { method?: string };
      return { step, writes: WRITES.includes(kind) || (kind === "http_request" && method !== "GET") };
    });
}
