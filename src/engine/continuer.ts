import type { App } from "../context.ts";
import { continueDueRuns } from "../resources/automations/continue.ts";
import { moveLines } from "../resources/automations/line.ts";
import type { Loop } from "./loop.ts";

/** Goes on with automation runs whose pause between two tries is over, and with lines that have room. */
export const continuer = (app: App): Loop => ({
  name: "continuer",
  tick: async () => ((await continueDueRuns(app)) + (await moveLines(app)) > 0 ? "more" : "idle"),
});
