import { and, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import { requestChainOf, type WriteContext } from "../../context.ts";
import type { DecisionRequest } from "../../executors/contract.ts";
import { automationRuns } from "../automations/table.ts";
import { type Entity, record } from "../events/service.ts";
import { noticeApproval } from "../notices/approvals.ts";
import { findCurrentOrganization } from "../organizations/service.ts";
import { memberships } from "../organizations/table.ts";
import type { RunRow } from "../runs/table.ts";
import { users } from "../users/table.ts";
import { requestersOf } from "./requesters.ts";
import { type DecisionRow, decisions } from "./table.ts";
import { PRIVATE_TITLE } from "./wire-question.ts";

/** Opens the decision that `run` waits for. Throws `definition_invalid` for an assignee who isn't a member. */
export async function openDecision(tx: WriteContext, run: RunRow, request: DecisionRequest): Promise<void> {
  const { assignedTo, expiresInSeconds, ...content } = request;
  const at = timestamp(tx.clock);
  const expiresAt = expiresInSeconds === null ? null : timestamp(tx.clock, expiresInSeconds * 1000);
  const automation = await automationOf(tx, run);
  const row: DecisionRow = {
    ...content,
    id: run.waitId ?? tx.ids.uuid(),
    organizationId: tx.organizationId,
    createdAt: at,
    updatedAt: at,
    updatedBy: null,
    status: "pending",
    subjectType: "action_run",
    subjectId: run.id,
    automationId: automation?.automationId ?? null,
    automationRunId: run.automationRunId,
    stepKey: run.stepKey,
    formResponse: null,
    decisionValue: null,
    rejectionReason: null,
    requestedBy: run.createdBy ?? personOf(automation?.actor),
    assignedTo: assignedTo === null ? null : await memberOf(tx, assignedTo),
    decidedBy: null,
    decidedAt: null,
    expiresAt,
    privateTo: run.privateTo,
    correlationId: run.correlationId,
  };
  await tx.db.insert(decisions).values(row);
  const { decisionType } = row;
  const data = { ...about(row), decisionType, assignedTo: row.assignedTo, expiresAt };
  await record(tx, "decision.requested", entityOf(row.id), data);
  const { requireFourEyes } = await findCurrentOrganization(tx);
  await noticeApproval(tx, row, requireFourEyes ? await requestersOf(tx, row) : new Set());
}

/** Withdraws a pending decision that nothing waits for anymore. */
export async function cancelDecision(tx: WriteContext, id: string): Promise<void> {
  const [row] = await tx.db
    .update(decisions)
    .set({ status: "cancelled", updatedAt: timestamp(tx.clock), updatedBy: tx.actor.id })
    .where(and(eq(decisions.id, id), eq(decisions.status, "pending")))
    .returning();
  if (!row) return;
  const data = { ...about(row), requestCorrelationId: requestChainOf(tx) };
  await record(tx, "decision.cancelled", entityOf(id), data);
}

export const entityOf = (id: string): Entity => ({ type: "decision", id });

export const maskedText = (text: string): string => String(maskSecrets(text));

/** Data of every event of a decision. */
export const about = (row: DecisionRow): JsonObject => ({
  title: row.privateTo === null ? maskedText(row.title) : PRIVATE_TITLE,
  runId: row.subjectId,
  automationId: row.automationId,
  automationRunId: row.automationRunId,
  stepKey: row.stepKey,
});

async function automationOf(tx: WriteContext, { automationRunId }: RunRow) {
  if (automationRunId === null) return null;
  const [row] = await tx.db
    .select({ automationId: automationRuns.automationId, actor: automationRuns.actor })
    .from(automationRuns)
    .where(eq(automationRuns.id, automationRunId));
  return row ?? null;
}

const personOf = (actor: { type?: Json; id?: Json } | undefined): string | null =>
  actor?.type === "user" && typeof actor.id === "string" ? actor.id : null;

/** Returns the user ID of someone who can decide, given by ID or email. */
async function memberOf(tx: WriteContext, named: string): Promise<string> {
  const text = named.trim().toLowerCase();
  const [member] = await tx.db
    .select({ userId: memberships.userId, role: memberships.role })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(
      and(
        eq(memberships.organizationId, tx.organizationId),
        text.includes("@") ? eq(users.email, text) : eq(users.id, text),
      ),
    );
  if (member?.role === "viewer")
    throw new AppError(
      "definition_invalid",
      `assignedTo: ${named} is a viewer, and can't decide. Assign a member.`,
    );
  if (member) return member.userId;
  throw new AppError("definition_invalid", `assignedTo: ${named} isn't a member of this organization.`);
}
