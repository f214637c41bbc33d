/** Klaviyo's rate limit tiers: burst and steady requests. */
export interface Tier {
  burstPerSecond: number;
  steadyPerMinute: number;
}

export const TIERS = {
  XS: { burstPerSecond: 1, steadyPerMinute: 15 },
  S: { burstPerSecond: 3, steadyPerMinute: 60 },
  M: { burstPerSecond: 10, steadyPerMinute: 150 },
  L: { burstPerSecond: 75, steadyPerMinute: 700 },
  XL: { burstPerSecond: 350, steadyPerMinute: 3_500 },
} as const satisfies Record<string, Tier>;

/** A date that a resource can be filtered and sorted by, with a lower and perhaps an upper bound. */
interface DateFilter {
  from: "greater-than" | "greater-or-equal";
  to: "less-than" | null;
}

/** One list of several that a resource consists of. */
interface Part {
  filter: string;
  /** Additional columns of its rows. */
  columns: Readonly<Record<string, string>>;
  /** Whether the account may not have it. */
  isOptional: boolean;
}

export interface Resource {
  name: string;
  /** JSON:API type of its items. */
  type: string;
  scope: string;
  tier: Tier;
  /** Tier for requests with additional fields. */
  additionalTier?: Tier;
  /** Klaviyo's maximum page size; null if it can't be set. */
  pageSize: number | null;
  dates: Readonly<Record<string, DateFilter>>;
  /** The date that never changes, which full reads are sorted by. */
  order: string | null;
  parts?: readonly Part[];
  /** Attributes and their types. */
  attributes: Readonly<Record<string, string>>;
  /** Attributes that are returned only on request. */
  additional?: readonly string[];
  /** To-one relationships, whose ID becomes a column. */
  relations?: readonly string[];
}

const typed = (type: string, names: string): Record<string, string> =>
  Object.fromEntries(names.split(" ").map((name) => [name, type]));
const text = (names: string) => typed("string", names);
const times = (names: string) => typed("datetime", names);

const AFTER: DateFilter = { from: "greater-than", to: null };
const BETWEEN: DateFilter = { from: "greater-than", to: "less-than" };
const FROM: DateFilter = { from: "greater-or-equal", to: "less-than" };

const CAMPAIGN_PARTS: readonly Part[] = ["email", "sms", "mobile_push"].flatMap((channel) =>
  [false, true].map((archived) => ({
    filter: `equals(messages.channel,'${channel}'),equals(archived,${archived})`,
    columns: { channel },
    isOptional: channel !== "email",
  })),
);

export const RESOURCES: readonly Resource[] = [
  {
    name: "profiles",
    type: "profile",
    scope: "profiles:read",
    tier: TIERS.L,
    additionalTier: TIERS.M,
    pageSize: 100,
    dates: { updated: BETWEEN, created: BETWEEN },
    order: "created",
    additional: ["subscriptions", "predictive_analytics"],
    attributes: {
      ...text("email phone_number external_id first_name last_name organization locale title image"),
      ...times("created updated last_event_date"),
      ...typed("object", "location properties subscriptions predictive_analytics"),
    },
  },
  {
    name: "events",
    type: "event",
    scope: "events:read",
    tier: TIERS.XL,
    pageSize: 200,
    dates: { datetime: FROM },
    order: "datetime",
    relations: ["profile", "metric"],
    attributes: {
      ...typed("integer", "timestamp"),
      ...times("datetime"),
      ...text("uuid"),
      ...typed("object", "event_properties"),
    },
  },
  {
    name: "campaigns",
    type: "campaign",
    scope: "campaigns:read",
    tier: TIERS.M,
    pageSize: null,
    dates: { updated_at: FROM, created_at: FROM, scheduled_at: FROM },
    order: "created_at",
    parts: CAMPAIGN_PARTS,
    attributes: {
      ...text("name status"),
      ...typed("boolean", "archived"),
      ...typed("object", "audiences send_options tracking_options send_strategy"),
      ...times("created_at scheduled_at updated_at send_time"),
    },
  },
  {
    name: "flows",
    type: "flow",
    scope: "flows:read",
    tier: TIERS.S,
    pageSize: 50,
    dates: { updated: FROM, created: FROM },
    order: "created",
    attributes: {
      ...text("name status trigger_type"),
      ...typed("boolean", "archived"),
      ...times("created updated"),
    },
  },
  {
    name: "lists",
    type: "list",
    scope: "lists:read",
    tier: TIERS.L,
    pageSize: 10,
    dates: { updated: AFTER, created: AFTER },
    order: "created",
    attributes: { ...text("name opt_in_process"), ...times("created updated") },
  },
  {
    name: "segments",
    type: "segment",
    scope: "segments:read",
    tier: TIERS.L,
    pageSize: 10,
    dates: { updated: AFTER, created: AFTER },
    order: "created",
    attributes: {
      ...text("name"),
      ...typed("object", "definition"),
      ...times("created updated"),
      ...typed("boolean", "is_active is_processing is_starred"),
    },
  },
  {
    name: "metrics",
    type: "metric",
    scope: "metrics:read",
    tier: TIERS.M,
    pageSize: null,
    dates: {},
    order: null,
    attributes: { ...text("name"), ...times("created updated"), ...typed("object", "integration") },
  },
];

/** Columns of a resource's rows, in order, with Klaviyo's type names. */
export const columnsOf = ({ attributes, relations = [], parts = [] }: Resource): Record<string, string> => ({
  id: "string",
  ...attributes,
  ...Object.fromEntries(relations.map((name) => [`${name}_id`, "string"])),
  ...typedOf(parts[0]?.columns ?? {}),
});

const typedOf = (columns: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.keys(columns).map((name) => [name, "string"]));
