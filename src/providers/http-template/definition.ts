import { type Static, Type } from "@sinclair/typebox";
import { headerFault } from "../../base/http-message.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { schemaFaults } from "../../base/json-schema.ts";
import { described, jsonObject, jsonSchema, map, object, oneOf, optional } from "../../base/shape.ts";
import { pathsOf, readPieces, type Template } from "../../base/template-grammar.ts";
import { RESERVED } from "../../oauth/contract.ts";
import { resourcesFaults, TemplateResource, templatesOf } from "./resources.ts";

const TYPE = "Authentication method";

const text = (description: string, options = {}) =>
  Type.String({ minLength: 1, maxLength: 4096, description, ...options });
const method = ["GET", "HEAD", "POST"] as const;
const status = () => Type.Integer({ minimum: 100, maximum: 599 });
const token = /^[\w!#$%&'*+.^`|~-]+$/;

const CLIENT_AUTH = ["basic", "body"] as const;
const scope = Type.String({ minLength: 1, maxLength: 500, pattern: "^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$" });

const Auth = Type.Union([
  object({ type: Type.Literal("none", { description: TYPE }) }),
  object({
    type: Type.Literal("bearer", { description: TYPE }),
    token: optional(text("Bearer token", { "x-default": "{{credentials.token}}" })),
  }),
  object({
    type: Type.Literal("basic", { description: TYPE }),
    username: optional(text("User name", { "x-default": "{{credentials.username}}" })),
    password: optional(text("Password", { "x-default": "{{credentials.password}}" })),
  }),
  object({
    type: Type.Literal("header", { description: TYPE }),
    name: optional(text("Name of the header", { "x-default": "X-API-Key" })),
    value: optional(text("The key", { "x-default": "{{credentials.apiKey}}" })),
  }),
  object({
    type: Type.Literal("query", { description: TYPE }),
    name: optional(text("Name of the parameter", { "x-default": "api_key" })),
    value: optional(text("The key", { "x-default": "{{credentials.apiKey}}" })),
  }),
  object({
    type: Type.Literal("path", { description: TYPE }),
    prefix: optional(
      Type.String({
        pattern: "^[A-Za-z0-9._~-]*$",
        maxLength: 100,
        description: "Text before the value in the path segment",
        examples: ["bot"],
      }),
    ),
    value: optional(text("Path segment after the base URL", { "x-default": "{{credentials.token}}" })),
  }),
  object({
    type: Type.Literal("oauth2_client_credentials", { description: TYPE }),
    tokenUrl: text("URL of the token endpoint (http or https). Can contain {{config.x}}", {
      examples: ["https://example.com/oauth/token"],
    }),
    clientId: optional(text("Client ID", { "x-default": "{{credentials.clientId}}" })),
    clientSecret: optional(text("Client secret", { "x-default": "{{credentials.clientSecret}}" })),
    scope: optional(text("Scopes, separated by spaces", { examples: ["orders.read"] })),
    audience: optional(text("Audience, which some servers require")),
    clientAuth: optional(
      oneOf(CLIENT_AUTH, {
        description: "How the client authenticates at tokenUrl: basic authentication, or in the body",
        "x-default": "basic",
      }),
    ),
  }),
  object({
    type: Type.Literal("oauth2_authorization_code", { description: TYPE }),
    authorizeUrl: text("URL where the user signs in (http or https). Can contain {{config.x}}"),
    tokenUrl: text("URL of the token endpoint (http or https). Can contain {{config.x}}", {
      examples: ["https://example.com/oauth/token"],
    }),
    clientId: optional(text("Client ID", { "x-default": "{{credentials.clientId}}" })),
    clientSecret: optional(
      text("Client secret. Public clients have none", { "x-default": "{{credentials.clientSecret}}" }),
    ),
    scopes: optional(Type.Array(scope, { maxItems: 100, description: "Scopes to request" })),
    pkce: optional(Type.Boolean({ description: "Whether to use PKCE", "x-default": true })),
    extraParams: optional(
      Type.Record(Type.String(), text("Value of the parameter. Can contain {{config.x}}"), {
        description: "Additional parameters of authorizeUrl",
      }),
    ),
    tokenAuth: optional(
      oneOf(CLIENT_AUTH, {
        description: "How the client authenticates at tokenUrl: basic authentication, or in the body",
        "x-default": "basic",
      }),
    ),
  }),
]);

/** Maximum number of resources of a template. */
export const MAX_RESOURCES = 200;

/**
 * HTTP API of a connection template (docs/decisions/connections.md). All strings may contain `{{config.x}}`, those of
 * `auth` also `{{credentials.x}}`, except in addresses and names.
 */
export const HttpTemplate = object({
  http: object(
    {
      baseUrl: text("Base URL (http or https). Paths are appended to it", {
        examples: ["https://api.example.com/v1", "{{config.baseUrl}}"],
      }),
      auth: described("How requests authenticate", Auth),
      verify: optional(
        object(
          {
            method: optional(oneOf(method, { description: "HTTP method", "x-default": "GET" })),
            path: optional(
              text("Path below baseUrl. A {{config.x}} within it is one segment or one query value", {
                "x-default": "/",
              }),
            ),
            body: optional(jsonObject({ description: "JSON body of a POST. The request must only read" })),
            expectStatus: optional(
              Type.Union([status(), Type.Array(status(), { minItems: 1, maxItems: 100 })], {
                description: "Status codes that count as success. Default: 2xx",
              }),
            ),
          },
          { description: "The request that verifies a connection" },
        ),
      ),
      headers: optional(
        described(
          "Headers of every request",
          map(text("Value of the header. Can contain {{config.x}}, but no credentials")),
        ),
      ),
      requestsPerMinute: optional(
        Type.Number({
          exclusiveMinimum: 0,
          maximum: 60_000,
          description: "Maximum number of requests per minute of a connection, across all of its runs",
        }),
      ),
      resources: optional(
        Type.Array(TemplateResource, {
          maxItems: MAX_RESOURCES,
          description: "Lists of the API, which extracts can name in their spec",
        }),
      ),
    },
    { description: "The API and how requests authenticate" },
  ),
  configSchema: optional(jsonSchema({ description: "JSON Schema of the connection's config" })),
  credentialsSchema: optional(
    jsonSchema({
      description:
        "JSON Schema of the connection's credentials, which are strings. Default: those that auth uses",
    }),
  ),
});
export type HttpTemplate = Static<typeof HttpTemplate>;
export type HttpAuth = HttpTemplate["http"]["auth"];

interface PathFault {
  path: string[];
  message: string;
}

/** The variables in a string's template expressions. */
export function readsIn(value: string): Template[] {
  return readPieces(value).flatMap((piece) => {
    if (typeof piece === "string") return [];
    return piece.expression === undefined
      ? pathsOf(piece).map(() => piece)
      : pathsOf(piece).map((path) => ({ ...piece, path }));
  });
}

const keysOf = (schema: JsonObject | undefined): string[] | null =>
  isObject(schema?.properties) ? Object.keys(schema.properties) : null;

/** The strings of a definition that may contain templates, each with its path and the allowed variables. */
function textsOf(definition: HttpTemplate): { path: string[]; value: string; names: readonly string[] }[] {
  const { http } = definition;
  const found: { path: string[]; value: string; names: readonly string[] }[] = [
    { path: ["http", "baseUrl"], value: http.baseUrl, names: ["config"] },
  ];
  if (http.verify?.path)
    found.push({ path: ["http", "verify", "path"], value: http.verify.path, names: ["config"] });
  for (const [name, value] of Object.entries(http.headers ?? {}))
    found.push({ path: ["http", "headers", name], value, names: ["config"] });
  for (const [index, resource] of (http.resources ?? []).entries())
    for (const { path, value } of templatesOf(resource))
      found.push({ path: ["http", "resources", String(index), ...path], value, names: ["config"] });
  for (const [field, value] of Object.entries(authTexts(definition))) {
    const isAddress = field === "tokenUrl" || field === "authorizeUrl";
    const names = isAddress
      ? ["config"]
      : ["name", "prefix"].includes(field)
        ? []
        : ["config", "credentials"];
    found.push({ path: ["http", "auth", field], value, names });
  }
  for (const [name, value] of Object.entries(extraParamsOf(definition)))
    found.push({ path: ["http", "auth", "extraParams", name], value, names: ["config"] });
  return found;
}

const extraParamsOf = ({ http: { auth } }: HttpTemplate): Record<string, string> =>
  ("extraParams" in auth ? auth.extraParams : undefined) ?? {};

/** The fields of `auth` that contain an address. */
const authAddresses = (auth: HttpAuth) =>
  (["authorizeUrl", "tokenUrl"] as const).flatMap((field) => {
    const value = (auth as Partial<Record<typeof field, string>>)[field];
    return value === undefined ? [] : [{ field, value }];
  });

/** Addresses that receive the credentials, possibly with `{{config.x}}`. */
export const addressesOf = ({ http }: HttpTemplate): string[] => [
  http.baseUrl,
  ...authAddresses(http.auth).map(({ value }) => value),
];

/** Config fields that decide where the credentials are sent. */
export function destinationsOf(definition: HttpTemplate): string[] {
  const named = addressesOf(definition).flatMap((address) =>
    readsIn(address).map(({ path }) => path[1] ?? ""),
  );
  return [...new Set(named.filter((name) => name !== ""))];
}

/** What the request that verifies a connection sends, apart from its destination and credentials, to compare it. */
export function verificationOf({ http }: HttpTemplate, config: JsonObject): Json {
  const { verify = {}, headers = {} } = http;
  const texts = [verify.path ?? "", ...Object.values(headers)];
  const names = texts.flatMap((text) => readsIn(text).map(({ path }) => path[1]));
  const values = names.map((name) => (name === undefined ? config : (config[name] ?? null)));
  return [verify, headers, values];
}

const DEFAULTS = {
  none: {},
  bearer: { token: "{{credentials.token}}" },
  basic: { username: "{{credentials.username}}", password: "{{credentials.password}}" },
  header: { name: "X-API-Key", value: "{{credentials.apiKey}}" },
  query: { name: "api_key", value: "{{credentials.apiKey}}" },
  path: { value: "{{credentials.token}}" },
  oauth2_client_credentials: {
    clientId: "{{credentials.clientId}}",
    clientSecret: "{{credentials.clientSecret}}",
  },
  oauth2_authorization_code: {
    clientId: "{{credentials.clientId}}",
    clientSecret: '{{credentials.clientSecret ?? ""}}',
  },
} as const;

/** Default credential of an authentication type. */
const SOLE: Partial<Record<HttpAuth["type"], string>> = {
  bearer: "token",
  header: "value",
  query: "value",
  path: "value",
};

/** Fields of `auth` with fixed values. */
const CHOICES = ["type", "clientAuth", "tokenAuth"];

/** All strings of `auth`, completed with defaults; a single credential is used whatever its name. */
export function authTexts({ http: { auth }, credentialsSchema }: HttpTemplate): Record<string, string> {
  const field = SOLE[auth.type];
  const [only, ...others] = keysOf(credentialsSchema) ?? [];
  const isSole = field !== undefined && only !== undefined && others.length === 0;
  const sole = isSole ? { [field]: `{{credentials[${JSON.stringify(only)}]}}` } : {};
  const texts = Object.entries({ ...DEFAULTS[auth.type], ...sole, ...auth }).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string" && !CHOICES.includes(entry[0]),
  );
  return Object.fromEntries(texts);
}

