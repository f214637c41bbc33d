import { type Static, Type } from "@sinclair/typebox";
import { oneAlone } from "../base/schema-rules.ts";
import { anything, described, object, oneOf, optional, slug, uuid } from "../base/shape.ts";
import { defineExecutor } from "./contract.ts";

const Definition = object(
  {
    automationId: optional(described("ID of the automation. Or give slug", uuid())),
    slug: optional(described("Slug of the automation, instead of automationId", slug())),
    input: optional(described("Input of the run, which its steps read as {{input}}", anything())),
    wait: Type.Boolean({
      default: true,
      description: "Whether to wait for the result. If false, the run continues immediately",
    }),
  },
  oneAlone("automationId", "slug"),
);

/**
 * Runs another automation of the organization, and waits for its end without a worker. If it fails, this run fails
 * too, and its next attempt, if it has one, calls the automation again. Calls can be nested ten levels deep, and an
 * automation can't call itself, directly or through others. A second attempt is safe: the called run starts in the
 * transaction that makes this one wait, and only there.
 */
export const callAutomation = defineExecutor({
  kind: "call_automation",
  title: "Call an automation",
  description: "Runs another automation, and can wait for its result.",
  providers: [],
  definition: Definition,
  result: object({
    automationRunId: uuid(),
    status: oneOf(["pending", "running", "waiting", "completed", "failed", "cancelled"]),
    result: anything(),
    warnings: optional(Type.Array(Type.String(), { description: "Steps of the called run that failed" })),
  }),

  check({ automationId, slug }: Partial<Static<typeof Definition>>) {
    if ((automationId === undefined) !== (slug === undefined)) return [];
    return [{ path: ["automationId"], message: "Give either automationId or slug" }];
  },

  async execute(ctx, { automationId, slug, input, wait }) {
    ctx.log("info", wait ? "Calls the automation, and waits for its end." : "Calls the automation.");
    return {
      wait: "automation",
      request: { automationId: automationId ?? null, slug: slug ?? null, input: input ?? null, wait },
    };
  },
});
