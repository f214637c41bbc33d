import { timestamp } from "../base/clock.ts";
import type { WriteContext } from "../context.ts";
import type { RunRow } from "../resources/runs/table.ts";
import { LEASE_MS } from "./claim.ts";
import { enqueueRow, insertRunRow, type NewRun, newRun } from "./enqueue.ts";
import { HANDOVER } from "./handover.ts";
import { recordStart } from "./run-events.ts";

/**
 * Queues the run of a step. If the worker has room, the run is stored as if the worker had claimed it already, and
 * starts once the transaction is committed: one transaction less. Returns the run as it was before the claim.
 */
export async function enqueueStep(tx: WriteContext, input: NewRun): Promise<RunRow> {
  const run = newRun(tx, input);
  const isAlone = run.concurrencyKey === null && run.datasetKey === null;
  const reserved = isAlone ? tx.memory.of(HANDOVER).reserve(run) : null;
  if (!reserved) return enqueueRow(tx, run);
  let isStored = false;
  tx.afterRollback(() => reserved.release());
  tx.afterCommit(() => (isStored ? reserved.start(leased) : reserved.release()));
  const startedAt = timestamp(tx.clock);
  const leased: RunRow = {
    ...run,
    status: "running",
    statuses: [...run.statuses, ["running", null, startedAt, 0]],
    leaseToken: tx.ids.uuid(),
    leaseUntil: timestamp(tx.clock, LEASE_MS),
    bootId: tx.bootId,
    startedAt,
    updatedAt: startedAt,
  };
  await insertRunRow(tx, { ...leased, dueAt: null });
  isStored = true;
  await recordStart(tx, leased, input.actor);
  return run;
}
