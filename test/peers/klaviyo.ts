import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A JSON:API item without its type. */
export interface Item {
  id: string;
  attributes: Record<string, unknown>;
  relationships?: Record<string, unknown>;
  /** For a campaign: the channel of its messages. */
  channel?: string;
}

type Instead = { status: number; headers?: Record<string, string>; body?: string } | "cut" | "silence";

export interface Asked {
  /** Relative to `/api/`. */
  path: string;
  parameters: URLSearchParams;
  headers: IncomingMessage["headers"];
}

/** What each endpoint accepts, from developers.klaviyo.com. */
interface Endpoint {
  type: string;
  scope: string;
  defaultSize: number;
  /** Null if `page[size]` isn't a parameter. */
  maxSize: number | null;
  sorts: string[];
  filters: Record<string, string[]>;
  attributes: string[];
  additional?: string[];
}

const DATES = ["greater-than", "greater-or-equal", "less-than", "less-or-equal"];
const ENDPOINTS: Record<string, Endpoint> = {
  accounts: {
    type: "account",
    scope: "accounts:read",
    defaultSize: 10,
    maxSize: null,
    sorts: [],
    filters: {},
    attributes: ["test_account"],
  },
  profiles: {
    type: "profile",
    scope: "profiles:read",
    defaultSize: 20,
    maxSize: 100,
    sorts: ["created", "email", "id", "updated"],
    filters: { created: ["greater-than", "less-than"], updated: ["greater-than", "less-than"] },
    attributes: [
      "email",
      "phone_number",
      "external_id",
      "first_name",
      "last_name",
      "organization",
      "locale",
      "title",
    ].concat(["image", "created", "updated", "last_event_date", "location", "properties"]),
    additional: ["subscriptions", "predictive_analytics"],
  },
  events: {
    type: "event",
    scope: "events:read",
    defaultSize: 200,
    maxSize: 1000,
    sorts: ["datetime", "timestamp"],
    filters: { datetime: DATES, timestamp: DATES },
    attributes: ["timestamp", "datetime", "uuid", "event_properties"],
  },
  campaigns: {
    type: "campaign",
    scope: "campaigns:read",
    defaultSize: 10,
    maxSize: null,
    sorts: ["created_at", "id", "name", "scheduled_at", "updated_at"],
    filters: {
      created_at: DATES,
      updated_at: DATES,
      scheduled_at: DATES,
      archived: ["equals"],
      "messages.channel": ["equals"],
    },
    attributes: [
      "name",
      "status",
      "archived",
      "audiences",
      "send_options",
      "tracking_options",
      "send_strategy",
    ].concat(["created_at", "scheduled_at", "updated_at", "send_time"]),
  },
  flows: {
    type: "flow",
    scope: "flows:read",
    defaultSize: 50,
    maxSize: 50,
    sorts: ["created", "id", "name", "status", "trigger_type", "updated"],
    filters: { created: DATES, updated: DATES },
    attributes: ["name", "status", "archived", "created", "updated", "trigger_type"],
  },
  lists: {
    type: "list",
    scope: "lists:read",
    defaultSize: 10,
    maxSize: 10,
    sorts: ["created", "id", "name", "updated"],
    filters: { created: ["greater-than"], updated: ["greater-than"] },
    attributes: ["name", "created", "updated", "opt_in_process"],
  },
  segments: {
    type: "segment",
    scope: "segments:read",
    defaultSize: 10,
    maxSize: 10,
    sorts: ["created", "id", "name", "updated"],
    filters: { created: ["greater-than"], updated: ["greater-than"] },
    attributes: ["name", "definition", "created", "updated", "is_active", "is_processing", "is_starred"],
  },
  metrics: {
    type: "metric",
    scope: "metrics:read",
    defaultSize: 20,
    maxSize: null,
    sorts: [],
    filters: {},
    attributes: ["name", "created", "updated", "integration"],
  },
};

class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly source: Record<string, string> = {},
  ) {
    super(detail);
  }
}

/**
 * An account's API over a real socket, written from developers.klaviyo.com:
 * JSON:API documents, opaque cursors in `links.next`, filters and sorts of each endpoint, sparse fields, revisions,
 * scopes, and the two windows of its rate limits. `await using` ends it.
 */
