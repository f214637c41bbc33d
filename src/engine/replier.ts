import type { App } from "../context.ts";
import { sendDueReplies } from "../resources/slack/replies.ts";
import type { Loop } from "./loop.ts";

/** Tells people in Slack how what they have started there has ended. */
export const replier = (app: App): Loop => ({
  name: "replier",
  tick: async (signal) => ((await sendDueReplies(app, signal)) > 0 ? "more" : "idle"),
});
