import { AppError } from "../base/errors.ts";
import type { App } from "../context.ts";
import { contextForRun, rescueRuns } from "../resources/runs/claim.ts";
import { finishRun } from "../resources/runs/finish.ts";
import { tell } from "./execute.ts";
import type { Loop } from "./loop.ts";

/** Takes up again what dead processes left under way: at the first tick all of earlier boots, later what has outlived its lease. */
export function rescuer(app: App): Loop {
  let isFirst = true;
  return {
    name: "rescuer",
    async tick() {
      const { again, exhausted } = await rescueRuns(app, isFirst);
      isFirst = false;
      if (again > 0) app.log.write("warn", "runs go on after their process ended", { runs: again });
      for (const run of exhausted) {
        const error = new AppError("interrupted_too_often", `The process ended ${run.interruptCount} times under this run; it is not tried again by itself.`);
        await finishRun(
          contextForRun(app, run),
          run,
          { status: "failed", error: tell(error, run.retryCount + 1) },
          { definition: run.definition, progress: run.progress, isProgressNew: false, logs: [] },
        );
      }
      return "idle";
    },
  };
}
