import { type Static, Type } from "@sinclair/typebox";
import { parseCidr } from "../../base/cidr.ts";
import { conditionFault } from "../../base/condition.ts";
import { type Fault, InvalidInput, MAX_FAULTS } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { schemaFaults } from "../../base/json-schema.ts";
import {
  anything,
  described,
  jsonObject,
  named,
  nullable,
  object,
  oneOf,
  optional,
  read,
  uuid,
} from "../../base/shape.ts";
import { expressionFaults, isWholeTemplate, templateFaults } from "../../base/template.ts";
import type { App } from "../../context.ts";
import { SIGNATURE_PRESETS } from "../../crypto/presets.ts";
import { SIGNATURE_ALGORITHMS } from "../../crypto/signature.ts";
import { ACTION_KINDS, type ActionKind } from "../../executors/contract.ts";
import { instantIn, MAX_DELAY_SECONDS } from "../../flows/delay.ts";
import { scheduleFaults } from "../../flows/schedule.ts";
import { definitionFaults, typedFaults } from "../../queue/definition.ts";
import { typesMatching } from "../events/matching.ts";
import { alertFaults } from "./alerts.ts";
import { type AutomationConfig, forEachTemplate, type Step, type TableRows } from "./config.ts";
import { conflictFaults } from "./conflicts.ts";
import { graphFaults } from "./graph.ts";
import { responseFaults } from "./response-faults.ts";
import { SENDER_AUTH } from "./sender.ts";
import { stepReadFaults } from "./step-reads.ts";
import { TRIGGER_TYPES, type TriggerType } from "./table.ts";
import { definitionsIn } from "./wire-definitions.ts";

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
    orderBy: optional(described("SQL", Type.String({ minLength: 1, maxLength: 4096 }))),
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

const CONFIGS = {
  manual: object(COMMON),
  webhook: object({ ...COMMON, ...WEBHOOK }),
  schedule: object({ ...COMMON, ...SCHEDULE }),
  event: object({ ...COMMON, ...EVENT }),
} as const satisfies Record<TriggerType, unknown>;

/** What the config of each trigger holds. */
export type TriggerConfigs = { [T in TriggerType]: Static<(typeof CONFIGS)[T]> };

/**
 * All that is wrong with a config: its shape, the definitions of its steps, and the graph that they form.
 * What has the wrong shape is not looked at further.
 */
export function configFaults(
  app: App,
  trigger: TriggerType,
  config: JsonObject,
  loc: readonly string[],
  before: JsonObject = {},
): Fault[] {
  const { value, faults } = read(CONFIGS[trigger], config, loc);
  const fail = (path: readonly string[], msg: string, type = "value_error") =>
    faults.push({ loc: [...loc, ...path], msg, type });
  const shapeless = faults.map((fault) => fault.loc.slice(loc.length).join("/"));
  const isSound = (...path: string[]) => !shapeless.some((at) => `${at}/`.startsWith(`${path.join("/")}/`));
  const {
    action,
    steps,
    allowedIps = [],
    schedule,
    event,
    inputSchema,
    response,
  } = value as AutomationConfig;

  faults.push(...alertFaults(trigger, config.alerts, [...loc, "alerts"]));
  if (action && steps) fail(["steps"], "Give either action or steps, not both");
  if (!action && !steps) fail(["action"], "Give the work as action or as steps", "missing");
  if (isSound("allowedIps")) {
    allowedIps.forEach((range, index) => {
      if (parseCidr(range) === null)
        fail(["allowedIps", String(index)], "Input should be a CIDR range or an address");
    });
  }
  if (
    ["signaturePreset", "signatureHeader", "expect", "auth", "secret", "alerts"].every((field) =>
      isSound(field),
    )
  )
    faults.push(...conflictFaults(trigger, value as AutomationConfig, loc));
  if (inputSchema && isSound("inputSchema"))
    for (const { path, message, type } of schemaFaults(inputSchema))
      fail(["inputSchema", ...path], message, type);
  if (response && isSound("response"))
    faults.push(...responseFaults(response, steps ?? [], [...loc, "response"]));
  if (schedule && isSound("schedule")) {
    for (const { field, msg } of scheduleFaults(schedule, app.clock.now())) fail(["schedule", field], msg);
  }
  if (event && isSound("event")) faults.push(...eventFaults(event.types, [...loc, "event", "types"]));
  if (action && isSound("action")) faults.push(...workFaults(app, action, [...loc, "action"]));
  const listed = steps && !shapeless.includes("steps") ? steps : [];
  for (const [index, step] of listed.entries()) {
    if (faults.length < MAX_FAULTS && isSound("steps", String(index)))
      faults.push(...stepFaults(app, step, [...loc, "steps", String(index)]));
  }
  if (steps && isSound("steps"))
    faults.push(...graphFaults(steps, [...loc, "steps"]), ...stepReadFaults(app, steps, [...loc, "steps"]));
  for (const { definition, path, earlier } of definitionsIn(config, before))
    faults.push(...typedFaults(definition, [...loc, ...path], earlier));
  return faults;
}

