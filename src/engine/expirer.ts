import type { App } from "../context.ts";
import { expireDueDecisions } from "../resources/decisions/expire.ts";
import type { Loop } from "./loop.ts";

/** Ends decisions that nobody has taken in time. */
export const expirer = (app: App): Loop => ({
  name: "expirer",
  tick: async () => ((await expireDueDecisions(app)) > 0 ? "more" : "idle"),
});
