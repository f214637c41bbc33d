import { Type } from "@sinclair/typebox";
import { described, implied, object, optional, typed } from "../../base/shape.ts";

const notifyUrl = (description: string) =>
  Type.String({
    maxLength: 2048,
    format: "uri",
    pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^\\s@]+$",
    description,
    examples: ["https://example.com/notices"],
  });

/** Who is told of runs that fail. */
export const ALERTS = typed(
  "AutomationAlerts",
  object(
    {
      onFailure: optional(
        implied(
          false,
          described("Whether a notice is sent when a run fails", Type.Boolean({ examples: [true] })),
        ),
      ),
      onRecovery: optional(
        implied(
          false,
          described(
            "Whether a notice is sent when a run completes after one that failed",
            Type.Boolean({ examples: [true] }),
          ),
        ),
      ),
      lateAfterSeconds: optional(
        Type.Integer({
          minimum: 1,
          maximum: 31_536_000,
          description:
            "Seconds since a run last completed, or was to start, after which a notice says that it is late",
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
                description: "Address that gets a mail",
                examples: ["ada@example.com"],
              }),
            ),
            slack: optional(
              described(
                "Address of an incoming webhook of Slack; its last part is never shown again",
                Type.String({
                  maxLength: 2048,
                  pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^\\s@?#/]+/(?:[^\\s@?#/]+/)*[^\\s@?#/]+$",
                  examples: ["https://hooks.slack.com/services/T000/B000/xxxxxxxx"],
                }),
              ),
            ),
            url: optional(notifyUrl("Address of a POST, signed with the automation's secret")),
          }),
          {
            maxItems: 20,
            description:
              "Who is notified, each entry with one of the fields; empty for the person who made the automation",
            examples: [[{ email: "ada@example.com" }]],
          },
        ),
      ),
      failureThreshold: optional(
        Type.Integer({
          minimum: 1,
          maximum: 100_000,
          description:
            "Of a webhook, with failureWindow and notifyUrl: failures in the window that are reported",
          examples: [10],
        }),
      ),
      failureWindow: optional(
        Type.Integer({
          minimum: 1,
          maximum: 2_592_000,
          description: "Length of the window in seconds",
          examples: [300],
        }),
      ),
      notifyUrl: optional(notifyUrl("URL that gets a signed POST about failures in the window")),
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
          description: "Rows that a run makes at least, all of its steps together",
          examples: [1],
        }),
      ),
      notifyUrl: optional(notifyUrl("URL that gets a signed POST when the automation is stale")),
    },
    { description: "What is expected of the automation; give maxSilenceSeconds, minRows or both" },
  ),
);
