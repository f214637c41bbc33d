import type { TObject, TSchema } from "@sinclair/typebox";
import type { Json, JsonObject } from "../../base/json.ts";
import { isSinglePath, mayChange, readPathOf } from "../../base/single-path.ts";
import { version } from "../../version.ts";
import { scopeOf } from "../access-tokens/scopes.ts";
import { sharedSchemas } from "./components.ts";
import type { Described } from "./described.ts";
import { exampleOf, requestExampleOf } from "./example.ts";
import { meaningOf } from "./meanings.ts";
import { operationIdOf } from "./operation-id.ts";
import { bodies, type ErrorCodes, errorsOf, problems, unchangedOf } from "./replies.ts";
import { type Mode, type Refer, toSchema } from "./schema.ts";

const IN: Mode = { direction: "in" };
const OUT: Mode = { direction: "out" };

const ABOUT = `Weir moves data between systems, transforms it with SQL, and acts on events.

Every call runs in the context of one organization: the one named by \`X-Organization-Id\`, else the token's own, else your default one. \`x-role\` of an operation names the role that it requires at least, or \`operator\` for operators of the installation; \`x-scope\` names the scope that an access token needs. An operation that fails returns a sentence that a person can act on, a stable \`code\`, and the correlation ID that identifies it in the log and in the events. Invalid input is reported field by field. Every reply carries \`X-Correlation-Id\`; one that comes with the request is kept.`;

/**
 * Returns the OpenAPI 3.1 document of the operations below `base`. `codes` are the possible error codes of each status.
 */
export function openApiDocument(operations: readonly Described[], codes: ErrorCodes, base = ""): JsonObject {
  const replies = sharedSchemas({ goesOut: () => true });
  for (const operation of operations) successOf(operation, replies.refer);
  replies.all(); // what they refer to is used in responses too
  const schemas = sharedSchemas({ goesOut: replies.isUsed });
  const paths: Record<string, JsonObject> = {};
  const isRead = (path: string) =>
    isSinglePath(path) &&
    operations.some((each) => each.path === path && each.method === "GET" && each.response);
  for (const operation of operations) {
    const item = paths[operation.path] ?? {};
    const { path, guards } = operation;
    const isMatched = guards !== undefined || (mayChange(operation) && isRead(readPathOf(path)));
    const isTagged = operation.method === "GET" && guards === undefined && isRead(readPathOf(path));
    const described = { ...operation, matches: isMatched, tagged: isTagged };
    paths[operation.path] = { ...item, [operation.method.toLowerCase()]: describe(described, schemas.refer) };
  }
  const tags = [...new Set(operations.map(({ tag }) => tag))].sort();
  return {
    openapi: "3.1.0",
    info: {
      title: "Weir",
      version,
      summary: "Self-hosted automation and data integration",
      description: ABOUT,
      contact: { name: "Operator of this server" },
      license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: base || "/", description: "This server" }],
    tags: tags.map((name) => ({ name, description: TAGS[name] ?? `Operations on ${name.toLowerCase()}.` })),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      schemas: { ...schemas.all(), ...bodies },
      responses: usedIn(paths, problems(codes), "responses"),
      parameters: usedIn(paths, PARAMETERS, "parameters"),
      securitySchemes: CREDENTIALS,
    },
  };
}