/** Errors that the shape can't express. Paths are relative to the definition. */
export function httpTemplateFaults(definition: HttpTemplate): PathFault[] {
  const faults: PathFault[] = [];
  for (const field of ["configSchema", "credentialsSchema"] as const) {
    for (const { path, message } of schemaFaults(definition[field] ?? {})) {
      faults.push({ path: [field, ...path], message });
    }
    const type = definition[field]?.type;
    if (type !== undefined && type !== "object")
      faults.push({ path: [field, "type"], message: "Must be the schema of an object." });
  }
  const { http, configSchema, credentialsSchema } = definition;
  const known: Record<string, string[] | null> = {
    config: keysOf(configSchema),
    credentials: keysOf(credentialsSchema),
  };
  for (const { path, value, names } of textsOf(definition)) {
    const message = templateFault(value, names, known);
    if (message) faults.push({ path, message });
  }
  const addresses = [
    { path: ["http", "baseUrl"], value: http.baseUrl },
    ...authAddresses(http.auth).map(({ field, value }) => ({ path: ["http", "auth", field], value })),
  ];
  for (const { path, value } of addresses) {
    const message = value.includes("{{") ? null : addressFault(value);
    if (message) faults.push({ path, message });
  }
  if (http.verify?.body !== undefined && http.verify.method !== "POST")
    faults.push({
      path: ["http", "verify", "body"],
      message: "Only a POST request can have a body. Set method to POST.",
    });
  for (const name of Object.keys(extraParamsOf(definition)))
    if ((RESERVED as readonly string[]).includes(name))
      faults.push({
        path: ["http", "auth", "extraParams", name],
        message: `Weir sets the parameter ${name} itself. Remove it.`,
      });
  const { name } = http.auth as { name?: string };
  if (http.auth.type === "header" && name !== undefined && !token.test(name))
    faults.push({
      path: ["http", "auth", "name"],
      message: `${JSON.stringify(name)} is not a valid header name.`,
    });
  for (const { path, message } of [...headersFaults(definition), ...resourceFaults(http)])
    faults.push({ path: ["http", ...path], message });
  return faults;
}

