import type { TriggerConfigs } from "../../../src/resources/automations/config-shapes.ts";
import type { Automation, Schema } from "../../calls.ts";

type TriggerType = Automation["triggerType"];
/** What a config holds beside its work, and beside what is edited elsewhere. */
type Settings<T extends TriggerType> = Omit<
  TriggerConfigs[T],
  | "action"
  | "steps"
  | "input"
  | "secret"
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

/** A schema for each field of `T`: one that is missing or has another name is an error of types. */
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
  email: text("Email", undefined, { format: "email" }),
  slack: text("Slack", "Address of an incoming webhook of Slack. Its last part is never shown again."),
  url: text("URL", "Gets a POST, signed with the automation's secret"),
};

const ALERTS = {
  type: "object",
  title: "Alerts",
  properties: {
    onFailure: { type: "boolean", title: "On failure", description: "A run failed" },
    onRecovery: {
      type: "boolean",
      title: "On recovery",
      description: "A run completed for the first time since a failure",
    },
    lateAfterSeconds: whole("Late after", "Seconds since a run last completed, or was to start"),
    notify: {
      type: "array",
      title: "Notify",
      description: "One of the fields each. Empty: the person who made the automation.",
      items: { type: "object", properties: NOTIFY },
    },
    failureThreshold: whole(
      "Failures",
      "Of a webhook: so many within the window are told to the address below",
    ),
    failureWindow: whole("Within", "Seconds"),
    notifyUrl: text("Notify URL", "Gets a POST of them"),
  } satisfies Fields<Alerts>,
};

const COMMON: Fields<Common> = {
  concurrency: group<NonNullable<Common["concurrency"]>>(
    "Concurrency",
    {
      max: whole("At once", "Runs that go at the same time"),
      policy: choice<NonNullable<NonNullable<Common["concurrency"]>["policy"]>>(
        "Beyond that",
        { queue: true, skip: true, cancel_previous: true },
        { default: "queue" },
      ),
    },
    { max: true },
  ),
  expect: group<NonNullable<Common["expect"]>>(
    "Expectation",
    {
      maxSilenceSeconds: whole("Silence at most", "Seconds since a run last completed"),
      minRows: whole("Rows at least", "That a run makes"),
      notifyUrl: text("Notify", "An address that hears when it counts as stale"),
    },
    {},
  ),
  alerts: ALERTS,
  inputSchema: {
    type: "object",
    title: "Input",
    description: "A JSON Schema that the input of runs by hand and of calls is checked against",
  },
};

const WEBHOOK: Fields<Webhook> = {
  path: text("Path", "The last part of the address that webhooks are sent to."),
  waitSeconds: {
    type: "number",
    title: "Wait",
    description: "Seconds that the sender waits for the outcome",
  },
  response: group<Webhook["response"]>(
    "Response",
    {
      status: {
        title: "Status",
        description: "200 by default; a template may stand here",
        type: ["integer", "string"],
      },
      headers: { type: "object", title: "Headers", additionalProperties: { type: "string" } },
      body: {
        title: "Body",
        description:
          "What the sender gets when the run has completed in time; templates over payload and steps",
      },
    },
    {},
  ),
  debug: { type: "boolean", title: "Keep each body", description: "Also once it is processed" },
  allowedIps: {
    type: "array",
    items: { type: "string" },
    title: "Allowed addresses",
    description: "CIDR ranges; empty for all.",
  },
  retries: group<Webhook["retries"]>(
    "Retries",
    {
      enabled: { type: "boolean", title: "On", default: true },
      maxAttempts: whole("Tries at most", "The first one included"),
      backoffSeconds: { type: "array", items: { type: "number" }, title: "Pauses", description: "Seconds." },
    },
    {},
  ),
};

const SCHEDULE: Fields<Settings<"schedule">> = {
  schedule: group<Schedule>(
    "Schedule",
    {
      cron: text(
        "Cron",
        "Minute, hour, day of the month, month, day of the week; a sixth field in front is seconds.",
      ),
      timezone: text("Time zone", "An IANA name such as Europe/Berlin", { default: "UTC" }),
      catchUp: choice<NonNullable<Schedule["catchUp"]>>(
        "Missed while no server ran",
        { none: true, last: true },
        { default: "none" },
      ),
    },
    { cron: true },
  ),
};

const EVENT: Fields<Settings<"event">> = {
  event: group<Settings<"event">["event"]>(
    "Event",
    {
      types: {
        type: "array",
        items: { type: "string" },
        title: "Event types",
        description: "action.* stands for all that begin so.",
      },
    },
    { types: true },
  ),
};

const FORM: Fields<Settings<"form">> = {
  form: group<Settings<"form">["form"]>(
    "Form",
    {
      title: text("Title"),
      description: text("Description", "Shown below the title"),
      schema: {
        type: "object",
        title: "Fields",
        description: "JSON Schema of the answers, which are the payload",
      },
      submitLabel: text("Button", "Send by default"),
      access: choice(
        "Who may answer",
        { signed_in: true, public: true },
        { description: "signed_in: members of the organization", default: "signed_in" },
      ),
    },
    { title: true, schema: true },
  ),
  path: text("Path", "The end of the form's address; the automation's slug by default"),
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

/** Fields that stand folded. */
export const MINOR_SETTINGS: readonly (keyof Common | keyof Webhook)[] = [
  "concurrency",
  "expect",
  "waitSeconds",
  "debug",
  "allowedIps",
  "retries",
  "alerts",
];

/** What a config holds beside its work, as a form is made from it; the server checks it. */
export function settingsOf(trigger: TriggerType): Schema {
  const [properties, required] = OWN[trigger];
  return {
    type: "object",
    title: "",
    properties: { ...properties, ...COMMON },
    required: Object.keys(required),
  };
}

const NEW_FORM = {
  type: "object",
  properties: { name: { type: "string", title: "Name" } },
  required: ["name"],
};

/** What a new automation begins with. */
export function startOf(trigger: TriggerType): Record<string, unknown> {
  if (trigger === "webhook") return { path: "" };
  if (trigger === "form") return { form: { title: "", schema: NEW_FORM } };
  if (trigger === "event") return { event: { types: ["action.failed"] } };
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return trigger === "schedule" ? { schedule: { cron: "0 7 * * *", timezone } } : {};
}
