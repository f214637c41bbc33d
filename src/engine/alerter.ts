import type { App } from "../context.ts";
import { sendDueAlerts } from "../resources/inbound/alerts.ts";
import type { Loop } from "./loop.ts";

/** Tells those whom a webhook's `alerts` name that its deliveries fail. */
export const alerter = (app: App): Loop => ({
  name: "alerter",
  tick: async (signal) => ((await sendDueAlerts(app, signal)) > 0 ? "more" : "idle"),
});
