import { AppError } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { ActionKind } from "../../../executors/contract.ts";
import type { AgentTool } from "../../../models/contract.ts";
import { enqueueRun } from "../../../queue/enqueue.ts";
import { runToEnd, triggerOf } from "./child.ts";
import type { ToolSource } from "./contract.ts";

/** An action kind that reads the web, as a tool. Each call is a run whose definition is the agent's arguments. */
export const kindTool = (
  kind: ActionKind,
  description: string,
  inputSchema: JsonObject,
  more: Pick<AgentTool, "asksFor" | "isSearch"> = {},
): ToolSource => ({
  async open(ctx, _, agent) {
    if (!ctx.executors[kind])
      throw new AppError("not_available", `this version of Weir doesn't support ${kind}`);
    return [
      {
        name: kind,
        description,
        inputSchema,
        approvalRequired: false,
        fingerprint: kind,
        isOfTheWeb: true,
        waitsForRun: true,
        ...more,
        call: ({ id, input, signal }) =>
          runToEnd(
            ctx,
            (tx) =>
              enqueueRun(tx, {
                kind,
                definition: input,
                isResolved: true, // Braces written by a model are text, never templates.
                trigger: triggerOf(ctx, agent),
                idempotencyKey: id,
              }),
            signal,
          ),
      },
    ];
  },
});
