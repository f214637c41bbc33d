import { ConditionTooLong, holds, MAX_CONDITIONS_MS } from "../../base/condition.ts";
import type { Allowance } from "../../base/condition-program.ts";
import { AppError } from "../../base/errors.ts";
import type { Scope } from "../../base/template.ts";
import { DoFirst, type WriteContext } from "../../context.ts";
import { decideConditions } from "../../executors/branch-choice.ts";

/** Names what one transaction decides, also where it is done again: a run that it starts has another id then. */
export const decisionOf = (tx: WriteContext, { automationId }: { automationId: string }): string =>
  `${automationId} ${tx.correlationId}`;

/**
 * Whether the condition of a step holds. One that takes long is decided before the transaction, which then comes here
 * again. Throws `condition_error`, and `DoFirst`.
 */
export function stepHolds(
  tx: WriteContext,
  { decision, when }: { decision: string; when: string },
  scope: Scope,
  allowance: Allowance,
): boolean {
  try {
    return holds(when, scope, allowance);
  } catch (error) {
    if (!(error instanceof ConditionTooLong)) throw error;
    const { now, ...lasting } = scope;
    const key = Bun.SHA256.hash(JSON.stringify([when, lasting]), "hex");
    const known = tx.decidedWhens.get(decision);
    const outcome = known?.outcomes.get(key);
    if (outcome instanceof AppError) throw outcome;
    if (outcome !== undefined) return outcome;
    if (known && known.leftMs <= 0) throw error;
    throw new DoFirst(() => decideFirst(tx, { decision, key, when }, scope));
  }
}

async function decideFirst(
  { decidedWhens, compute, clock, closing: signal, organizationId }: WriteContext,
  { decision, key, when }: { decision: string; key: string; when: string },
  scope: Scope,
): Promise<void> {
  const decided = decidedWhens.get(decision) ?? { leftMs: MAX_CONDITIONS_MS, outcomes: new Map() };
  decidedWhens.set(decision, decided);
  const startedMs = clock.monotonic();
  try {
    const asked = { texts: [when], scope, allowanceMs: decided.leftMs };
    const { first, leftMs } = await decideConditions(compute, asked, { organizationId, signal });
    decided.outcomes.set(key, first !== null);
    decided.leftMs = leftMs;
  } catch (fault) {
    if (!(fault instanceof AppError) || fault.code !== "condition_error") throw fault;
    decided.outcomes.set(key, fault);
    decided.leftMs -= clock.monotonic() - startedMs;
  }
}
