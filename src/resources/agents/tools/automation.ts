import { and, eq, inArray, isNull } from "drizzle-orm";
import { AppError } from "../../../base/errors.ts";
import { canonicalJson } from "../../../base/json.ts";
import { type Context, write } from "../../../context.ts";
import { cancelAutomationRun } from "../../../flows/cancel.ts";
import { findAutomationRun, isOver } from "../../../flows/find.ts";
import { automationRunTopic } from "../../../flows/save.ts";
import { runAutomation } from "../../../flows/start.ts";
import { type ActionRow, actions } from "../../actions/table.ts";
import { type AutomationConfig, stepsOf } from "../../automations/config.ts";
import { automations } from "../../automations/table.ts";
import { awaited, changedMeanwhile, checkMayRun, childMessage, triggerOf } from "./child.ts";
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
    if (!automation) throw new AppError("not_found", `automation ${slug} not found`);
    if (automation.status !== "active")
      throw new AppError("invalid_state", `the automation ${slug} is disabled`);
    const { id: automationId, name, description } = automation;
    const steps = await stepsWithActions(ctx, automation.config as AutomationConfig);
    const fingerprint = fingerprintOf(automation, steps);
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
        approvalRequired: writes(ctx, steps),
        isInside: staysInside(ctx, steps),
        fingerprint,
        waitsForRun: true,
        async call({ input, signal }) {
          signal.throwIfAborted();
          const { id } = await write(ctx, async (tx) => {
            await checkMayRun(tx);
            const [now] = await tx.db.select().from(automations).where(eq(automations.id, automationId));
            const same = now && (await stepsWithActions(tx, now.config as AutomationConfig));
            if (!now || !same || fingerprintOf(now, same) !== fingerprint)
              throw changedMeanwhile(`The automation ${slug}`);
            return runAutomation(tx, automationId, input.input ?? null, triggerOf(ctx, agent));
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
          return childMessage({ automationRunId: id }, run);
        },
      },
    ];
  },
};

type Steps = { step: ReturnType<typeof stepsOf>[number]; action: ActionRow | undefined }[];

async function stepsWithActions(ctx: Context, config: AutomationConfig): Promise<Steps> {
  const steps = stepsOf(config);
  const ids = steps.flatMap(({ actionId }) => (actionId === undefined ? [] : [actionId]));
  const named = await ctx.db
    .select()
    .from(actions)
    .where(and(eq(actions.organizationId, ctx.organizationId), inArray(actions.id, ids)));
  return steps.map((step) => ({ step, action: named.find(({ id }) => id === step.actionId) }));
}

/** Changes with the automation and with each action that it runs. */
function fingerprintOf({ id, version }: { id: string; version: number }, steps: Steps): string {
  const run = steps.flatMap(({ action }) =>
    action ? [{ id: action.id, definition: action.definition, connectionId: action.connectionId }] : [],
  );
  return `${id} ${version} ${Bun.SHA256.hash(canonicalJson(run), "hex")}`;
}

/** Returns whether any of its steps has effects. A step with an unknown definition counts as having effects. */
const writes = (ctx: Context, steps: Steps): boolean =>
  steps.some(({ step, action }) => {
    const kind = step.kind ?? action?.kind;
    const hasEffects = kind && ctx.executors[kind].hasEffects;
    return hasEffects ? hasEffects({ ...action?.definition, ...step.definition }) : true;
  });

const staysInside = (ctx: Context, steps: Steps): boolean =>
  steps.every(({ step, action }) => {
    const kind = step.kind ?? action?.kind;
    return kind !== undefined && ctx.executors[kind].isInside === true;
  });
