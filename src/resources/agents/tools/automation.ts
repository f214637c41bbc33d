import { and, eq, inArray, isNull } from "drizzle-orm";
import { AppError } from "../../../base/errors.ts";
import { type Context, write } from "../../../context.ts";
import { actions } from "../../actions/table.ts";
import { cancelAutomationRun } from "../../automations/cancel.ts";
import { type AutomationConfig, stepsOf } from "../../automations/config.ts";
import { findAutomationRun, isOver } from "../../automations/runs.ts";
import { automationRunTopic } from "../../automations/save.ts";
import { runAutomation } from "../../automations/start.ts";
import { automations } from "../../automations/table.ts";
import { awaited, checkMayRun, told, triggerOf } from "./child.ts";
import type { ToolSource } from "./contract.ts";
import { toolName } from "./names.ts";

/** An automation of the organization, started with an input. */
export const automationTool: ToolSource = {
  async open(ctx, slug, agent) {
    const [automation] = await ctx.db
      .select()
      .from(automations)
      .where(
        and(
          eq(automations.organizationId, ctx.organizationId),
          eq(automations.slug, slug),
          isNull(automations.deletedAt),
        ),
      );
    if (!automation) throw new AppError("not_found", `there is no automation ${slug}`);
    if (automation.status === "disabled")
      throw new AppError("invalid_state", `the automation ${slug} is disabled`);
    const { id: automationId, name, description, version } = automation;
    return [
      {
        name: toolName("automation", slug),
        description:
          `Runs the automation "${name}" with an input and waits for its result.${description ? ` ${description}` : ""}`.slice(
            0,
            2048,
          ),
        inputSchema: {
          type: "object",
          properties: { input: { description: "What the automation's templates see as {{input}}" } },
          additionalProperties: false,
        },
        approvalRequired: await writes(ctx, automation.config as AutomationConfig),
        fingerprint: `${automationId} ${version}`,
        async call({ input, signal }) {
          signal.throwIfAborted();
          const { id } = await write(ctx, async (tx) => {
            await checkMayRun(tx);
            return runAutomation(tx, automationId, input.input ?? null, triggerOf(agent));
          });
          const run = await awaited(
            ctx,
            {
              topic: automationRunTopic(id),
              find: () => findAutomationRun(ctx, id),
              isOver,
              cancel: () => cancelAutomationRun(ctx, id),
            },
            signal,
          );
          return told({ automationRunId: id }, run);
        },
      },
    ];
  },
};

/** Whether any of its steps does; one whose work is not known is taken for one that does. */
async function writes(ctx: Context, config: AutomationConfig): Promise<boolean> {
  const steps = stepsOf(config);
  const ids = steps.flatMap(({ actionId }) => (actionId === undefined ? [] : [actionId]));
  const named = await ctx.db
    .select()
    .from(actions)
    .where(and(eq(actions.organizationId, ctx.organizationId), inArray(actions.id, ids)));
  return steps.some((step) => {
    const action = named.find(({ id }) => id === step.actionId);
    const kind = step.kind ?? action?.kind;
    const hasEffects = kind && ctx.executors[kind].hasEffects;
    return hasEffects ? hasEffects({ ...action?.definition, ...step.definition }) : true;
  });
}
