import { type Static, Type } from "@sinclair/typebox";
import { apart } from "../../base/schema-rules.ts";
import {
  anything,
  described,
  exemplified,
  implied,
  jsonSchema,
  object,
  oneOf,
  optional,
  typed,
} from "../../base/shape.ts";
import { ALERTS, EXPECT } from "./config-shapes-alerts.ts";
import { EXAMPLE_WORK, StepShape, Work } from "./config-shapes-steps.ts";
import { EVENT, FORM, SCHEDULE, WEBHOOK } from "./config-shapes-triggers.ts";
import type { TriggerType } from "./table.ts";

/** Secret that signs incoming requests and outgoing notices. */
const SECRET = Type.String({
  minLength: 16,
  maxLength: 512,
  description:
    "Secret that signs requests to a webhook, and notices. If it is needed and omitted, one is generated and returned once. It is never shown again",
  examples: ["correct-horse-battery-staple"],
});

const COMMON = {
  action: optional(
    typed(
      "AutomationWork",
      object(Work, { description: "The only step, instead of steps", examples: [EXAMPLE_WORK] }),
    ),
  ),
  steps: optional(
    Type.Array(StepShape, {
      minItems: 1,
      maxItems: 200,
      description: "Steps of the automation, instead of action",
    }),
  ),
  concurrency: optional(
    typed(
      "AutomationConcurrency",
      object(
        {
          max: Type.Integer({
            minimum: 1,
            maximum: 1000,
            description: "Maximum number of runs at once",
            examples: [1],
          }),
          policy: optional(
            implied(
              "queue",
              oneOf(["queue", "skip", "cancel_previous"], {
                description:
                  "What to do with a run beyond the limit: queue it, skip it, or cancel the oldest run",
              }),
            ),
          ),
        },
        { description: "Concurrency limit of the automation. Default: none" },
      ),
    ),
  ),
  expect: optional(EXPECT),
  alerts: optional(ALERTS),
  secret: optional(SECRET),
  inputSchema: optional(jsonSchema({ description: "JSON Schema of the input of manual runs and calls" })),
  pinnedInput: optional(
    typed(
      "AutomationPinnedInput",
      described(
        "Default input of test runs. For a webhook, its payload. Other runs ignore it",
        exemplified([{ total: 120 }], anything()),
      ),
    ),
  ),
};

/** The shape of a config, by its trigger. */
export const CONFIGS = {
  manual: object(COMMON),
  webhook: object({ ...COMMON, ...WEBHOOK }, apart("signaturePreset", "requireTimestamp")),
  form: object({ ...COMMON, ...FORM }),
  schedule: object({ ...COMMON, ...SCHEDULE }),
  event: object({ ...COMMON, ...EVENT }),
} as const satisfies Record<TriggerType, unknown>;

/** The config of each trigger. */
export type TriggerConfigs = { [T in TriggerType]: Static<(typeof CONFIGS)[T]> };
