import { Type } from "@sinclair/typebox";
import { CRON } from "../../base/cron-shape.ts";
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
import { SIGNATURE_PRESETS } from "../../crypto/presets.ts";
import { SIGNATURE_ALGORITHMS } from "../../crypto/signature.ts";
import { DEFAULT_WAIT_SECONDS } from "./config.ts";
import { SENDER_AUTH } from "./sender.ts";

export const SCHEDULE = {
  schedule: typed(
    "AutomationSchedule",
    object(
      {
        ...CRON,
        catchUp: optional(
          implied(
            "none",
            oneOf(["none", "last"], {
              description: "Missed runs while no server was running: none are caught up, or the last one is",
            }),
          ),
        ),
      },
      { description: "Schedule of the automation" },
    ),
  ),
};

export const EVENT = {
  event: typed(
    "AutomationEvent",
    object(
      {
        types: Type.Array(Type.String({ minLength: 1, maxLength: 100, examples: ["action.failed"] }), {
          minItems: 1,
          maxItems: 100,
          description: "Types of events that start a run. * matches one or more parts",
          examples: [["action.failed", "connection.*"]],
        }),
      },
      { description: "Which events start the automation" },
    ),
  ),
};

const HEADER_NAME = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";

/** A path of one or more segments, as in the URL. */
const PATH = "^(?!\\.{1,2}(?:/|$))[A-Za-z0-9._~-]+(?:/(?!\\.{1,2}(?:/|$))[A-Za-z0-9._~-]+)*$";

const ANSWER = {
  waitSeconds: optional(
    implied(
      DEFAULT_WAIT_SECONDS,
      Type.Number({
        minimum: 0,
        maximum: 30,
        description: "Seconds to wait for the run to finish. If it does, its result is the response",
        examples: [30],
      }),
    ),
  ),
  response: optional(
    typed(
      "WebhookResponse",
      object(
        {
          status: optional(
            implied(
              200,
              Type.Union(
                [
                  Type.Integer({ minimum: 200, maximum: 599 }),
                  Type.String({ maxLength: 4096, title: "Template" }),
                ],
                { description: "HTTP status. Can be a template" },
              ),
            ),
          ),
          headers: optional(
            Type.Record(Type.String({ minLength: 1, maxLength: 100, pattern: HEADER_NAME }), Type.String(), {
              description: "Headers of the response. Values can contain templates",
              examples: [{ "Content-Type": "application/json" }],
            }),
          ),
          body: optional(
            described(
              "Body of the response. Can contain templates",
              exemplified([{ id: "{{steps.create.result.id}}" }], anything()),
            ),
          ),
        },
        {
          description:
            "Response if the run completes within waitSeconds. Templates can use the trigger and the steps",
        },
      ),
    ),
  ),
  retries: optional(
    typed(
      "WebhookRetries",
      object(
        {
          enabled: optional(
            implied(true, Type.Boolean({ description: "Whether to retry a delivery if its run fails" })),
          ),
          maxAttempts: optional(
            implied(5, Type.Integer({ minimum: 1, maximum: 50, description: "Maximum number of attempts" })),
          ),
          backoffSeconds: optional(
            implied(
              [5, 30, 120, 600, 1800],
              Type.Array(Type.Number({ minimum: 0, maximum: 604_800, examples: [60] }), {
                maxItems: 50,
                description: "Seconds to wait before each further attempt. The last value repeats",
                examples: [[60, 300, 3600]],
              }),
            ),
          ),
        },
        { description: "Retries of failed deliveries" },
      ),
    ),
  ),
};

export const WEBHOOK = {
  path: Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: PATH,
    description: "Last part of the webhook's URL: /webhooks/ORGANIZATION_ID/PATH",
    examples: ["orders"],
  }),
  signaturePreset: optional(
    oneOf(SIGNATURE_PRESETS, {
      description: "Sender with a known signature scheme, instead of signatureHeader",
    }),
  ),
  signatureHeader: optional(
    implied(
      "X-SVC-Signature",
      Type.String({
        minLength: 1,
        maxLength: 100,
        pattern: HEADER_NAME,
        description: "Header that holds the signature",
        examples: ["X-Signature"],
      }),
    ),
  ),
  signatureAlgorithm: optional(
    implied("sha256", oneOf(SIGNATURE_ALGORITHMS, { description: "Hash function of the signature (HMAC)" })),
  ),
  requireTimestamp: optional(
    Type.Boolean({
      description:
        "Whether requests must have X-SVC-Timestamp. Default: true for Weir's own signature. In automations from before this setting existed, true once a request with a timestamp has arrived",
    }),
  ),
  auth: optional(described("How the sender authenticates. Default: with a signature", SENDER_AUTH)),
  allowedIps: optional(
    Type.Array(Type.String({ maxLength: 100, examples: ["192.0.2.0/24"] }), {
      maxItems: 1000,
      description: "IP addresses or CIDR ranges that requests are accepted from. Default: all",
      examples: [["192.0.2.0/24"]],
    }),
  ),
  debug: optional(
    implied(
      false,
      Type.Boolean({ description: "Whether to store headers and body of each request for inspection" }),
    ),
  ),
  ...ANSWER,
};

export const FORM = {
  path: optional(
    described(
      "Last part of the form's URL. Default: the automation's slug",
      Type.String({ minLength: 1, maxLength: 200, pattern: PATH, examples: ["time-off"] }),
    ),
  ),
  form: typed(
    "AutomationForm",
    object(
      {
        title: Type.String({
          minLength: 1,
          maxLength: 200,
          description: "Title of the page",
          examples: ["Time off"],
        }),
        description: optional(
          Type.String({
            maxLength: 10_000,
            description: "Text above the fields",
            examples: ["Ask at least two weeks ahead."],
          }),
        ),
        schema: jsonSchema({ description: "JSON Schema of the answers, which the run gets as payload" }),
        submitLabel: optional(
          Type.String({
            minLength: 1,
            maxLength: 100,
            description: "Label of the button",
            examples: ["Send"],
          }),
        ),
        access: optional(
          implied(
            "signed_in",
            oneOf(["signed_in", "public"], {
              description: "Who can fill in the form: members of the organization, or anyone with the URL",
            }),
          ),
        ),
      },
      { description: "Form that people fill in" },
    ),
  ),
  ...ANSWER,
};
