import { systemClock } from "../../base/clock.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { toPanels } from "../../resources/dashboards/panels.ts";
import type { PanelInput } from "../../resources/dashboards/wire.ts";
import type { Noun } from "./text.ts";

type FieldType = "text" | "flag" | "number" | "object" | "list";

interface Field {
  type: FieldType;
  /** Default of an omitted field. A field without one is required. */
  fallback?: Json;
  /** True if it can't be changed after creation. */
  isFixed?: boolean;
  /** Noun whose slug the field contains. */
  names?: Noun;
}

/** A kind of resource in configuration files. */
export interface Kind {
  noun: Noun;
  /** Its section in a file. */
  section: string;
  /** The field that identifies resources. */
  key: "slug" | "name" | "url";
  /** In the order in which an export writes them, after the key. */
  fields: Readonly<Record<string, Field>>;
}

const text = (more: Partial<Field> = {}): Field => ({ type: "text", ...more });
const optional = (more: Partial<Field> = {}): Field => ({ type: "text", fallback: null, ...more });
const flag: Field = { type: "flag", fallback: false };
const settings: Field = { type: "object", fallback: {} };
const number: Field = { type: "number", fallback: null };
const list: Field = { type: "list", fallback: [] };
const fixed = { isFixed: true };

/** In the order of creation: each depends only on those before it. */
export const KINDS: readonly Kind[] = [
  {
    noun: "template",
    section: "templates",
    key: "slug",
    fields: {
      version: number,
      displayName: text(),
      templateType: text(fixed),
      kind: optional(fixed),
      status: text({ fallback: "draft" }),
      description: optional(),
      iconUrl: optional(),
      inputJsonSchema: settings,
      inputDefaults: settings,
      definition: { type: "object" },
    },
  },
  {
    noun: "connection",
    section: "connections",
    key: "slug",
    fields: {
      name: text(),
      provider: text(fixed),
      template: optional({ ...fixed, names: "template" }),
      templateVersion: { ...number, ...fixed },
      disabled: flag,
      default: flag,
      approvalRequired: text({ fallback: "none" }),
      config: settings,
      credentials: settings,
    },
  },
  {
    noun: "api",
    section: "apis",
    key: "name",
    fields: {
      type: text(fixed),
      description: text(),
      status: text({ fallback: "active" }),
      baseUrl: optional(fixed),
      url: optional(fixed),
      transport: optional(fixed),
      connection: optional({ names: "connection" }),
      approvalRequired: flag,
      authHints: { type: "list", fallback: null },
      endpoints: list,
      tools: list,
    },
  },
  { noun: "agent", section: "agents", key: "slug", fields: { markdown: text() } },
  {
    noun: "action",
    section: "actions",
    key: "slug",
    fields: {
      name: text(),
      kind: text(fixed),
      template: optional({ ...fixed, names: "template" }),
      templateVersion: { ...number, ...fixed },
      connection: optional({ names: "connection" }),
      disabled: flag,
      tags: list,
      definition: settings,
    },
  },
  {
    noun: "automation",
    section: "automations",
    key: "slug",
    fields: {
      name: text(),
      description: optional(),
      triggerType: text({ ...fixed, fallback: "manual" }),
      disabled: flag,
      draft: flag,
      tags: list,
      secret: optional(),
      config: { type: "object" },
    },
  },
  {
    noun: "query",
    section: "queries",
    key: "slug",
    fields: {
      name: text(),
      description: optional(),
      sql: text(),
      parameters: settings,
      chart: { type: "object", fallback: null },
    },
  },
  {
    noun: "dashboard",
    section: "dashboards",
    key: "slug",
    fields: {
      name: text(),
      description: optional(),
      filters: list,
      panels: list,
      refreshSeconds: number,
      sharing: text({ fallback: "organization" }),
      shareExpiresAt: optional(),
    },
  },
  {
    noun: "webhook",
    section: "webhooks",
    key: "url",
    fields: { events: { type: "list" }, disabled: flag, secret: optional() },
  },
];

export const kindOf = (noun: Noun): Kind => KINDS.find((kind) => kind.noun === noun) as Kind;

/** Fields that the API never shows. An export writes placeholders for them, and a plan can't compare them. */
export const UNSEEN: ReadonlySet<string> = new Set(["credentials", "secret"]);