const resourceFaults = ({ resources = [] }: HttpTemplate["http"]): PathFault[] =>
  resourcesFaults(resources).map(({ path, message }) => ({ path: ["resources", ...path], message }));

/** A header that carries credentials may not be set anywhere else. */
function headersFaults(definition: HttpTemplate): PathFault[] {
  const { auth, headers = {} } = definition.http;
  const carrier =
    auth.type === "header"
      ? (authTexts(definition).name ?? "")
      : ["none", "query", "path"].includes(auth.type)
        ? ""
        : "authorization";
  return Object.entries(headers).flatMap(([name, value]) => {
    const isCarrier = name.toLowerCase() === carrier.toLowerCase();
    const message = isCarrier ? `The header ${name} is already set by auth.` : headerFault(name, value);
    return message ? [{ path: ["headers", name], message }] : [];
  });
}

function templateFault(
  value: string,
  names: readonly string[],
  known: Record<string, string[] | null>,
): string | null {
  try {
    for (const { source, path, fallback, expression } of readsIn(value)) {
      const [root = "", key = ""] = path;
      if (!names.includes(root)) {
        return names.length === 0
          ? "Templates aren't allowed here."
          : `The template ${source} isn't allowed here. Use ${names.join(" or ")}.`;
      }
      if (key === "" && expression !== undefined)
        return `The template ${source} must name a field of ${root}.`;
      if (fallback === undefined && known[root] && !known[root].includes(key))
        return `The template ${source} names a field that isn't in ${root}Schema.`;
    }
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Why requests can't be sent to the address; null if they can. */
export function addressFault(address: string): string | null {
  if (!/^https?:\/\//i.test(address)) return "A URL must start with http:// or https://.";
  if (!URL.canParse(address)) return "Invalid URL.";
  const { username, password, search, hash } = new URL(address);
  if (username || password) return "URL must not contain a username or password. Put them in credentials.";
  return search || hash ? "The URL can't have query parameters or a fragment." : null;
}

/** Adds `default`s of a schema's own properties to the given values. */
export function withSchemaDefaults(schema: JsonObject | undefined, values: JsonObject): JsonObject {
  const filled: JsonObject = {};
  for (const [name, property] of Object.entries(isObject(schema?.properties) ? schema.properties : {})) {
    if (isObject(property) && property.default !== undefined) filled[name] = property.default as Json;
  }
  return { ...filled, ...values };
}
