import type { App } from "../context.ts";
import { continueDueRuns } from "../resources/automations/continue.ts";
import type { Loop } from "./loop.ts";

/** Goes on with automation runs whose pause between two tries is over. */
export const continuer = (app: App): Loop => ({
  name: "continuer",
  tick: async () => ((await continueDueRuns(app)) > 0 ? "more" : "idle"),
});
