import { AppError } from "../base/errors.ts";
import type { App } from "../context.ts";
import { answerReset, dropReset, readReset, resetRequests } from "../reset-requests.ts";
import { applyReset } from "../resources/sign-in/password.ts";
import type { Loop } from "./loop.ts";

/** Resets passwords on behalf of `weir reset-password` while this server runs. */
export function resetter(app: App): Loop {
  const { dataFolder } = app.config;
  return {
    name: "resetter",
    async tick() {
      for (const id of resetRequests(dataFolder)) {
        const reset = readReset(dataFolder, id);
        if (reset === null) {
          dropReset(dataFolder, id);
          continue;
        }
        const reply = await applyReset(app, reset).then(
          (ended) => ({ ...ended, error: null }),
          (error: unknown) => {
            if (!(error instanceof AppError)) throw error;
            return {
              sessions: 0,
              tokens: 0,
              slackLinks: 0,
              secondFactor: "none" as const,
              error: error.message,
            };
          },
        );
        answerReset(dataFolder, id, reply);
      }
      return "idle";
    },
  };
}
