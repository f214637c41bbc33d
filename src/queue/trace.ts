import { spanIdOf, tracedEgress, traceIdOf } from "../base/trace.ts";
import type { App, Context } from "../context.ts";
import type { AutomationRunRow } from "../resources/automations/table.ts";
import type { RunRow, TriggerMethod } from "../resources/runs/table.ts";

/** Started by a request to this process or another. All others start by themselves. */
const REQUESTED: readonly TriggerMethod[] = ["ui", "api", "cli", "webhook", "form", "retry"];

/**
 * Returns the span of the request with this correlation ID. Null if the ID is the caller's own, which can be reused.
 */
export const requestSpanOf = (correlationId: string): string | null =>
  correlationId.length === 36 ? spanIdOf("request", correlationId) : null;

const runSpanOf = (id: string, attempt = 1) => (attempt === 1 ? spanIdOf(id) : spanIdOf(id, attempt));

const causeOf = ({ triggerMethod, correlationId }: Pick<RunRow, "triggerMethod" | "correlationId">) =>
  REQUESTED.includes(triggerMethod) ? requestSpanOf(correlationId) : null;

/** Position of one attempt of a run among the spans of its cause. */
const parentOfRun = (run: RunRow) => ({
  traceId: traceIdOf(run.correlationId),
  spanId: runSpanOf(run.id, run.retryCount + 1),
});

/** Context of an attempt: what it calls becomes a part of it. */
export function tracedContext(ctx: Context, run: RunRow): Context {
  if (!ctx.tracer.isOn) return ctx;
  return { ...ctx, egress: tracedEgress(ctx.egress, ctx.tracer, ctx.clock, parentOfRun(run)) };
}

export function traceTry(
  { tracer, clock }: App,
  run: RunRow,
  startMs: number,
  status: string,
  error: string | null,
) {
  if (!tracer.isOn) return;
  tracer.ended({
    ...parentOfRun(run),
    name: run.kind,
    kind: "internal",
    parentId: run.automationRunId === null ? causeOf(run) : spanIdOf(run.automationRunId),
    startMs,
    endMs: clock.now().getTime(),
    attributes: {
      "weir.run_id": run.id,
      "weir.action_id": run.actionId,
      "weir.automation_run_id": run.automationRunId,
      "weir.step": run.stepKey,
      "weir.organization_id": run.organizationId,
      "weir.attempt": run.retryCount + 1,
      "weir.status": status,
    },
    error,
  });
}

export function traceAutomationRun({ tracer }: App, run: AutomationRunRow): void {
  if (!tracer.isOn || run.completedAt === null) return;
  tracer.ended({
    name: "automation",
    kind: "internal",
    traceId: traceIdOf(run.correlationId),
    spanId: spanIdOf(run.id),
    parentId: run.callerRunId === null ? causeOf(run) : runSpanOf(run.callerRunId),
    startMs: Date.parse(run.createdAt),
    endMs: Date.parse(run.completedAt),
    attributes: {
      "weir.automation_run_id": run.id,
      "weir.automation_id": run.automationId,
      "weir.organization_id": run.organizationId,
      "weir.trigger": run.triggerMethod,
      "weir.status": run.status,
    },
    error: run.error?.message ?? null,
  });
}