function usedIn(paths: JsonObject, components: JsonObject, kind: string): JsonObject {
  const text = JSON.stringify(paths);
  return Object.fromEntries(
    Object.entries(components).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`)),
  );
}

const TAGS: Readonly<Record<string, string>> = {
  "API catalog":
    "HTTP APIs with their endpoints and MCP servers with their tools, for actions and agents to call.",
  "Access tokens": "Personal tokens for scripts and the command line.",
  "Action runs": "Executions of actions: status, logs and results.",
  Actions: "Reusable units of work of one kind each.",
  "API keys": "Keys of the organization for other programs, each with its own role.",
  Artifacts: "Reports, files and large results produced by runs.",
  Automations: "Steps that run on a trigger, in sequence or in parallel.",
  Agents: "Agents that answer questions and call tools, defined in Markdown with YAML front matter.",
  Chat: "A user's conversations with agents. Each turn is an AI SDK stream that can be resumed.",
  Bundles: "Packages of components that are installed together.",
  Connections: "External systems, with write-only credentials.",
  Approvals: "Requests that wait for a person to approve or reject them.",
  Datasets: "Tables of the lake, loaded by extracts, transforms and uploads.",
  Iceberg: "Datasets as Apache Iceberg tables, for other query engines: a read-only REST catalog.",
  Dashboards: "Panels of SQL with filters, shared with the organization or by a link.",
  "Device sign-in": "Sign-in of clients without a browser, such as the command line (RFC 8628).",
  Sync: "Datasets copied from one organization to another.",
  Notices: "Emails and messages about failed runs and pending approvals, and their recipients.",
  MCP: "The organization's tools for external agents, over the Model Context Protocol.",
  Slack: "Slack commands, buttons and mentions, executed as the linked user.",
  "Dead letters": "Deliveries that failed on every attempt, to inspect and replay.",
  Decisions: "Decisions that runs wait for, and their outcomes.",
  Docs: "This document and the API reference page.",
  Events: "The audit log: append-only, with a hash chain.",
  Forms: "Web forms that start an automation.",
  Health: "Health checks and metrics.",
  Invitations: "Links to join the organization.",
  Meta: "Version, limits and available kinds and providers.",
  Organizations: "Tenants, their members and roles.",
  Query: "SQL on the lake, run directly or saved with parameters.",
  Templates: "Versioned definitions of connections, actions and bundles: draft, published or deprecated.",
  Sessions: "A user's signed-in browsers and clients.",
  "Sign-in": "Setup, signing in and signing out.",
  Installation: "Operators' view of all organizations and users.",
  Users: "The current user.",
  "Webhooks in": "Signed requests that start automations, and their deliveries.",
  "Webhooks out": "Subscriptions to events, and their signed deliveries.",
};

function describe(operation: Described, refer: Refer): JsonObject {
  const { summary, description, tag, audience } = operation;
  const scope = scopeOf(operation);
  return {
    operationId: operationIdOf(operation),
    tags: [tag],
    summary,
    description: description ?? `${summary}.`,
    "x-role": audience,
    ...(scope === null ? {} : { "x-scope": scope }),
    security: securityOf(operation),
    parameters: parametersOf(operation),
    ...requestOf(operation, refer),
    responses: {
      ...successOf(operation, refer),
      ...unchangedOf(operation),
      ...errorsOf(operation),
      ...otherRepliesOf(operation, refer),
    },
  };
}

function securityOf({ audience, personal, byPeople }: Described): Json[] {
  if (audience === "public" || audience === "signature") return [];
  return [{ bearer: [] }, ...(personal || byPeople ? [] : [{ apiKey: [] }]), { cookie: [] }];
}

function parametersOf(operation: Described): Json[] {
  const { path, params, query, audience, idempotent } = operation;
  const known = params ? fieldsOf(params) : [];
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]): JsonObject => {
    const field = known.find((each) => each.name === name);
    return parameter(
      {
        name,
        schema: field?.schema ?? { type: "string", description: meaningOf(name) ?? "" },
        required: true,
      },
      "path",
    );
  });
  const queryParameters = query ? fieldsOf(query).map((field) => parameter(field, "query")) : [];
  const isInside = !["public", "signature", "any", "operator"].includes(audience);
  const headers = [
    ...(isInside ? ["OrganizationId"] : []),
    ...(idempotent ? ["IdempotencyKey"] : []),
    ...(operation.matches ? ["IfMatch"] : []),
    ...(operation.tagged ? ["IfNoneMatch"] : []),
    ...(operation.headers ?? []),
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return [...named, ...queryParameters, ...headers];
}

interface Field {
  name: string;
  schema: JsonObject;
  required: boolean;
}

function fieldsOf(shape: TObject): Field[] {
  const { properties, required } = toSchema(shape, IN);
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(properties as Record<string, JsonObject>).map(([name, schema]) => ({
    name,
    schema,
    required: needed.includes(name),
  }));
}

function parameter({ name, schema, required }: Field, where: "path" | "query"): JsonObject {
  const { description, ...rest } = schema;
  return {
    name,
    in: where,
    required,
    ...(description === undefined ? {} : { description }),
    schema: rest,
  };
}

const PARAMETERS: JsonObject = {
  OrganizationId: {
    name: "X-Organization-Id",
    in: "header",
    required: false,
    description:
      "ID or slug of the organization to act in. Default: the token's organization, or your default one.",
    schema: { type: "string" },
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description:
      "For 24 hours, the same key returns the first response again, with `Idempotency-Replayed: true`. With a different body, it returns 409.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
  },
  IfMatch: {
    name: "If-Match",
    in: "header",
    required: false,
    description:
      "The `ETag` of the resource when you read it. If it has changed since, nothing is changed (412).",
    schema: { type: "string" },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    required: false,
    description:
      "The `ETag` of the response that you have. If the response is the same, it is 304, without a body.",
    schema: { type: "string" },
  },
  LastEventId: {
    name: "Last-Event-ID",
    in: "header",
    required: false,
    description: "ID of the last event received. The stream continues after it.",
    schema: { type: "string" },
  },
  UserTimezone: {
    name: "X-User-Timezone",
    in: "header",
    required: false,
    description: "The user's IANA time zone, such as Europe/Zurich.",
    schema: { type: "string" },
  },
};

const CREDENTIALS: JsonObject = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "An access token (`svc_pat_…`), or the session token of a command line (`svc_at_…`).",
  },
  apiKey: { type: "apiKey", in: "header", name: "X-API-Key", description: "An API key (`svc_key_…`)." },
  cookie: { type: "apiKey", in: "cookie", name: "svc_token", description: "A browser session." },
};

/** A form whose fields another system defines. */
const FORM: JsonObject = { type: "object", additionalProperties: { type: "string" } };

function requestOf(
  { body, bodyOptional, oauth, bodyExample, consumes }: Described,
  refer: Refer,
): JsonObject {
  const bodyJson = bodyExample as Json | undefined;
  if (body === undefined) {
    if (consumes === undefined) return {};
    const schema = consumes === "application/x-www-form-urlencoded" ? FORM : {};
    const content = { [consumes]: { schema, ...(bodyJson === undefined ? {} : { example: bodyJson }) } };
    return { requestBody: { required: true, description: "The raw body.", content } };
  }
  const example = bodyJson ?? requestExampleOf(body);
  const content = { schema: toSchema(body, IN, refer), ...(example === undefined ? {} : { example }) };
  return {
    requestBody: {
      required: !bodyOptional,
      description: bodyOptional ? "Optional." : oauth ? "A form, or a JSON object." : "A JSON object.",
      content: {
        ...(oauth ? { "application/x-www-form-urlencoded": content } : {}),
        "application/json": content,
      },
    },
  };
}

function successOf(
  { status = 200, response, produces, alsoProduces = [], example }: Described,
  refer: Refer,
): JsonObject {
  const description = status === 204 ? "Success. No body." : status === 201 ? "Created." : "Success.";
  if (produces !== undefined) {
    return { [status]: { description, content: { [produces]: { schema: { type: "string" } } } } };
  }
  const { content, ...headers } = contentOf(response, example, refer);
  if (alsoProduces.length === 0) return { [status]: { description, ...contentOf(response, example, refer) } };
  const files = Object.fromEntries(alsoProduces.map((type) => [type, { schema: { type: "string" } }]));
  return { [status]: { description, ...headers, content: { ...(content as JsonObject), ...files } } };
}

const otherRepliesOf = ({ replies = {} }: Described, refer: Refer): JsonObject =>
  Object.fromEntries(
    Object.entries(replies).map(([status, { description, body, example }]) => [
      status,
      { description, ...contentOf(body, example, refer) },
    ]),
  );

function contentOf(shape: TSchema | undefined, exampleValue: unknown, refer: Refer): JsonObject {
  if (shape === undefined && exampleValue === undefined) return {};
  const example = (exampleValue as Json | undefined) ?? (shape && exampleOf(shape));
  const schema = shape ? toSchema(shape, OUT, refer) : { type: "object" };
  return { content: { "application/json": { schema, ...(example === undefined ? {} : { example }) } } };
}
