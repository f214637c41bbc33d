import { type Static, Type } from "@sinclair/typebox";
import {
  anything,
  described,
  jsonObject,
  named,
  nullable,
  object,
  oneOf,
  optional,
  uuid,
} from "../../base/shape.ts";
import { SIGNATURE_PRESETS } from "../../crypto/presets.ts";
import { SIGNATURE_ALGORITHMS } from "../../crypto/signature.ts";
import { ACTION_KINDS } from "../../executors/contract.ts";
import { MAX_DELAY_SECONDS } from "../../flows/delay.ts";
import { SENDER_AUTH } from "./sender.ts";
import type { TriggerType } from "./table.ts";

const Work = {
  actionId: optional(uuid()),
  kind: optional(oneOf(ACTION_KINDS)),
  definition: optional(jsonObject()),
  connectionId: optional(nullable(uuid())),
};

const TableRowsShape = object(
  {
    table: described(
      "As SQL names it, such as marts.orders",
      Type.String({ minLength: 3, maxLength: 400, pattern: '^[^."]+\\.[^."]+$' }),
    ),
    where: optional(
      described("SQL; templates in it become parameters", Type.String({ minLength: 1, maxLength: 100_000 })),
    ),
    orderBy: optional(described("SQL, as where is", Type.String({ minLength: 1, maxLength: 4096 }))),
    parameters: optional(described("Values for $name in the SQL", jsonObject())),
    batch: optional(
      described(
        "So many rows are one item, which is a list then",
        Type.Integer({ minimum: 1, maximum: 1000 }),
      ),
    ),
  },
  { title: "Table" },
);

const StepShape = object({
  key: Type.String({ minLength: 1, maxLength: 100, pattern: "^(?!__proto__$)[A-Za-z_][A-Za-z0-9_-]*$" }),
  name: optional(named()),
  ...Work,
  dependsOn: optional(Type.Array(Type.String({ minLength: 1, maxLength: 201 }), { maxItems: 100 })),
  when: optional(Type.String({ minLength: 1, maxLength: 4096 })),
  forEach: optional(
    described(
      "A list that the step is carried out for item by item, or rows of a table as they are when the step begins",
      Type.Union([Type.String({ minLength: 1, maxLength: 4096, title: "List" }), TableRowsShape]),
    ),
  ),
  maxParallel: optional(Type.Integer({ minimum: 1, maximum: 100 })),
  onError: optional(oneOf(["fail", "continue"])),
  delay: optional(
    object(
      {
        seconds: optional(
          Type.Union([
            Type.Number({ minimum: 0, maximum: MAX_DELAY_SECONDS }),
            Type.String({ minLength: 1, maxLength: 4096 }),
          ]),
        ),
        until: optional(Type.String({ minLength: 1, maxLength: 4096 })),
      },
      { description: "How long the step waits before it begins, or until when; templates may stand here" },
    ),
  ),
  pinned: optional(described("A result that stands in for the step in test runs", anything())),
});

const NOTIFY_URL = Type.String({
  maxLength: 2048,
  format: "uri",
  pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^\\s@]+$",
});

const ALERTS = object({
  onFailure: optional(described("Whether a run that fails is told", Type.Boolean())),
  onRecovery: optional(
    described("Whether the first run that completes after a failure is told", Type.Boolean()),
  ),
  lateAfterSeconds: optional(
    Type.Integer({
      minimum: 1,
      maximum: 31_536_000,
      description: "Seconds since a run last completed, or was to start, after which it is told to be late",
    }),
  ),
  notify: optional(
    Type.Array(
      object({
        email: optional(Type.String({ format: "email", maxLength: 254 })),
        slack: optional(
          described(
            "Address of an incoming webhook of Slack; its last part is never shown again",
            Type.String({
              maxLength: 2048,
              pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^\\s@?#/]+/(?:[^\\s@?#/]+/)*[^\\s@?#/]+$",
            }),
          ),
        ),
        url: optional(described("Address of a POST, signed with the automation's secret", NOTIFY_URL)),
      }),
      { maxItems: 20, description: "Who is told; empty for the person who made the automation" },
    ),
  ),
  failureThreshold: optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
  failureWindow: optional(Type.Integer({ minimum: 1, maximum: 2_592_000, description: "Seconds" })),
  notifyUrl: optional(NOTIFY_URL),
});

