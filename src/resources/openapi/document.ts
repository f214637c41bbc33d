import type { TObject, TSchema } from "@sinclair/typebox";
import type { Json, JsonObject } from "../../base/json.ts";
import { version } from "../../version.ts";
import { scopeOf } from "../access-tokens/scopes.ts";
import { sharedSchemas } from "./components.ts";
import type { Described } from "./described.ts";
import { exampleOf, requestExampleOf } from "./example.ts";
import { operationIdOf } from "./operation-id.ts";
import { bodies, type ErrorCodes, errorsOf, mayMatch, problems } from "./replies.ts";
import { type Refer, toSchema } from "./schema.ts";

const ABOUT = `Weir moves data between systems, transforms it with SQL, and acts on events.

Every call runs in the context of one organization: the one named by \`X-Organization-Id\`, else the token's own, else your default one. \`x-role\` of an operation names the least role that it takes, or \`operator\` for those who stand above organizations; \`x-scope\` names the scope that an access token needs. An operation that fails answers with a sentence that a person can act on, a stable \`code\`, and the correlation id that leads to it in the log and in the events; input that does not fit is told field by field. Every reply carries \`X-Correlation-Id\`; one that comes with the request is kept.`;

/** The OpenAPI 3.1 document of the operations below `base`; `codes` are those that an error of each status may have. */
export function openApiDocument(operations: readonly Described[], codes: ErrorCodes, base = ""): JsonObject {
  const replies = sharedSchemas(() => true);
  for (const operation of operations) successOf(operation, replies.refer);
  replies.all(); // what they refer to themselves goes out too
  const schemas = sharedSchemas(replies.isUsed);
  const paths: Record<string, JsonObject> = {};
  for (const operation of operations) {
    const item = paths[operation.path] ?? {};
    paths[operation.path] = { ...item, [operation.method.toLowerCase()]: describe(operation, schemas.refer) };
  }
  const tags = [...new Set(operations.map(({ tag }) => tag))].sort();
  return {
    openapi: "3.1.0",
    info: {
      title: "Weir",
      version,
      summary: "Automation and data integration in one file",
      description: ABOUT,
      license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: base || "/", description: "This Weir" }],
    tags: tags.map((name) => ({ name, description: TAGS[name] ?? `All about ${name.toLowerCase()}.` })),
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
  "Action runs": "What became of each execution of an action.",
  Actions: "Units of work of one kind each, which can be run.",
  "API keys": "Keys for other programs, with a role of their own.",
  Artifacts: "What runs leave behind: JSON, text and files.",
  Automations: "Actions that run when something happens, one after the other or side by side.",
  Agents: "Agents that answer and call tools: Markdown with YAML front matter, and the system prompt.",
  Chat: "A person's conversations with agents; each turn is a stream of the AI SDK, and can be taken up again.",
  Bundles: "Packages of components that are installed together, or not at all.",
  Connections: "Links to other systems, with credentials that can be written and never read.",
  Approvals: "What waits for a yes or a no of people, with its automation.",
  Datasets: "Tables of the lake, which extracts and transforms fill.",
  "Device sign-in": "Letting in a client that has no browser, such as the command line (RFC 8628).",
  Sync: "Datasets copied from one organization to another.",
  Notices: "Mails and messages about runs that fail and approvals that wait, and who gets them.",
  MCP: "The organization's tools for agents outside of Weir, by the Model Context Protocol.",
  Slack: "Commands, buttons and mentions of Slack, done as the person behind them.",
  "Dead letters": "Deliveries that failed for good, to be looked at and tried again.",
  Decisions: "What people are asked by runs that wait, and what they said.",
  Docs: "This document and the page that shows it.",
  Events: "The audit trail: append-only, and chained by hashes.",
  Forms: "Pages that people fill in to start an automation.",
  Health: "Whether Weir works, and how much.",
  Invitations: "Links that let people into the organization.",
  Meta: "What this version has and can do.",
  Organizations: "Who works together, and with which role.",
  Query: "SQL over the lake, at once or saved with parameters.",
  Templates: "Patterns of connections, actions and bundles, in versions: draft, published, deprecated.",
  Sessions: "Where somebody is signed in.",
  "Sign-in": "Setting up, signing in and out.",
  Installation: "What operators do, above all organizations.",
  Users: "The person who is asking.",
  "Webhooks in": "Signed requests that set automations off, and what became of them.",
  "Webhooks out": "Where events are sent to, signed, and what became of each.",
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
  const { path, params, query, audience, idempotent, produces } = operation;
  const known = params ? fieldsOf(params) : [];
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]): JsonObject => {
    const field = known.find((each) => each.name === name);
    return parameter({ name, schema: field?.schema ?? { type: "string" }, required: true }, "path");
  });
  const asked = query ? fieldsOf(query).map((field) => parameter(field, "query")) : [];
  const isInside = !["public", "signature", "any", "operator"].includes(audience);
  const headers = [
    ...(isInside ? ["OrganizationId"] : []),
    ...(idempotent ? ["IdempotencyKey"] : []),
    ...(mayMatch(operation) ? ["IfMatch"] : []),
    ...(produces === "text/event-stream" && path.endsWith("/stream") ? ["LastEventId"] : []),
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return [...named, ...asked, ...headers];
}