export async function startKlaviyo(options: { apiKey?: string; scopes?: string[] } = {}) {
  const { apiKey = "pk_0123456789abcdef" } = options;
  const state = {
    scopes: options.scopes ?? Object.values(ENDPOINTS).map(({ scope }) => scope),
    revisions: ["2025-07-15", "2025-10-15", "2026-01-15"],
    /** Additional fields that the key may not request. */
    denied: [] as string[],
    /** Attributes that this revision doesn't have. */
    without: [] as string[],
    channels: ["email", "sms", "mobile_push"],
    epoch: 0,
    isRepeating: false,
    nulls: 0,
    /** Requests per minute, for each endpoint. */
    steady: 100_000,
    headers: {} as Record<string, string>,
    instead: (_asked: Asked): Instead | null => null,
    afterPage: (_asked: Asked): void => undefined,
  };
  const store: Record<string, Item[]> = Object.fromEntries(Object.keys(ENDPOINTS).map((name) => [name, []]));
  store.accounts = [{ id: "AbC123", attributes: { test_account: true } }];
  const asked: Asked[] = [];
  const used = new Map<string, number>();

  function document({ path, parameters }: Asked): unknown {
    const endpoint = ENDPOINTS[path];
    if (!endpoint) throw new Refused(404, "not_found", `The path /api/${path} could not be found.`);
    if (!state.scopes.includes(endpoint.scope)) {
      throw new Refused(
        403,
        "permission_denied",
        `You do not have permission to perform this action. Missing required scopes: ${endpoint.scope}`,
      );
    }
    checkParameters(endpoint, parameters);
    const size = Number(parameters.get("page[size]") ?? endpoint.defaultSize);
    const sort = parameters.get("sort") ?? "";
    const conditions = readFilter(endpoint, parameters.get("filter") ?? "");
    if (path === "campaigns") {
      const channel = conditions.find(({ field }) => field === "messages.channel");
      if (!channel) throw invalid("filter", "A channel filter is required to list campaigns.");
      if (!state.channels.includes(channel.value)) {
        throw invalid("filter", `The channel ${channel.value} is not one of this account's.`);
      }
    }
    const key = (item: Item) => `${String(item.attributes[sort] ?? "")} ${item.id}`;
    const matching = (store[path] ?? [])
      .filter((item) => conditions.every((condition) => holds(item, condition)))
      .toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
    let start = 0;
    const cursor = parameters.get("page[cursor]");
    if (cursor !== null) {
      const [epoch, after = ""] = Buffer.from(cursor, "base64url").toString().split(/ (.*)/s);
      if (Number(epoch) !== state.epoch) throw invalid("page[cursor]", "Invalid page cursor.");
      start = matching.filter((item) => key(item) <= after).length - (state.isRepeating ? 1 : 0);
    }
    const items = matching.slice(start, start + size);
    const last = items.at(-1);
    const link = (at: string | null) => {
      const url = new URL(`https://a.klaviyo.com/api/${path}`);
      for (const [name, value] of parameters) url.searchParams.set(name, value);
      if (at !== null) url.searchParams.set("page[cursor]", at);
      return url.href;
    };
    const hasNext = last !== undefined && start + size < matching.length;
    const next = hasNext ? Buffer.from(`${state.epoch} ${key(last)}`).toString("base64url") : null;
    return {
      data: [
        ...Array.from({ length: state.nulls }, () => null),
        ...items.map((item) => shown(endpoint, item, parameters)),
      ],
      links: { self: link(cursor), next: next === null ? null : link(next), prev: null },
    };
  }

  function checkParameters(endpoint: Endpoint, parameters: URLSearchParams): void {
    for (const [name, value] of parameters) {
      const known = [`fields[${endpoint.type}]`, "filter", "sort", "page[cursor]"]
        .concat(endpoint.maxSize === null ? [] : ["page[size]"])
        .concat(endpoint.additional ? [`additional-fields[${endpoint.type}]`] : []);
      if (!known.includes(name)) throw invalid(name, `'${name}' is not a valid parameter.`);
      if (name === "page[size]" && !(Number(value) >= 1 && Number(value) <= (endpoint.maxSize ?? 0))) {
        throw invalid(name, `Page size must be an integer between 1 and ${endpoint.maxSize}.`);
      }
      if (name === "sort" && !endpoint.sorts.includes(value))
        throw invalid(name, `'${value}' is not a sort option.`);
      if (name.startsWith("additional-fields")) {
        if (value.split(",").some((field) => state.denied.includes(field))) {
          throw new Refused(
            403,
            "permission_denied",
            "You do not have permission to read these additional fields.",
          );
        }
      } else if (name.startsWith("fields")) {
        for (const field of value.split(",")) {
          if (!endpoint.attributes.includes(field) || state.without.includes(field)) {
            throw invalid(name, `'${field}' is not a valid field.`);
          }
        }
      }
    }
  }

  const server = createServer((incoming, outgoing) => {
    void handle(incoming, outgoing).catch((error: unknown) => {
      outgoing.writeHead(500).end(String(error));
    });
  });

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse) {
    const url = new URL(incoming.url ?? "/", "http://peer");
    const seen: Asked = {
      path: url.pathname.replace(/^\/api\/|\/$/g, ""),
      parameters: url.searchParams,
      headers: incoming.headers,
    };
    const reply = (status: number, value: unknown, headers: Record<string, string> = {}) => {
      outgoing.writeHead(status, {
        "content-type": "application/vnd.api+json",
        ...state.headers,
        ...headers,
      });
      outgoing.end(JSON.stringify(value));
    };
    try {
      if (incoming.headers.authorization !== `Klaviyo-API-Key ${apiKey}`) {
        throw new Refused(401, "authentication_failed", "Incorrect authentication credentials.");
      }
      const { revision } = incoming.headers;
      if (!state.revisions.includes(String(revision))) {
        throw new Refused(400, "invalid", `'${revision}' is not a valid revision.`, { header: "revision" });
      }
      asked.push(seen);
      const instead = state.instead(seen);
      if (instead === "cut") return void outgoing.destroy();
      if (instead === "silence") return;
      if (instead) {
        outgoing.writeHead(instead.status, {
          "content-type": "application/vnd.api+json",
          ...instead.headers,
        });
        return void outgoing.end(instead.body ?? "{}");
      }
      const count = (used.get(seen.path) ?? 0) + 1;
      if (count > state.steady) {
        return reply(429, errors(429, "throttled", "Request was throttled."), { "retry-after": "1" });
      }
      used.set(seen.path, count);
      const { steady } = state;
      reply(200, document(seen), {
        "ratelimit-limit": String(steady),
        "ratelimit-remaining": String(steady - count),
        "ratelimit-reset": "30",
      });
      state.afterPage(seen);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      reply(error.status, errors(error.status, error.code, error.detail, error.source));
    }
  }

  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    apiKey,
    state,
    store,
    /** Every request with the right key and a revision. */
    asked,
    of: (path: string) => asked.filter((each) => each.path === path),
    /** Starts a new minute. */
    newMinute: () => used.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