/** What signs requests that come in, and notices that go out. */
const SECRET = Type.String({ minLength: 16, maxLength: 512 });

const COMMON = {
  action: optional(object(Work)),
  steps: optional(Type.Array(StepShape, { minItems: 1, maxItems: 200 })),
  concurrency: optional(
    object({
      max: Type.Integer({ minimum: 1, maximum: 1000 }),
      policy: optional(oneOf(["queue", "skip", "cancel_previous"])),
    }),
  ),
  expect: optional(
    object({
      maxSilenceSeconds: optional(Type.Integer({ minimum: 1, maximum: 31_536_000 })),
      minRows: optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })),
      notifyUrl: optional(NOTIFY_URL),
    }),
  ),
  alerts: optional(ALERTS),
  secret: optional(SECRET),
  inputSchema: optional(jsonObject({ description: "JSON Schema of the input of runs by hand and of calls" })),
};

const SCHEDULE = {
  schedule: object({
    cron: Type.String({ minLength: 1, maxLength: 200 }),
    timezone: optional(Type.String({ minLength: 1, maxLength: 100 })),
    catchUp: optional(oneOf(["none", "last"])),
  }),
};

const EVENT = {
  event: object({
    types: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 100 }),
  }),
};

const HEADER_NAME = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";

/** A path of one or more segments, as it stands in the address. */
const PATH = "^(?!\\.{1,2}(?:/|$))[A-Za-z0-9._~-]+(?:/(?!\\.{1,2}(?:/|$))[A-Za-z0-9._~-]+)*$";

const WEBHOOK = {
  path: Type.String({ minLength: 1, maxLength: 200, pattern: PATH }),
  signaturePreset: optional(oneOf(SIGNATURE_PRESETS)),
  signatureHeader: optional(Type.String({ minLength: 1, maxLength: 100, pattern: HEADER_NAME })),
  signatureAlgorithm: optional(oneOf(SIGNATURE_ALGORITHMS)),
  requireTimestamp: optional(Type.Boolean()),
  auth: optional(SENDER_AUTH),
  allowedIps: optional(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 1000 })),
  debug: optional(Type.Boolean()),
  waitSeconds: optional(Type.Number({ minimum: 0, maximum: 30 })),
  response: optional(
    object({
      status: optional(
        Type.Union([Type.Integer({ minimum: 200, maximum: 599 }), Type.String({ maxLength: 4096 })]),
      ),
      headers: optional(
        Type.Record(Type.String({ minLength: 1, maxLength: 100, pattern: HEADER_NAME }), Type.String()),
      ),
      body: optional(anything()),
    }),
  ),
  retries: optional(
    object({
      enabled: optional(Type.Boolean()),
      maxAttempts: optional(Type.Integer({ minimum: 1, maximum: 50 })),
      backoffSeconds: optional(Type.Array(Type.Number({ minimum: 0, maximum: 604_800 }), { maxItems: 50 })),
    }),
  ),
};

const FORM = {
  path: optional(
    described(
      "The end of the form's address; the automation's slug by default",
      Type.String({ minLength: 1, maxLength: 200, pattern: PATH }),
    ),
  ),
  form: object({
    title: Type.String({ minLength: 1, maxLength: 200 }),
    description: optional(Type.String({ maxLength: 10_000 })),
    schema: jsonObject({ description: "JSON Schema of the answers, which are the payload" }),
    submitLabel: optional(Type.String({ minLength: 1, maxLength: 100 })),
    access: optional(
      oneOf(["signed_in", "public"], { description: "signed_in by default: members of the organization" }),
    ),
  }),
  waitSeconds: WEBHOOK.waitSeconds,
  response: WEBHOOK.response,
  retries: WEBHOOK.retries,
};

/** The shape of a config, by its trigger. */
export const CONFIGS = {
  manual: object(COMMON),
  webhook: object({ ...COMMON, ...WEBHOOK }),
  form: object({ ...COMMON, ...FORM }),
  schedule: object({ ...COMMON, ...SCHEDULE }),
  event: object({ ...COMMON, ...EVENT }),
} as const satisfies Record<TriggerType, unknown>;

/** What the config of each trigger holds. */
export type TriggerConfigs = { [T in TriggerType]: Static<(typeof CONFIGS)[T]> };
