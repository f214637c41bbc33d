import { openSetbacks } from "../base/setbacks.ts";
import type { App } from "../context.ts";
import { continueDueRuns } from "../flows/continue.ts";
import { moveLines } from "../flows/line.ts";
import type { Loop } from "./loop.ts";

/** Lines that can't move on any more are rare: they are looked for only so often. */
const UNTIE_EVERY_MS = 5_000;

/** Goes on with automation runs whose pause between two tries is over, and with lines that have room. */
export function continuer(app: App): Loop {
  const [runs, lines] = [openSetbacks(app.clock), openSetbacks(app.clock)];
  let untiedMs = Number.NEGATIVE_INFINITY;
  return {
    name: "continuer",
    async tick() {
      const isThorough = app.clock.monotonic() - untiedMs >= UNTIE_EVERY_MS;
      if (isThorough) untiedMs = app.clock.monotonic();
      const wentOn = await continueDueRuns(app, runs);
      return wentOn + (await moveLines(app, lines, isThorough)) > 0 ? "more" : "idle";
    },
  };
}