/** What a draft may have: it is not finished. */
const UNFINISHED = [
  "missing",
  "value_error",
  "template_error",
  "condition_error",
  "unknown_step",
  "string_too_short",
  "too_short",
];

/** What is wrong with the config of a draft: values of a wrong type, and secrets that are written out. */
export const draftFaults = (...given: Parameters<typeof configFaults>): Fault[] =>
  configFaults(...given).filter(({ type }) => !UNFINISHED.includes(type));

/** Faults of the config in the raw body of a create, as far as it can be read. */
export function creationFaults(app: App, raw: Json): Fault[] {
  if (!isObject(raw) || !isObject(raw.config)) return [];
  const trigger = TRIGGER_TYPES.find((type) => type === (raw.triggerType ?? "manual"));
  const faultsOf = raw.status === "draft" ? draftFaults : configFaults;
  return trigger ? faultsOf(app, trigger, raw.config, ["body", "config"]) : [];
}

function eventFaults(patterns: readonly string[], loc: readonly string[]): Fault[] {
  return patterns.flatMap((pattern, index) => {
    try {
      typesMatching(pattern, [...loc, String(index)]);
      return [];
    } catch (error) {
      if (error instanceof InvalidInput) return [...error.faults];
      throw error;
    }
  });
}

function stepFaults(app: App, step: Step, loc: readonly string[]): Fault[] {
  const fault = step.when === undefined ? null : conditionFault(step.when);
  const found = fault ? [{ loc: [...loc, "when"], msg: fault, type: "condition_error" }] : [];
  return [...workFaults(app, step, loc), ...found, ...forEachFaults(step, loc), ...delayFaults(step, loc)];
}

function forEachFaults({ forEach, maxParallel }: Step, loc: readonly string[]): Fault[] {
  if (forEach === undefined) {
    const msg = "This is for a step with forEach";
    return maxParallel === undefined ? [] : [{ loc: [...loc, "maxParallel"], msg, type: "value_error" }];
  }
  if (typeof forEach === "object") return tableFaults(forEach, [...loc, "forEach"]);
  const template = forEachTemplate(forEach);
  const isBare = template !== forEach;
  const [fault] = isBare ? expressionFaults(forEach) : templateFaults(template);
  if (!fault && isWholeTemplate(template)) return [];
  const msg = fault?.message ?? "Give one template that stands for a list, such as {{payload.orders}}";
  return [{ loc: [...loc, "forEach"], msg, type: "template_error" }];
}

const tableFaults = (rows: TableRows, loc: readonly string[]): Fault[] =>
  templateFaults(rows as unknown as JsonObject, { sql: [["where"]] }).map(({ path, message }) => ({
    loc: [...loc, ...path],
    msg: message,
    type: "template_error",
  }));

function delayFaults({ delay }: Step, loc: readonly string[]): Fault[] {
  if (delay === undefined) return [];
  const at = [...loc, "delay"];
  const { seconds, until } = delay;
  if ((seconds === undefined) === (until === undefined))
    return [{ loc: at, msg: "Give either seconds or until", type: "value_error" }];
  const faults = templateFaults(delay as JsonObject).map(({ path, message }) => ({
    loc: [...at, ...path],
    msg: message,
    type: "template_error",
  }));
  if (faults.length > 0) return faults;
  if (typeof seconds === "string" && !isWholeTemplate(seconds))
    return [
      {
        loc: [...at, "seconds"],
        msg: "Give a number, or one template that stands for it",
        type: "value_error",
      },
    ];
  if (until !== undefined && !until.includes("{{") && instantIn(until) === null)
    return [
      {
        loc: [...at, "until"],
        msg: "Give a time with its zone, such as 2026-01-31T12:00:00Z",
        type: "value_error",
      },
    ];
  return [];
}

function workFaults(
  app: App,
  work: { actionId?: string; kind?: ActionKind; definition?: JsonObject },
  loc: readonly string[],
): Fault[] {
  if (work.actionId !== undefined) {
    return work.kind === undefined && work.definition === undefined
      ? []
      : [
          {
            loc: [...loc, "actionId"],
            msg: "Give either actionId, or kind and definition",
            type: "value_error",
          },
        ];
  }
  if (work.kind === undefined)
    return [{ loc: [...loc, "kind"], msg: "Give kind and definition, or actionId", type: "missing" }];
  return definitionFaults(app, work.kind, work.definition ?? {}, [...loc, "definition"]);
}
