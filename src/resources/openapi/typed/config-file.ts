import type { TSchema } from "@sinclair/typebox";
import { isObject, type JsonObject } from "../../../base/json.ts";
import { ACTION_KINDS } from "../../../executors/contract.ts";
import { HTTP_PROVIDER } from "../../../providers/http-template/http-template.ts";
import { ActionCreate } from "../../actions/wire.ts";
import { API_STATUSES } from "../../api-catalog/table.ts";
import { HttpApiCreate, McpApiCreate } from "../../api-catalog/wire.ts";
import { AutomationCreate } from "../../automations/wire.ts";
import { AgentPart } from "../../bundles/definition.ts";
import { ConnectionCreate } from "../../connections/wire.ts";
import { DashboardCreate } from "../../dashboards/wire.ts";
import { SavedQueryCreate } from "../../queries/wire.ts";
import { TemplateCreate } from "../../templates/wire.ts";
import { NewWebhook } from "../../webhooks/wire.ts";
import { byKind } from "./actions.ts";
import { byTrigger } from "./automations.ts";
import { byProvider, TEMPLATE_CREDENTIALS, TEMPLATE_SETTINGS } from "./connections.ts";
import { type Draw, only, type Typed, variant } from "./draw.ts";
import { byType } from "./templates.ts";

const text = (description: string, example: string): JsonObject => ({
  type: "string",
  minLength: 1,
  description,
  examples: [example],
});
const flag = (description: string): JsonObject => ({
  type: "boolean",
  description,
  default: false,
  examples: [true],
});

const SLUG = text("Unique name in URLs, files and commands", "shop");
const DISABLED = flag("Whether it is switched off");
const CONNECTION = text("Slug of the connection that it works with", "shop");
const TEMPLATE = text("Slug of the template that it was created from", "orders-api");

const TEMPLATE_VERSION: JsonObject = {
  type: "integer",
  minimum: 1,
  description: "Version of the template, where more than one is in use",
  examples: [1],
};

const STATUSES = (values: readonly string[], description: string, fallback: string): JsonObject => ({
  type: "string",
  enum: [...values],
  description,
  default: fallback,
  examples: [fallback],
});

/** An object with these fields, including those of an API shape. */
const object = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: "object",
  additionalProperties: false,
  properties,
  required: [...required],
});

const fieldsOf = ({ plain }: Draw, shape: object): JsonObject =>
  plain(shape as TSchema).properties as JsonObject;

function templates(draw: Draw): JsonObject {
  const { slug: _, ...fields } = fieldsOf(draw, TemplateCreate);
  const status = STATUSES(["draft", "published", "deprecated"], "Where the version is in its life", "draft");
  const whole = object({ slug: SLUG, ...fields, status }, [
    "slug",
    "displayName",
    "templateType",
    "definition",
  ]);
  return { description: "A template of connections, actions or bundles", anyOf: byType(draw, whole) };
}

function connections(draw: Draw): JsonObject {
  const { name, provider, config, credentials, approvalRequired } = fieldsOf(draw, ConnectionCreate);
  const more = {
    disabled: DISABLED,
    default: flag("Whether it is its provider's default"),
    approvalRequired,
  };
  const fields = {
    slug: SLUG,
    name,
    provider,
    template: TEMPLATE,
    templateVersion: TEMPLATE_VERSION,
    ...more,
    config,
    credentials,
  } as JsonObject;
  const whole = object(fields, ["slug", "name", "provider"]);
  const ofTemplate = variant(whole, {
    title: "Of a template",
    description: "A connection to an HTTP API, created from a template.",
    fields: {
      provider: only(HTTP_PROVIDER, "ID of the provider"),
      config: TEMPLATE_SETTINGS,
      credentials: TEMPLATE_CREDENTIALS,
    },
  });
  return {
    description: "A connection to an external system",
    // what the server has can stay unchanged
    oneOf: [...byProvider(draw, whole, ["template", "templateVersion"]).map(withoutCredentials), ofTemplate],
  };
}

const withoutCredentials = ({ required, ...rest }: JsonObject): JsonObject => ({
  ...rest,
  required: Array.isArray(required) ? required.filter((name) => name !== "credentials") : [],
});

function apis(draw: Draw): JsonObject {
  const common = {
    name: text("Unique name", "Orders API"),
    description: text("Purpose", "The shop's orders"),
    status: STATUSES(API_STATUSES, "Whether agents and actions can call the API", "active"),
    connection: CONNECTION,
    approvalRequired: flag("Whether a person has to approve each call"),
  };
  const { baseUrl, authHints, endpoints } = fieldsOf(draw, HttpApiCreate);
  const { url, transport, tools } = fieldsOf(draw, McpApiCreate);
  const ofHttp = { ...common, baseUrl, authHints, endpoints };
  const ofMcp = { ...common, url, transport, tools: withoutFields(tools, ["definitionHash"]) };
  const type = (value: string) => only(value, "HTTP API or MCP server");
  return {
    description: "An API of the API catalog",
    oneOf: [
      {
        title: "HTTP API",
        ...object({ ...ofHttp, type: type("http") } as JsonObject, [
          "name",
          "description",
          "type",
          "baseUrl",
        ]),
      },
      {
        title: "MCP server",
        ...object({ ...ofMcp, type: type("mcp") } as JsonObject, ["name", "description", "type", "url"]),
      },
    ],
  };
}

