import type { App } from "../context.ts";
import { continueTurns, failLostTurns } from "../resources/chat/recover.ts";
import type { Loop } from "./loop.ts";

/** Lets chat turns go on whose approvals were decided, and ends those that no process has any more. */
export function talker(app: App): Loop {
  let when: "boot" | "later" = "boot";
  return {
    name: "talker",
    async tick() {
      await failLostTurns(app, when);
      when = "later";
      return (await continueTurns(app)) > 0 ? "more" : "idle";
    },
  };
}
