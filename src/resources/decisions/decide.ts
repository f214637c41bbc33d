import { and, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, InvalidInput, invalid } from "../../base/errors.ts";
import { canonicalJson, type Json, type JsonObject } from "../../base/json.ts";
import { valueFaults } from "../../base/json-schema.ts";
import { measure } from "../../base/measure.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { type Ending, endWait, resumeWait } from "../../queue/waits.ts";
import { record } from "../events/service.ts";
import { findCurrentOrganization } from "../organizations/service.ts";
import { users } from "../users/table.ts";
import { about, entityOf, maskedText } from "./open.ts";
import { requestersOf } from "./requesters.ts";
import { findDecision } from "./service.ts";
import { type DecisionRow, decisions } from "./table.ts";
import type { Decide } from "./wire.ts";
import { mayDecide } from "./wire-question.ts";

const MAX_RESPONSE_CHARACTERS = 65_536;

/**
 * Decides, and lets the waiting run continue, in one transaction. Repeating the same decision as the same user changes
 * nothing.
 *
 * Throws `own_request` if four eyes are required, `forbidden` for credentials that aren't a user's and if it is
 * assigned to someone else, `invalid_state` if it was decided or has expired, and `InvalidInput` for an invalid form.
 */
export function decide(ctx: Context, id: string, answer: Decide): Promise<DecisionRow> {
  return write(ctx, async (tx) => {
    const decision = await findDecision(tx, id);
    if (tx.actor.type !== "user") throw new AppError("forbidden", "Only users can make decisions.");
    await refuseOthers(tx, decision);
    if (isRepeat(tx, decision, answer)) return decision;
    await refuseDecided(tx, decision);
    await refuseOwn(tx, decision);
    const formResponse = checkForm(decision, answer);
    const at = timestamp(tx.clock);
    const row: DecisionRow = {
      ...decision,
      status: "decided",
      decisionValue: answer.decisionValue,
      formResponse,
      rejectionReason: answer.rejectionReason ?? null,
      decidedBy: tx.actor.id,
      decidedAt: at,
      updatedAt: at,
      updatedBy: tx.actor.id,
    };
    await tx.db
      .update(decisions)
      .set(row)
      .where(and(eq(decisions.id, id), eq(decisions.status, "pending")));
    const { decisionValue, rejectionReason } = row;
    const data = {
      ...about(row),
      decisionValue,
      rejectionReason: row.privateTo === null ? rejectionReason && maskedText(rejectionReason) : null,
    };
    await record(tx, "decision.decided", entityOf(id), data);
    await resumeRunOf(tx, row, endingOf(row));
    return row;
  });
}

/** Lets the waiting run continue: one that requested a decision ends, one that requested approval now does its work. */
export async function resumeRunOf(tx: WriteContext, row: DecisionRow, ending: Ending): Promise<void> {
  if (await endWait(tx, "decision", row.id, ending)) return;
  if (row.status === "decided" && row.decisionValue === "approved") await resumeWait(tx, "approval", row.id);
  else await endWait(tx, "approval", row.id, ending);
}

/** Returns what approving or rejecting means for the run. */
export function endingOf(row: DecisionRow): Ending {
  const { id: decisionId, decisionValue, formResponse, decidedBy, decidedAt, rejectionReason } = row;
  const result: JsonObject = {
    decisionId,
    decisionValue,
    formResponse,
    decidedBy,
    decidedAt,
    rejectionReason,
  };
  if (decisionValue === "approved" || row.onReject === "continue") return { status: "completed", result };
  const reason = maskedText(rejectionReason ?? "");
  const message = `"${maskedText(row.title)}" was rejected${reason === "" ? "." : `: ${reason}`}`;
  const details = { decisionId, decidedBy, rejectionReason: rejectionReason === null ? null : reason };
  return { status: "failed", error: { code: "rejected", message, retryable: false, details } };
}

/** If the organization requires four eyes, users can't decide what they requested. */
async function refuseOwn(tx: WriteContext, decision: DecisionRow): Promise<void> {
  const { requireFourEyes } = await findCurrentOrganization(tx);
  if (!requireFourEyes || !(await requestersOf(tx, decision)).has(tx.actor.id)) return;
  const message = "You requested this, or started the run that did. Someone else must decide.";
  throw new AppError("own_request", message);
}

async function refuseOthers(tx: WriteContext, { assignedTo }: DecisionRow): Promise<void> {
  if (assignedTo === null || mayDecide(tx, { assignedTo })) return;
  const name = await nameOf(tx, assignedTo);
  throw new AppError(
    "forbidden",
    `This decision is assigned to ${name}. Only ${name} or an admin can make it.`,
  );
}

function isRepeat(tx: WriteContext, decision: DecisionRow, answer: Decide): boolean {
  const isSame = (value: Json | undefined, kept: Json) =>
    value === undefined || value === null || canonicalJson(value) === canonicalJson(kept);
  return (
    decision.status === "decided" &&
    decision.decidedBy === tx.actor.id &&
    decision.decisionValue === answer.decisionValue &&
    isSame(answer.formResponse, decision.formResponse) &&
    isSame(answer.rejectionReason, decision.rejectionReason)
  );
}

/** Also refuses a decision that has expired and isn't marked yet: an expired one can never be approved. */
async function refuseDecided(tx: WriteContext, decision: DecisionRow): Promise<void> {
  const { status, decisionValue, decidedBy, decidedAt, expiresAt, updatedAt, updatedBy } = decision;
  const refuse = (message: string) => new AppError("invalid_state", message);
  if (status === "decided")
    throw refuse(`Already ${decisionValue} by ${await nameOf(tx, decidedBy)} at ${decidedAt}.`);
  if (status === "cancelled")
    throw refuse(
      `Cancelled by ${await nameOf(tx, updatedBy)} at ${updatedAt}, together with the waiting run.`,
    );
  if (status === "expired" || (expiresAt !== null && expiresAt <= timestamp(tx.clock)))
    throw refuse(`This approval expired at ${expiresAt}.`);
}

/** Names a user; keys and the engine by their type. */
async function nameOf(tx: WriteContext, id: string | null): Promise<string> {
  const [person] = id === null ? [] : await tx.db.select().from(users).where(eq(users.id, id));
  if (!person) return "an API key or the system";
  const name = [person.firstName, person.lastName].filter((part) => part !== null).join(" ");
  return name === "" ? person.email : `${name} (${person.email})`;
}

function checkForm({ decisionType, formSchema }: DecisionRow, answer: Decide): JsonObject | null {
  const loc = ["body", "formResponse"];
  const response = answer.formResponse ?? null;
  if (response === null) {
    if (decisionType === "form_input" && answer.decisionValue === "approved")
      throw invalid(loc, "Field required", "missing");
    return null;
  }
  if (measure(response, MAX_RESPONSE_CHARACTERS) > MAX_RESPONSE_CHARACTERS)
    throw invalid(loc, `A response can have at most ${MAX_RESPONSE_CHARACTERS} characters`, "too_long");
  if (formSchema === null) return response;
  const faults = valueFaults(formSchema, response);
  if (faults.length > 0) {
    throw new InvalidInput(
      faults.map(({ path, message, type }) => ({ loc: [...loc, ...path], msg: message, type })),
    );
  }
  return response;
}