export type TestKlaviyo = Awaited<ReturnType<typeof startKlaviyo>>;

const invalid = (parameter: string, detail: string) => new Refused(400, "invalid", detail, { parameter });

const errors = (status: number, code: string, detail: string, source: Record<string, string> = {}) => ({
  errors: [
    { id: crypto.randomUUID(), status, code, title: "Invalid input.", detail, source, links: {}, meta: {} },
  ],
});

function shown({ type, additional = [] }: Endpoint, item: Item, parameters: URLSearchParams): unknown {
  const asked = parameters.get(`fields[${type}]`)?.split(",");
  const extra = parameters.get(`additional-fields[${type}]`)?.split(",") ?? [];
  const attributes = Object.entries(item.attributes).filter(([name]) =>
    additional.includes(name) ? extra.includes(name) : (asked?.includes(name) ?? true),
  );
  return {
    type,
    id: item.id,
    attributes: Object.fromEntries(attributes),
    ...(item.relationships ? { relationships: item.relationships } : {}),
    links: { self: `https://a.klaviyo.com/api/${type}s/${item.id}/` },
  };
}

interface Condition {
  operator: string;
  field: string;
  value: string;
}

/** Parses `operator(field,value)`, or several of them separated by commas or in `and(…)`. */
function readFilter({ filters }: Endpoint, text: string): Condition[] {
  if (text === "") return [];
  const inner = /^and\((.*)\)$/s.exec(text)?.[1] ?? text;
  const conditions = [...inner.matchAll(/([a-z-]+)\(([\w.]+),('[^']*'|[^()',]*)\)/g)].map(
    ([, operator = "", field = "", value = ""]) => ({ operator, field, value: value.replace(/^'|'$/g, "") }),
  );
  const written = conditions.map(({ operator, field }) => `${operator}(${field},`);
  if (conditions.length === 0 || written.some((each) => !inner.includes(each)))
    throw invalid("filter", "Invalid filter.");
  for (const { operator, field } of conditions) {
    if (!filters[field]?.includes(operator))
      throw invalid("filter", `'${field}' can't be filtered by ${operator}.`);
  }
  return conditions;
}

function holds(item: Item, { operator, field, value }: Condition): boolean {
  if (field === "messages.channel") return (item.channel ?? "email") === value;
  if (operator === "equals") return String(item.attributes[field]) === value;
  const mine = Date.parse(String(item.attributes[field]));
  const theirs = Date.parse(value);
  switch (operator) {
    case "greater-than":
      return mine > theirs;
    case "greater-or-equal":
      return mine >= theirs;
    case "less-than":
      return mine < theirs;
    default:
      return mine <= theirs;
  }
}
