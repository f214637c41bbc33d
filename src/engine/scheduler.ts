import type { App } from "../context.ts";
import { startDueSchedules } from "../resources/automations/due.ts";
import type { Loop } from "./loop.ts";

/** Starts the runs that schedules make due. Instants before this process took up its work were missed. */
export function scheduler(app: App): Loop {
  const startedAt = app.clock.monotonic();
  return {
    name: "scheduler",
    tick: async () =>
      (await startDueSchedules(app, app.clock.monotonic() - startedAt)) > 0 ? "more" : "idle",
  };
}