/** Default values of fields of an API's endpoint or tool. */
const ITEM_FALLBACKS: JsonObject = {
  title: null,
  description: null,
  headers: {},
  queryTemplate: {},
  bodyTemplate: null,
  inputSchema: null,
  outputSchema: null,
  annotations: null,
  responseExtract: null,
  source: null,
  unverified: false,
  enabled: true,
  approvalRequired: false,
  trusted: false,
  listing: null,
};
const ITEM_FIELDS = {
  endpoints: [
    "name",
    "method",
    "path",
    "description",
    "headers",
    "queryTemplate",
    "bodyTemplate",
    "inputSchema",
    "responseExtract",
    "source",
    "unverified",
    "listing",
    "enabled",
    "approvalRequired",
  ],
  tools: [
    "upstreamName",
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "enabled",
    "approvalRequired",
    "trusted",
  ],
} as const;

export const itemFields = (field: string): readonly string[] | null =>
  field === "endpoints" || field === "tools" ? ITEM_FIELDS[field] : null;

/** All fields of a resource. Omitted and null ones have their default. */
export function completed(kind: Kind, fields: JsonObject): JsonObject {
  const isServer = kind.noun === "api" && fields.type === "mcp";
  const body = isServer ? { ...fields, transport: fields.transport ?? "http" } : withLink(fields);
  return Object.fromEntries(
    Object.entries(kind.fields).map(([name, { fallback }]) => [
      name,
      completedItems(name, body[name] ?? fallback ?? null),
    ]),
  );
}

/** Writes the expiry of a public link as the server does. A link that expired counts as none. */
function withLink(fields: JsonObject): JsonObject {
  const { sharing, shareExpiresAt } = fields;
  const time = sharing === "link" && typeof shareExpiresAt === "string" ? Date.parse(shareExpiresAt) : NaN;
  if (Number.isNaN(time)) return fields;
  if (time <= systemClock.now().getTime()) return { ...fields, sharing: null, shareExpiresAt: null };
  return { ...fields, shareExpiresAt: new Date(time).toISOString() };
}

/** Omits null defaults of parameters. */
const declared = (parameters: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, one]) => {
      if (!isObject(one) || (one.default ?? null) !== null) return [name, one];
      const { default: _, ...rest } = one;
      return [name, rest];
    }),
  );

const EMPTY_MAPS = ["parameters", "clickFilters"];

/** Filters and panels without fields that have their default value. */
const stripped = (item: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(item).filter(
      ([name, value]) =>
        value !== null &&
        !(EMPTY_MAPS.includes(name) && isObject(value) && Object.keys(value).length === 0) &&
        !(name === "label" && value === item.key),
    ),
  );

/** Panels with the places that the server gives them. */
function placed(panels: JsonObject[]): JsonObject[] {
  const isPlace = (value: Json | undefined) => value === undefined || typeof value === "number";
  const all = panels.map(stripped);
  if (!all.every(({ x, y, width, height }) => [x, y, width, height].every(isPlace))) return all;
  const whole = toPanels(all as unknown as PanelInput[]);
  return all.map((panel, at) => stripped({ ...panel, ...(whole[at] as unknown as JsonObject) }));
}

function completedItems(field: string, value: Json): Json {
  if (Array.isArray(value) && value.every(isObject)) {
    if (field === "panels") return placed(value);
    if (field === "filters") return value.map(stripped);
  }
  if (field === "tags" && Array.isArray(value)) return [...new Set(value)];
  if (field === "parameters" && isObject(value)) return declared(value);
  const fields = itemFields(field);
  if (fields === null || !Array.isArray(value)) return value;
  return value.map((item) =>
    isObject(item)
      ? Object.fromEntries(
          fields.map((name) => [
            name,
            item[name] ?? ITEM_FALLBACKS[name] ?? (name === "name" ? (item.upstreamName ?? null) : null),
          ]),
        )
      : item,
  );
}

/** A resource as an export writes it, without fields that have their default value. */
export function shortened(kind: Kind, body: JsonObject): JsonObject {
  const isSame = (one: Json | undefined, other: Json | undefined) =>
    JSON.stringify(one) === JSON.stringify(other);
  return Object.fromEntries(
    Object.entries(kind.fields).flatMap(([name, { fallback }]) => {
      const value = body[name] ?? null;
      if (value === null || (fallback !== undefined && isSame(value, fallback))) return [];
      if (itemFields(name) === null || !Array.isArray(value)) return [[name, value]];
      const items = value.map((item) =>
        Object.fromEntries(
          Object.entries(item as JsonObject).filter(
            ([field, one]) => !isSame(one, ITEM_FALLBACKS[field]) && one !== null,
          ),
        ),
      );
      return [[name, items]];
    }),
  );
}
