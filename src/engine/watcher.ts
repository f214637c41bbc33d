import type { App } from "../context.ts";
import { type Counted, watchAutomations } from "../flows/watch.ts";
import type { Loop } from "./loop.ts";

/** Tells of automations that have been silent for too long or made too few rows. */
export function watcher(app: App): Loop {
  const counted: Counted = new Map();
  return {
    name: "watcher",
    async tick() {
      await watchAutomations(app, counted);
      return "idle";
    },
  };
}
