import type { TriggerConfigs } from "../../../src/resources/automations/config-shapes.ts";
import type { Automation, Schema } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { ownZone } from "../base/formats.ts";

type TriggerType = Automation["triggerType"];
/** Fields of a config, without its steps and those that are edited elsewhere. */
type Settings<T extends TriggerType> = Omit<
  TriggerConfigs[T],
  | "action"
  | "steps"
  | "input"
  | "secret"
  | "pinnedInput"
  | "auth"
  | "signaturePreset"
  | "signatureHeader"
  | "signatureAlgorithm"
  | "requireTimestamp"
  | keyof Common
>;
type Common = Pick<TriggerConfigs["manual"], "concurrency" | "expect" | "alerts" | "inputSchema">;
type Alerts = NonNullable<Common["alerts"]>;
type Schedule = Settings<"schedule">["schedule"];
type Webhook = Required<Settings<"webhook">>;

/** A schema for each field of `T`. A missing or misspelled one is a type error. */
export type Fields<T> = { [K in keyof T]-?: Schema };
type RequiredOf<T> = { [K in keyof T]-?: object extends Pick<T, K> ? never : K }[keyof T];
export type Each<V extends PropertyKey> = Readonly<Record<V, true>>;

export const text = (title: string, description?: string, more: object = {}): Schema => ({
  type: "string",
  title,
  ...(description ? { description } : {}),
  ...more,
});
const whole = (title: string, description: string, more: object = {}): Schema => ({
  type: "integer",
  title,
  description,
  ...more,
});
export const choice = <V extends string>(title: string, values: Each<V>, more: object = {}): Schema => ({
  title,
  enum: Object.keys(values),
  ...more,
});
const group = <T extends object>(title: string, properties: Fields<T>, required: Each<RequiredOf<T>>) => ({
  type: "object",
  title,
  properties,
  required: Object.keys(required),
});

const NOTIFY: Fields<NonNullable<Alerts["notify"]>[number]> = {
  email: text(t("Email"), undefined, { format: "email" }),
  slack: text("Slack", t("URL of a Slack incoming webhook. The last part is write-only.")),
  url: text("URL", t("Receives a POST request signed with the automation's secret")),
};

const ALERTS = {
  type: "object",
  title: t("Alerts"),
  properties: {
    onFailure: { type: "boolean", title: t("On failure"), description: t("Alert when a run fails") },
    onRecovery: {
      type: "boolean",
      title: t("On recovery"),
      description: t("Alert when a run completes after a failure"),
    },
    lateAfterSeconds: whole(
      t("Late after (seconds)"),
      t("Alert if no run completes for this long, or a scheduled run doesn't start"),
    ),
    notify: {
      type: "array",
      title: t("Notify"),
      description: t(
        "Recipients, with one field each. Leave empty to notify the user who created the automation.",
      ),
      items: { type: "object", properties: NOTIFY },
    },
    failureThreshold: whole(
      t("Failures before an alert"),
      t("For webhook triggers: failed deliveries within the window below"),
    ),
    failureWindow: whole(t("Failure window (seconds)"), t("Period in which failures are counted")),
    notifyUrl: text(t("Notify URL"), t("Receives a POST request with the failures")),
  } satisfies Fields<Alerts>,
};

const COMMON: Fields<Common> = {
  concurrency: group<NonNullable<Common["concurrency"]>>(
    t("Concurrency"),
    {
      max: whole(t("Maximum concurrent runs"), t("Runs of this automation at the same time")),
      policy: choice<NonNullable<NonNullable<Common["concurrency"]>["policy"]>>(
        t("When the limit is reached"),
        { queue: true, skip: true, cancel_previous: true },
        { default: "queue" },
      ),
    },
    { max: true },
  ),
  expect: group<NonNullable<Common["expect"]>>(
    t("Freshness checks"),
    {
      maxSilenceSeconds: whole(
        t("Maximum silence (seconds)"),
        t("Alert if no run completes within this time"),
      ),
      minRows: whole(t("Minimum rows per run"), t("Alert if a run writes fewer rows")),
      notifyUrl: text(t("Notify URL"), t("URL to notify when the automation is stale")),
    },
    {},
  ),
  alerts: ALERTS,
  inputSchema: {
    type: "object",
    title: t("Input"),
    description: t("JSON Schema for the input of manual runs and of calls"),
  },
};