interface Field {
  name: string;
  schema: JsonObject;
  required: boolean;
}

function fieldsOf(shape: TObject): Field[] {
  const { properties, required } = toSchema(shape, "in");
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
    description: description ?? MEANINGS[name] ?? meaningOf(name),
    schema: rest,
  };
}

/** `action_id` and `actorType` in words. */
function meaningOf(name: string): string {
  const words = name.replace(/_/g, " ").replace(/([a-z])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);
  return words.endsWith(" id") ? `Id of the ${words.slice(0, -3)}.` : `The ${words}.`;
}

/** What parameters of these names mean wherever they stand. */
const MEANINGS: Readonly<Record<string, string>> = {
  limit: "How many items one page has at most.",
  offset: "How many items to leave out at the beginning.",
  cursor: "`nextCursor` of the page before; good for 24 hours, and for the same filters.",
  q: "A text to look for, in any case.",
  order: "Upwards or downwards.",
  sort_by: "What the items are sorted by.",
  layer: "The layer of the lake.",
  org_id: "Id or slug of the organization.",
  path: "The path, as the place that it leads to has it.",
};

const PARAMETERS: JsonObject = {
  OrganizationId: {
    name: "X-Organization-Id",
    in: "header",
    required: false,
    description: "Id or slug of the organization to act in; absent: the token's own, else your default one.",
    schema: { type: "string" },
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description:
      "For 24 hours the same key gives the first reply again, with `Idempotency-Replayed: true`; with another body it is 409.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
  },
  IfMatch: {
    name: "If-Match",
    in: "header",
    required: false,
    description: "The `ETag` of the thing as it was read: where it has changed since, nothing is done (412).",
    schema: { type: "string" },
  },
  LastEventId: {
    name: "Last-Event-ID",
    in: "header",
    required: false,
    description: "Id of the last event that the client has; the stream goes on after it.",
    schema: { type: "string" },
  },
};

const CREDENTIALS: JsonObject = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description:
      "A personal access token (`svc_pat_…`) or the token of a command line's session (`svc_at_…`).",
  },
  apiKey: { type: "apiKey", in: "header", name: "X-API-Key", description: "An API key (`svc_key_…`)." },
  cookie: { type: "apiKey", in: "cookie", name: "svc_token", description: "The session of a browser." },
};

function requestOf(
  { body, bodyOptional, oauth, bodyExample, consumes }: Described,
  refer: Refer,
): JsonObject {
  const given = bodyExample as Json | undefined;
  if (body === undefined) {
    if (consumes === undefined) return {};
    const content = { [consumes]: { schema: {}, ...(given === undefined ? {} : { example: given }) } };
    return { requestBody: { required: true, description: "The body as it is.", content } };
  }
  const example = given ?? requestExampleOf(body);
  const content = { schema: toSchema(body, "in", refer), ...(example === undefined ? {} : { example }) };
  return {
    requestBody: {
      required: !bodyOptional,
      description: bodyOptional
        ? "May be left out altogether."
        : oauth
          ? "A form, or a JSON object."
          : "A JSON object.",
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
  const description =
    status === 204 ? "Done; there is no body." : status === 201 ? "It was made." : "What was asked for.";
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

function contentOf(shape: TSchema | undefined, given: unknown, refer: Refer): JsonObject {
  if (shape === undefined && given === undefined) return {};
  const example = (given as Json | undefined) ?? (shape && exampleOf(shape));
  const schema = shape ? toSchema(shape, "out", refer) : { type: "object" };
  return { content: { "application/json": { schema, ...(example === undefined ? {} : { example }) } } };
}
