import type { Automation, Schema } from "../../calls.ts";

type TriggerType = Automation["triggerType"];

const text = (title: string, description?: string, more: object = {}): Schema => ({
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
const choice = (title: string, values: readonly string[], more: object = {}): Schema => ({
  title,
  enum: values,
  ...more,
});
const group = (title: string, properties: object, required: readonly string[] = [], more: object = {}) => ({
  type: "object",
  title,
  properties,
  required,
  ...more,
});

const COMMON = {
  concurrency: group(
    "Concurrency",
    {
      max: whole("At once", "Runs that go at the same time"),
      policy: choice("Beyond that", ["queue", "skip", "cancel_previous"], { default: "queue" }),
    },
    ["max"],
  ),
  expect: group("Expectation", {
    maxSilenceSeconds: whole("Silence at most", "Seconds since a run last completed"),
    minRows: whole("Rows at least", "That a run makes"),
    notifyUrl: text("Notify", "An address that hears when it counts as stale"),
  }),
};

const WEBHOOK = {
  path: text(
    "Path",
    "The last part of the address that webhooks are sent to. The secret that they are signed with is made, and shown once.",
  ),
  signaturePreset: choice(
    "Sender",
    ["github", "gitlab", "stripe", "shopify", "slack", "telegram", "svix", "standard"],
    {
      description: "A sender with a way of its own, instead of header and algorithm",
    },
  ),
  signatureHeader: text("Signature header", undefined, { default: "X-SVC-Signature" }),
  signatureAlgorithm: choice("Algorithm", ["sha256", "sha1", "sha512"], { default: "sha256" }),
  requireTimestamp: {
    type: "boolean",
    title: "Require a timestamp",
    description: "Refuses a signature without the time of sending, which could be sent again at any time",
    default: true,
  },
  waitSeconds: {
    type: "number",
    title: "Wait",
    description: "Seconds that the sender waits for the outcome",
  },
  debug: { type: "boolean", title: "Keep each body", description: "Also once it is processed" },
  allowedIps: {
    type: "array",
    items: { type: "string" },
    title: "Allowed addresses",
    description: "CIDR ranges; empty for all.",
  },
  retries: group("Retries", {
    enabled: { type: "boolean", title: "On", default: true },
    maxAttempts: whole("Tries at most", "The first one included"),
    backoffSeconds: { type: "array", items: { type: "number" }, title: "Pauses", description: "Seconds." },
  }),
  alerts: group(
    "Alerts",
    {
      failureThreshold: whole("Failures", "So many set it off"),
      failureWindow: whole("Within", "Seconds"),
      notifyUrl: text("Notify", "An address that hears of it"),
    },
    ["failureThreshold", "failureWindow", "notifyUrl"],
  ),
};

const SCHEDULE = {
  schedule: group(
    "Schedule",
    {
      cron: text(
        "Cron",
        "Minute, hour, day of the month, month, day of the week; a sixth field in front is seconds.",
      ),
      timezone: text("Time zone", "An IANA name such as Europe/Berlin", { default: "UTC" }),
      catchUp: choice("Missed while no server ran", ["none", "last"], { default: "none" }),
    },
    ["cron"],
  ),
};

const EVENT = {
  event: group(
    "Event",
    {
      types: {
        type: "array",
        items: { type: "string" },
        title: "Event types",
        description: "action.* stands for all that begin so.",
      },
    },
    ["types"],
  ),
};

const OWN: Readonly<Record<TriggerType, readonly [properties: object, required: readonly string[]]>> = {
  manual: [{}, []],
  webhook: [WEBHOOK, ["path"]],
  schedule: [SCHEDULE, ["schedule"]],
  event: [EVENT, ["event"]],
};

/** Fields that stand folded. */
export const MINOR_SETTINGS = [
  "concurrency",
  "expect",
  "signatureHeader",
  "signatureAlgorithm",
  "requireTimestamp",
  "waitSeconds",
  "debug",
  "allowedIps",
  "retries",
  "alerts",
];

/** What a config holds beside its work, as a form is made from it; the server checks it. */
export function settingsOf(trigger: TriggerType): Schema {
  const [properties, required] = OWN[trigger];
  return group("", { ...properties, ...COMMON }, required);
}

/** What a new automation begins with. */
export function startOf(trigger: TriggerType): Record<string, unknown> {
  if (trigger === "webhook") return { path: "" };
  if (trigger === "event") return { event: { types: ["action.failed"] } };
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return trigger === "schedule" ? { schedule: { cron: "0 7 * * *", timezone } } : {};
}
