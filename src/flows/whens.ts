import { ConditionTooLong, holds, MAX_CONDITIONS_MS } from "../base/condition.ts";
import type { Allowance } from "../base/condition-program.ts";
import { AppError } from "../base/errors.ts";
import { writeJson } from "../base/json-write.ts";
import type { Scope } from "../base/template.ts";
import type { KeptResult } from "../base/whole-scope.ts";
import { DoFirst, type WriteContext } from "../context.ts";
import { decideConditions } from "../executors/branch-choice.ts";
import { openContent } from "../resources/artifacts/content.ts";
import type { ArtifactRow } from "../resources/artifacts/table.ts";
import { findKept, keptSteps } from "./scope.ts";

/** Names what one transaction decides, also where it is done again: a run that it starts has another id then. */
export const decisionOf = (tx: WriteContext, { automationId }: { automationId: string }): string =>
  `${automationId} ${tx.correlationId}`;

/**
 * Whether the condition of a step holds. One that takes long is decided before the transaction, which then comes here
 * again. Throws `condition_error`, and `DoFirst`.
 */
export async function stepHolds(
  tx: WriteContext,
  { decision, when }: { decision: string; when: string },
  scope: Scope,
  allowance: Allowance,
): Promise<boolean> {
  const kept = keptSteps(scope.steps, when);
  try {
    if (kept.length === 0) return holds(when, scope, allowance);
    throw new ConditionTooLong(`The condition ${JSON.stringify(when)} reads too much.`, { condition: when });
  } catch (error) {
    if (!(error instanceof ConditionTooLong)) throw error;
    const { now, ...lasting } = scope;
    const key = Bun.SHA256.hash(await writeJson([when, lasting]), "hex");
    const known = tx.decidedWhens.get(decision);
    const outcome = known?.outcomes.get(key);
    if (outcome instanceof AppError) throw outcome;
    if (outcome !== undefined) return outcome;
    if (known && known.leftMs <= 0) throw error;
    // Read here: the result may be of the step that this very transaction ends.
    const results: Asked["results"] = [];
    for (const one of kept)
      results.push({ step: one.step, row: await findKept(tx.db, tx.organizationId, one) });
    throw new DoFirst(() => decideFirst(tx, { decision, key, when, results }, scope));
  }
}

interface Asked {
  decision: string;
  key: string;
  when: string;
  results: { step: string; row: ArtifactRow }[];
}

async function decideFirst(
  tx: WriteContext,
  { decision, key, when, results }: Asked,
  scope: Scope,
): Promise<void> {
  const { decidedWhens, compute, clock, closing: signal, organizationId } = tx;
  const decided = decidedWhens.get(decision) ?? { leftMs: MAX_CONDITIONS_MS, outcomes: new Map() };
  decidedWhens.set(decision, decided);
  const startedMs = clock.monotonic();
  try {
    const kept: KeptResult[] = [];
    for (const { step, row } of results) kept.push({ step, json: await openContent(tx, row) });
    const asked = { texts: [when], scope, kept, allowanceMs: decided.leftMs };
    const { first, leftMs } = await decideConditions(compute, asked, { organizationId, signal });
    decided.outcomes.set(key, first !== null);
    decided.leftMs = leftMs;
  } catch (fault) {
    if (!(fault instanceof AppError) || !["condition_error", "gone"].includes(fault.code)) throw fault;
    decided.outcomes.set(key, fault);
    decided.leftMs -= clock.monotonic() - startedMs;
  }
}
