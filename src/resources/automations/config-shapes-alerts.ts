import { Type } from "@sinclair/typebox";
import { oneNeeded } from "../../base/schema-rules.ts";
import { described, implied, object, optional, typed } from "../../base/shape.ts";

const notifyUrl = (description: string) =>
  Type.String({
    maxLength: 2048,
    format: "uri",
    pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^\\s@]+$",
    description,
    examples: ["https://example.com/notices"],
  });

/** Recipients of alerts about runs. */
export const ALERTS = typed(
  "AutomationAlerts",
  object(
    {
      onFailure: optional(
        implied(
          false,
          described("Whether to send a notice when a run fails", Type.Boolean({ examples: [true] })),
        ),
      ),
      onRecovery: optional(
        implied(
          false,
          described(
            "Whether to send a notice when a run completes after a failed one",
            Type.Boolean({ examples: [true] }),
          ),
        ),
      ),
      lateAfterSeconds: optional(
        Type.Integer({
          minimum: 1,
          maximum: 31_536_000,
          description:
            "Seconds since the last completed run, or since the scheduled time, after which a notice is sent that the automation is late",
          examples: [93_600],
        }),
      ),
      notify: optional(
        Type.Array(
          object({
            email: optional(
              Type.String({
                format: "email",
                maxLength: 254,
                description: "Email address",
                examples: ["ada@example.com"],
              }),
            ),
            slack: optional(
              described(
                "URL of an incoming webhook in Slack. Its last part is never shown again",
                Type.String({
                  maxLength: 2048,
                  pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^\\s@?#/]+/(?:[^\\s@?#/]+/)*[^\\s@?#/]+$",
                  examples: ["https://hooks.slack.com/services/T000/B000/xxxxxxxx"],
                }),
              ),
            ),
            url: optional(notifyUrl("URL that gets a POST, signed with the automation's secret")),
          }),
          {
            maxItems: 20,
            description:
              "Recipients, each with one of the fields. If empty, the user who created the automation. If they have all left, the owners",
            examples: [[{ email: "ada@example.com" }]],
          },
        ),
      ),
      failureThreshold: optional(
        Type.Integer({
          minimum: 1,
          maximum: 100_000,
          description:
            "Number of failed deliveries within failureWindow after which notifyUrl is notified. Only for webhooks",
          examples: [10],
        }),
      ),
      failureWindow: optional(
        Type.Integer({
          minimum: 1,
          maximum: 2_592_000,
          description: "Period in which failures are counted, in seconds",
          examples: [300],
        }),
      ),
      notifyUrl: optional(notifyUrl("URL that gets a signed POST when failureThreshold is reached")),
    },
    { description: "Notifications about the automation's runs" },
  ),
);

/** When an automation counts as stale. */
export const EXPECT = typed(
  "AutomationExpectation",
  object(
    {
      maxSilenceSeconds: optional(
        Type.Integer({
          minimum: 1,
          maximum: 31_536_000,
          description: "Seconds since the last completed run after which the automation is stale",
          examples: [90_000],
        }),
      ),
      minRows: optional(
        Type.Integer({
          minimum: 1,
          maximum: 1_000_000_000,
          description: "Minimum number of rows of a run, in all of its steps together",
          examples: [1],
        }),
      ),
      notifyUrl: optional(notifyUrl("URL that gets a signed POST when the automation is stale")),
    },
    {
      description: "When the automation counts as stale. Set maxSilenceSeconds, minRows or both",
      ...oneNeeded("maxSilenceSeconds", "minRows"),
    },
  ),
);