/** Returns a list of objects, without the fields that files don't have. */
function withoutFields(list: unknown, lacks: readonly string[]): JsonObject {
  if (!isObject(list) || !isObject(list.items)) throw new Error("This isn't the schema of a list.");
  return { ...list, items: variant(list.items, { title: "", fields: {}, lacks }) };
}

const agents = (draw: Draw): JsonObject => ({
  description: "An agent, as Markdown",
  ...object({ slug: SLUG, ...fieldsOf(draw, AgentPart) }, ["slug", "markdown"]),
});

function actions(draw: Draw): JsonObject {
  const { name, kind, tags, definition } = fieldsOf(draw, ActionCreate);
  const links = {
    template: TEMPLATE,
    templateVersion: TEMPLATE_VERSION,
    connection: CONNECTION,
    disabled: DISABLED,
  };
  const whole = object({ slug: SLUG, name, kind, ...links, tags, definition } as JsonObject, [
    "slug",
    "name",
    "kind",
  ]);
  return {
    description: `A reusable unit of work of one of ${ACTION_KINDS.length} kinds`,
    oneOf: byKind(draw, whole, { isDraftAllowed: true }),
  };
}

function automations(draw: Draw): JsonObject {
  const { name, description, triggerType, tags, config } = fieldsOf(draw, AutomationCreate);
  const secret = text(
    "What signs requests of a webhook and notices, or proves the sender; best given as a placeholder",
    `\${ORDERS_SECRET}`,
  );
  const draft = flag("Whether it is a draft: it may be incomplete, and nothing starts it");
  const whole = object(
    {
      slug: SLUG,
      name,
      description,
      triggerType,
      disabled: DISABLED,
      draft,
      tags,
      secret,
      config,
    } as JsonObject,
    ["slug", "name", "config"],
  );
  const unfinished = variant(whole, {
    title: "Draft",
    description: "An automation that may be incomplete.",
    fields: {
      draft: { ...draft, const: true },
      config: { type: "object", description: "Trigger and steps, as far as they are known" },
    },
    needs: ["draft"],
  });
  return {
    description: "A trigger and the steps that it starts",
    anyOf: [...byTrigger(draw, whole), unfinished],
  };
}

function queries(draw: Draw): JsonObject {
  const { slug: _, ...fields } = fieldsOf(draw, SavedQueryCreate);
  return {
    description: "A saved SQL query",
    ...object({ slug: SLUG, ...fields }, ["slug", "name", "sql"]),
  };
}

function dashboards(draw: Draw): JsonObject {
  const { slug: _, fromArtifactId: __, ...fields } = fieldsOf(draw, DashboardCreate);
  return { description: "A page of charts", ...object({ slug: SLUG, ...fields }, ["slug", "name"]) };
}

function webhooks(draw: Draw): JsonObject {
  const { url, events } = fieldsOf(draw, NewWebhook);
  const secret = text("What signs deliveries; made by the server by default", `\${ORDERS_WEBHOOK_SECRET}`);
  return {
    description: "An outgoing webhook: a URL that events are sent to",
    ...object({ url, events, disabled: DISABLED, secret } as JsonObject, ["url", "events"]),
  };
}

const SECTIONS = {
  templates,
  connections,
  apis,
  agents,
  actions,
  automations,
  queries,
  dashboards,
  webhooks,
} as const;

const VALUES: JsonObject = {
  type: ["object", "null"],
  description:
    "Values of `${NAME}` in other files, in a separate file passed with `-f`. They take precedence over environment variables",
  propertyNames: { pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
  additionalProperties: { type: ["string", "number", "boolean"] },
  examples: [{ SHOP_DB_HOST: "db.example.com", SHOP_DB_PORT: 5432 }],
};

/** The file for `weir apply`. Its sections are those of `weir export` (checked by test/rules/schemas.test.ts). */
export const configFile: Typed = {
  draw: (draw) => ({
    title: "Configuration of Weir",
    description: "A file of `weir apply`: configuration of an organization, without secrets",
    type: "object",
    additionalProperties: false,
    required: ["weir"],
    properties: {
      weir: {
        type: "integer",
        const: 1,
        description: "Version of the format",
        examples: [1],
      },
      values: VALUES,
      ...Object.fromEntries(
        Object.entries(SECTIONS).map(([section, draws]) => [
          section,
          {
            type: ["array", "null"],
            description: `The organization's ${section}`,
            items: draws(draw),
          },
        ]),
      ),
    },
  }),
};
