import { openSetbacks } from "../base/setbacks.ts";
import type { App } from "../context.ts";
import { expireDueDecisions } from "../resources/decisions/expire.ts";
import type { Loop } from "./loop.ts";

/** Ends decisions that nobody has taken in time. */
export function expirer(app: App): Loop {
  const setbacks = openSetbacks(app.clock);
  return {
    name: "expirer",
    tick: async () => ((await expireDueDecisions(app, setbacks)) > 0 ? "more" : "idle"),
  };
}
