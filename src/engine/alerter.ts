import type { App } from "../context.ts";
import { sendDueAlerts } from "../resources/alerts/alerts.ts";
import type { Loop } from "./loop.ts";

/** Sends what `alerts` and `expect` of an automation are to tell: that deliveries fail, or that it is stale. */
export const alerter = (app: App): Loop => ({
  name: "alerter",
  tick: async (signal) => ((await sendDueAlerts(app, signal)) > 0 ? "more" : "idle"),
});
