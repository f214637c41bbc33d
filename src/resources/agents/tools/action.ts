import { AppError } from "../../../base/errors.ts";
import { canonicalJson } from "../../../base/json.ts";
import { findAction, findActionBySlug, runAction } from "../../actions/service.ts";
import type { ActionRow } from "../../actions/table.ts";
import { changedMeanwhile, runToEnd, triggerOf } from "./child.ts";
import type { ToolSource } from "./contract.ts";
import { inputsOf } from "./inputs.ts";
import { toolName } from "./names.ts";

/**
 * Runs an action of the organization. The agent only provides the values that the definition reads as `{{input.NAME}}`.
 */
export const actionTool: ToolSource = {
  async open(ctx, slug, agent) {
    const { action } = await findActionBySlug(ctx, slug).catch((error: unknown) => {
      throw error instanceof AppError && error.code === "not_found"
        ? new AppError("not_found", `action ${slug} not found`)
        : error;
    });
    if (action.status === "disabled") throw new AppError("invalid_state", `the action ${slug} is disabled`);
    const inputs = [...inputsOf(action.definition)];
    const { kind, definition } = action;
    const fingerprint = fingerprintOf(action);
    return [
      {
        name: toolName("action", slug),
        description: `Runs the action "${action.name}" (${kind}) and waits for its result.`,
        inputSchema: {
          type: "object",
          properties: Object.fromEntries(inputs.map(([name]) => [name, {}])),
          required: inputs.filter(([, { isOptional }]) => !isOptional).map(([name]) => name),
          additionalProperties: false,
        },
        approvalRequired: ctx.executors[kind].hasEffects?.(definition) ?? true,
        isInside: ctx.executors[kind].isInside ?? false,
        fingerprint,
        waitsForRun: true,
        call: ({ id, input, signal }) =>
          runToEnd(
            ctx,
            async (tx) => {
              const now = await findAction(tx, action.id);
              if (fingerprintOf(now.action) !== fingerprint) throw changedMeanwhile(`The action ${slug}`);
              return runAction(tx, action.id, {}, triggerOf(ctx, agent), id, input);
            },
            signal,
          ),
      },
    ];
  },
};

const fingerprintOf = ({ id, kind, definition, connectionId }: ActionRow): string =>
  canonicalJson({ id, kind, definition, connectionId });
