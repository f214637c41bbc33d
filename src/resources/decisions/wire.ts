import { type Static, Type } from "@sinclair/typebox";
import {
  instant,
  jsonObject,
  nullable,
  object,
  offsetQuery,
  oneOf,
  optional,
  uuid,
} from "../../base/shape.ts";
import { DECISION_STATUSES, DECISION_TYPES, DECISION_VALUES, type DecisionRow } from "./table.ts";
import { question, type Viewer, visibleTo } from "./wire-question.ts";

export const Decision = object({
  id: uuid(),
  tenantId: uuid(),
  title: Type.String(),
  description: nullable(Type.String()),
  decisionType: oneOf(DECISION_TYPES),
  status: oneOf(DECISION_STATUSES),
  subjectType: Type.Literal("action_run"),
  subjectId: uuid(),
  context: nullable(jsonObject()),
  formSchema: nullable(jsonObject()),
  formResponse: nullable(jsonObject()),
  decisionValue: nullable(oneOf(DECISION_VALUES)),
  rejectionReason: nullable(Type.String()),
  requestedBy: nullable(uuid()),
  assignedTo: nullable(uuid()),
  decidedBy: nullable(uuid()),
  decidedAt: nullable(instant()),
  expiresAt: nullable(instant()),
  createdAt: instant(),
  updatedAt: instant(),
});

export const DecisionQuery = object({
  status: optional(oneOf(DECISION_STATUSES, { description: "Only items with this status" })),
  ...offsetQuery(50),
});
export type DecisionQuery = Static<typeof DecisionQuery>;

export const DecisionPage = object({
  decisions: Type.Array(Decision),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
});

export const PendingQuery = object({
  assigned_to_me: Type.Boolean({ default: false, description: "Only decisions assigned to the caller" }),
});
export const PendingPage = object({ decisions: Type.Array(Decision), total: Type.Integer() });

const FormResponse = optional(
  nullable(jsonObject({ description: "Values of the form, which match formSchema" })),
);
const RejectionReason = optional(
  nullable(
    Type.String({ maxLength: 4096, description: "Reason for the decision, whether it rejects or approves" }),
  ),
);

/** The optional parts of a decision. */
export const Answer = object({ formResponse: FormResponse, rejectionReason: RejectionReason });
export type Answer = Static<typeof Answer>;

export const Decide = object({
  decisionValue: oneOf(DECISION_VALUES, { description: "The decision" }),
  formResponse: FormResponse,
  rejectionReason: RejectionReason,
});
export type Decide = Static<typeof Decide>;

export function toDecision(whole: DecisionRow, viewer: Viewer): Static<typeof Decision> {
  const row = visibleTo(viewer, whole);
  return {
    id: row.id,
    tenantId: row.organizationId,
    ...question(row, viewer),
    decisionType: row.decisionType,
    status: row.status,
    subjectType: row.subjectType,
    subjectId: row.subjectId,
    formSchema: row.formSchema,
    formResponse: row.formResponse,
    decisionValue: row.decisionValue,
    rejectionReason: row.rejectionReason,
    requestedBy: row.requestedBy,
    assignedTo: row.assignedTo,
    decidedBy: row.decidedBy,
    decidedAt: row.decidedAt,
    expiresAt: row.expiresAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