const WEBHOOK: Fields<Webhook> = {
  path: text(t("Path"), t("Last part of the webhook URL.")),
  waitSeconds: {
    type: "number",
    title: t("Wait (seconds)"),
    description: t("Seconds to hold the request open for the result"),
  },
  response: group<Webhook["response"]>(
    t("Response"),
    {
      status: {
        title: t("Status"),
        description: t("Status code or template expression. Default: 200."),
        type: ["integer", "string"],
      },
      headers: { type: "object", title: t("Headers"), additionalProperties: { type: "string" } },
      body: {
        title: t("Body"),
        description: t(
          "Returned when the run completes in time. Supports template expressions over payload and steps.",
        ),
      },
    },
    {},
  ),
  debug: { type: "boolean", title: t("Keep payloads after processing"), description: t("For debugging") },
  allowedIps: {
    type: "array",
    items: { type: "string" },
    title: t("Allowed addresses"),
    description: t("CIDR ranges. Leave empty to allow all."),
  },
  retries: group<Webhook["retries"]>(
    t("Retries"),
    {
      enabled: { type: "boolean", title: t("On"), default: true },
      maxAttempts: whole(t("Maximum attempts"), t("Including the first attempt")),
      backoffSeconds: {
        type: "array",
        items: { type: "number" },
        title: t("Backoff"),
        description: t("Seconds between attempts"),
      },
    },
    {},
  ),
};

const SCHEDULE: Fields<Settings<"schedule">> = {
  schedule: group<Schedule>(
    t("Schedule"),
    {
      cron: text(
        t("Cron"),
        t("Minute, hour, day of month, month, day of week. An optional field in front sets seconds."),
      ),
      timezone: text(t("Time zone"), t("IANA name, such as Europe/Berlin"), { default: "UTC" }),
      catchUp: choice<NonNullable<Schedule["catchUp"]>>(
        t("Missed runs"),
        { none: true, last: true },
        { default: "none" },
      ),
    },
    { cron: true },
  ),
};

const EVENT: Fields<Settings<"event">> = {
  event: group<Settings<"event">["event"]>(
    t("Event"),
    {
      types: {
        type: "array",
        items: { type: "string" },
        title: t("Event types"),
        description: t("Use a wildcard such as action.* to match several types."),
      },
    },
    { types: true },
  ),
};

const FORM: Fields<Settings<"form">> = {
  form: group<Settings<"form">["form"]>(
    t("Form"),
    {
      title: text(t("Title")),
      description: text(t("Description"), t("Shown below the title")),
      schema: {
        type: "object",
        title: t("Fields"),
        description: t("JSON Schema of the answers. The answers become the payload."),
      },
      submitLabel: text(t("Button"), t("Label of the submit button. Default: Send.")),
      access: choice(
        t("Access"),
        { signed_in: true, public: true },
        {
          description: t("signed_in: members of the organization. public: anyone with the link."),
          default: "signed_in",
        },
      ),
    },
    { title: true, schema: true },
  ),
  path: text(t("Path"), t("Last part of the form's URL. Default: the automation's slug.")),
  waitSeconds: WEBHOOK.waitSeconds,
  response: WEBHOOK.response,
  retries: WEBHOOK.retries,
};

const OWN: {
  [T in TriggerType]: readonly [properties: Fields<Settings<T>>, required: Each<RequiredOf<Settings<T>>>];
} = {
  manual: [{}, {}],
  webhook: [WEBHOOK, { path: true }],
  form: [FORM, { form: true }],
  schedule: [SCHEDULE, { schedule: true }],
  event: [EVENT, { event: true }],
};

/** Fields that are collapsed at first. */
export const MINOR_SETTINGS: readonly (keyof Common | keyof Webhook)[] = [
  "concurrency",
  "expect",
  "waitSeconds",
  "debug",
  "allowedIps",
  "retries",
];

/** Alerts can contain secret URLs, which drafts can't store, so they are edited with the automation itself. */
export const ALERT_SETTINGS: Schema = { type: "object", title: "", properties: { alerts: ALERTS } };

/** Schema of a config's form, without steps and alerts. The server validates it. */
export function settingsOf(trigger: TriggerType): Schema {
  const [properties, required] = OWN[trigger];
  const { alerts: _, ...common } = COMMON;
  return {
    type: "object",
    title: "",
    properties: { ...properties, ...common },
    required: Object.keys(required),
  };
}

const NEW_FORM = {
  type: "object",
  properties: { name: { type: "string", title: t("Name") } },
  required: ["name"],
};

/** Default config of a new automation. */
export function startOf(trigger: TriggerType): Record<string, unknown> {
  if (trigger === "webhook") return { path: "" };
  if (trigger === "form") return { form: { title: "", schema: NEW_FORM } };
  if (trigger === "event") return { event: { types: ["action.failed"] } };
  const timezone = ownZone();
  return trigger === "schedule" ? { schedule: { cron: "0 7 * * *", timezone } } : {};
}
