import { type Static, Type } from "@sinclair/typebox";
import { instant, jsonObject, nullable, object, oneOf, uuid } from "../../base/shape.ts";
import { DECISION_TYPES, type DecisionRow } from "../decisions/table.ts";
import { question, type Viewer, visibleTo } from "../decisions/wire-question.ts";

const STATUSES = ["pending", "decided"] as const;

export const Approval = object({
  id: uuid(),
  title: Type.String(),
  description: nullable(Type.String()),
  decisionType: oneOf(DECISION_TYPES),
  formSchema: nullable(jsonObject()),
  context: nullable(jsonObject()),
  status: oneOf(STATUSES),
  stepKey: nullable(Type.String()),
  automationId: nullable(uuid()),
  automationName: nullable(Type.String()),
  automationRunId: nullable(uuid()),
  requestedAt: instant(),
});

export const ApprovalQuery = object({
  status: oneOf(STATUSES, { default: "pending", description: "Only approvals with this status" }),
});
export const ApprovalPage = object({ items: Type.Array(Approval), total: Type.Integer() });

export interface NamedDecision {
  decision: DecisionRow;
  automationName: string | null;
}

/** An approval has two statuses: whatever isn't pending is `decided`. */
export function toApproval(
  { decision, automationName }: NamedDecision,
  viewer: Viewer,
): Static<typeof Approval> {
  const row = visibleTo(viewer, decision);
  return {
    id: row.id,
    ...question(row, viewer),
    decisionType: row.decisionType,
    formSchema: row.formSchema,
    status: row.status === "pending" ? "pending" : "decided",
    stepKey: row.stepKey,
    automationId: row.automationId,
    automationName,
    automationRunId: row.automationRunId,
    requestedAt: row.createdAt,
  };
}
