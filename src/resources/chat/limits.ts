import { AppError } from "../../base/errors.ts";
import type { Config } from "../../config.ts";
import type { Context } from "../../context.ts";
import { toolParts } from "../../models/chunks.ts";
import type { Model } from "../../models/contract.ts";
import { estimate, modelFor } from "../usage/model.ts";
import { checkAccess } from "./access.ts";
import { type LiveTurn, TurnEnded } from "./live.ts";
import type { Spent, TurnRow } from "./table.ts";

/** Maximum number of tool calls in one turn, including refused ones. Checked before each step. */
const MAX_CALLS = 200;

export const tooLong = ({ llmTurnSeconds }: Config): AppError =>
  new AppError("timeout", `The turn reached its time limit of ${llmTurnSeconds} seconds.`);

/** Whether the turn ended because of its own limits. */
export const isBound = (error: unknown): boolean =>
  (error instanceof TurnEnded && error.why === "late") ||
  (error instanceof AppError && ["limit_exceeded", "too_many_steps"].includes(error.code));

/**
 * The organization's model for one stretch of a turn, within the turn's limits
 * and only while its user has access.
 * Adds its usage to `spent`, estimated if the endpoint doesn't report it. The time limit applies until `stop`.
 */
export function boundedModel(
  ctx: Context,
  turn: TurnRow,
  live: LiveTurn,
): { model: Model; spent: Spent; stop(): void } {
  const spent: Spent = { ...turn.usage };
  let tokens = spent.inputTokens + spent.outputTokens;
  const before = spent.workMs ?? 0;
  const began = ctx.clock.monotonic();
  const left = ctx.config.llmTurnSeconds * 1000 - before;
  const late = setTimeout(() => live.control.abort(new TurnEnded("late")), Math.max(0, left));
  const model = modelFor(ctx);
  return {
    spent,
    stop() {
      clearTimeout(late);
      spent.workMs = before + Math.round(ctx.clock.monotonic() - began);
    },
    model: {
      async *stream(request, signal) {
        refuseMore(ctx.config, live, tokens);
        await checkAccess(ctx);
        let written = 0;
        for await (const event of model.stream(request, signal)) {
          if ("delta" in event) written += event.delta.length;
          if (event.type === "finish") {
            const { inputTokens, outputTokens } = event.usage;
            spent.inputTokens += inputTokens;
            spent.outputTokens += outputTokens;
            const guess = estimate(request, written);
            tokens += inputTokens + outputTokens || guess.inputTokens + guess.outputTokens;
          }
          yield event;
        }
      },
    },
  };
}

function refuseMore({ llmTokensPerTurn }: Config, { message }: LiveTurn, tokens: number): void {
  const calls = toolParts(message).length;
  if (calls >= MAX_CALLS) {
    const text = `The agent made ${calls} calls without an answer. The limit per turn is ${MAX_CALLS}.`;
    throw new AppError("limit_exceeded", text);
  }
  if (llmTokensPerTurn > 0 && tokens >= llmTokensPerTurn) {
    const bound = llmTokensPerTurn.toLocaleString("en");
    const text = `The turn used ${tokens.toLocaleString("en")} tokens without an answer. The limit per turn is ${bound}.`;
    throw new AppError("limit_exceeded", text);
  }
}
