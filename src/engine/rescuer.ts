import { AppError } from "../base/errors.ts";
import type { App } from "../context.ts";
import { contextForRun } from "../context.ts";
import { LEASE_MS } from "../queue/claim.ts";
import { finishRun } from "../queue/finish.ts";
import { type Leased, type Lost, rescueRuns, unknownLeases } from "../queue/lease.ts";
import type { RunRow } from "../resources/runs/table.ts";
import { toRunError } from "./failure.ts";
import type { Loop } from "./loop.ts";
import { aheadMs, CLOCK_JUMP_MS } from "./timekeeper.ts";

/**
 * Takes over work of dead processes: at the first tick all of earlier boots, later everything whose lease has
 * expired, also of this process, except its running work, `held`. After the clock was set forward, leases don't
 * count as expired until living processes have had time to renew them.
 */
export function rescuer(app: App, leasedRuns: () => readonly Leased[]): Loop {
  let lost: Lost = "at boot";
  let left: RunRow[] = [];
  let known = Number.POSITIVE_INFINITY;
  let patientUntilMs = Number.NEGATIVE_INFINITY;
  return {
    name: "rescuer",
    async tick() {
      const now = aheadMs(app.clock);
      if (now > known + CLOCK_JUMP_MS) patientUntilMs = app.clock.monotonic() + LEASE_MS;
      known = now;
      if (left.length > 0) left = await rescue(app, left);
      if (app.clock.monotonic() >= patientUntilMs) {
        left.push(...(await rescue(app, lost)));
        const unknown = await unknownLeases(app, leasedRuns());
        if (unknown.length > 0) left.push(...(await rescue(app, unknown)));
      }
      lost = "later";
      return "idle";
    },
  };
}

/**
 * Requeues lost runs, and fails those that were interrupted too often. Returns the runs whose failure couldn't be
 * saved. They are reported, don't block other runs, and are to be rescued again.
 */
export async function rescue(app: App, lost: Lost): Promise<RunRow[]> {
  const left: RunRow[] = [];
  const { again, exhausted } = await rescueRuns(app, lost);
  if (again > 0) app.log.write("warn", "interrupted runs resumed", { runs: again });
  for (const run of exhausted) {
    const error = new AppError(
      "interrupted_too_often",
      `This run was interrupted ${run.interruptCount} times and won't be restarted automatically.`,
    );
    const { definition, isResolved, progress } = run;
    try {
      await finishRun(
        contextForRun(app, run),
        run,
        { status: "failed", error: toRunError(error, run.retryCount + 1) },
        { definition, isResolved, progress, isProgressNew: false, logs: [] },
        false,
      );
    } catch (cause) {
      app.log.report(cause, { runId: run.id, at: "fail a run interrupted too often" });
      left.push(run);
    }
  }
  return left;
}
