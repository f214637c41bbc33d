import { type Static, Type } from "@sinclair/typebox";
import { described, instant, nullable, object, oneOf, uuid } from "../../base/shape.ts";

export const OverviewQuery = object({
  hours: Type.Integer({
    minimum: 1,
    maximum: 168,
    default: 24,
    description: "Number of hours to count runs of, including the current one",
  }),
});
export type OverviewQuery = Static<typeof OverviewQuery>;

const count = () => Type.Integer({ minimum: 0 });

const Runs = object({
  total: described("Runs created in the period", count()),
  failed: described("Of those, the failed ones", count()),
  pending: described("Queued now", count()),
  running: described("Running now", count()),
  waiting: described("Waiting now, for an approval, another run or a retry", count()),
});

export const Overview = object({
  since: instant(),
  until: instant(),
  actionRuns: Runs,
  automationRuns: Runs,
  timeline: Type.Array(
    object({ since: instant(), until: instant(), actionRuns: count(), failedActionRuns: count() }),
    { description: "By hour, oldest first" },
  ),
  automations: object({
    active: count(),
    disabled: count(),
    draft: count(),
    scheduled: described("Active automations with a scheduled run", count()),
    failing: described("Active automations whose latest run failed, without test runs", count()),
    late: described(
      "Active automations that don't meet their `expect` or `alerts.lateAfterSeconds`",
      count(),
    ),
  }),
  failing: Type.Array(
    object({
      automationId: uuid(),
      name: Type.String(),
      runId: uuid(),
      completedAt: nullable(instant()),
      message: nullable(Type.String()),
    }),
    { description: "The 20 automations that failed last" },
  ),
  late: Type.Array(
    object({
      automationId: uuid(),
      name: Type.String(),
      reason: oneOf(["silent", "empty", "late"]),
      since: nullable(instant()),
    }),
    { description: "At most 20" },
  ),
  next: Type.Array(object({ automationId: uuid(), name: Type.String(), nextRunAt: instant() }), {
    description: "Next 10 scheduled runs",
  }),
  pendingApprovals: count(),
  deadLetters: count(),
  connectionErrors: count(),
  failingConnections: Type.Array(
    object({ id: uuid(), name: Type.String(), verificationError: nullable(Type.String()) }),
    { description: "At most 20" },
  ),
});
export type Overview = Static<typeof Overview>;
