import { openSetbacks } from "../base/setbacks.ts";
import type { App } from "../context.ts";
import { startDueSchedules } from "../flows/due.ts";
import type { Loop } from "./loop.ts";

/** Starts the runs that schedules make due. Instants before this process, or one that it joined, took up its work were missed. */
export function scheduler(app: App): Loop {
  const startedAt = app.clock.monotonic() - (app.fellows?.coveredMs ?? 0);
  const setbacks = openSetbacks(app.clock);
  return {
    name: "scheduler",
    tick: async () =>
      (await startDueSchedules(app, app.clock.monotonic() - startedAt, setbacks)) > 0 ? "more" : "idle",
  };
}
