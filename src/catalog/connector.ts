import { headerFault } from "../base/http-message.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import { read } from "../base/shape.ts";
import { type HttpAuth, type HttpTemplate, MAX_RESOURCES } from "../providers/http-template/definition.ts";
import { resourcesFaults, TemplateResource } from "../providers/http-template/resources.ts";
import {
  type AuthHint,
  type EndpointDefinition,
  isReadable,
  type Listing,
  type Unresolved,
} from "./contract.ts";
import { plainName, singular, snake } from "./listing/words.ts";
import { uniqueNames } from "./names.ts";

/** A setting that the template lacks, and where. */
interface Gap extends Unresolved {
  /** The endpoint's name in the catalog; null if the gap concerns all of them. */
  endpoint: string | null;
  /** The resource's name in the template; null if it has none. */
  resource: string | null;
}

export interface Connector {
  definition: HttpTemplate;
  unresolved: Gap[];
}

/** Config fields to fill in, and the headers of every request. */
interface Fields {
  config: Record<string, JsonObject>;
  required: string[];
  headers: Record<string, string>;
}

interface Made {
  resource: TemplateResource;
  fields: Fields;
}

/**
 * Creates a connection template for an API: its lists become resources, as far as their descriptions say how to read
 * them completely. Whatever the descriptions leave out is returned as gaps. `authHints` is null if unknown.
 */
export function connectorOf(
  baseUrl: string,
  endpoints: readonly EndpointDefinition[],
  authHints: readonly AuthHint[] | null,
): Connector {
  const unresolved: Gap[] = [];
  const fields: Fields = { config: {}, required: [], headers: {} };
  const unique = uniqueNames(63);
  const resources: TemplateResource[] = [];
  const { auth, credentials, gaps } = authOf(authHints ?? []);
  const lists = endpoints.flatMap((endpoint) =>
    endpoint.listing ? [{ endpoint, listing: withoutCarrier(endpoint.listing, auth) }] : [],
  );
  for (const { endpoint, listing } of lists) {
    const isWhole = isReadable(listing);
    const isRoom = resources.length < MAX_RESOURCES;
    const made = isWhole && isRoom ? resourceOf(unique(resourceName(endpoint)), endpoint, listing) : null;
    const [fault] = made ? faultsOf(made.resource) : [];
    const resource = made && !fault ? made.resource.name : null;
    if (made && !fault) {
      resources.push(made.resource);
      for (const header of Object.keys(made.fields.headers))
        if (!Object.hasOwn(fields.headers, header)) unresolved.push(sentAlways(endpoint, header));
      add(fields, made.fields);
    }
    for (const gap of listing.unresolved) unresolved.push({ endpoint: endpoint.name, resource, ...gap });
    if (isWhole && resource === null)
      unresolved.push(
        leftOut(endpoint, fault?.path.join(".") ?? "http.resources", fault?.message ?? NO_ROOM),
      );
  }
  if (lists.length === 0) unresolved.push(NO_LISTS);
  unresolved.push(...gaps);
  const verify = verifyOf(endpoints);
  if (verify === null) unresolved.push(NO_VERIFY);
  const http: HttpTemplate["http"] = {
    baseUrl,
    auth,
    ...(verify === null ? {} : { verify: { path: verify } }),
    ...(Object.keys(fields.headers).length > 0 ? { headers: fields.headers } : {}),
    ...(resources.length > 0 ? { resources } : {}),
  };
  const definition: HttpTemplate = {
    http,
    configSchema: schemaOf(fields.config, fields.required),
    credentialsSchema: schemaOf(credentials, Object.keys(credentials)),
  };
  return { definition, unresolved };
}

/** Doesn't ask again for the parameter that carries the credentials, even if the description lists it. */
function withoutCarrier({ asks, ...listing }: Listing, auth: HttpAuth): Listing {
  const { type } = auth;
  const carrier = type === "header" || type === "query" ? (auth.name ?? "") : "";
  const isCarrier = ({ name, location }: Listing["asks"][number]) =>
    location === type &&
    (type === "header" ? name.toLowerCase() === carrier.toLowerCase() : name === carrier);
  return { ...listing, asks: asks.filter((ask) => !isCarrier(ask)) };
}

/** Validates a resource as strictly as one from a client. */
function faultsOf(resource: TemplateResource): { path: string[]; message: string }[] {
  const { faults } = read(TemplateResource, resource, []);
  return faults.length > 0
    ? faults.map(({ loc, msg }) => ({ path: [...loc], message: msg }))
    : resourcesFaults([resource]);
}

const schemaOf = (properties: Record<string, JsonObject>, required: string[]): JsonObject => ({
  type: "object",
  properties,
  ...(required.length > 0 ? { required } : {}),
  additionalProperties: false,
});

/** Adds fields; existing ones win. */
function add(fields: Fields, { config, required, headers }: Fields) {
  fields.config = { ...config, ...fields.config };
  fields.required = [...new Set([...fields.required, ...required])];
  fields.headers = { ...headers, ...fields.headers };
}

const whole = { endpoint: null, resource: null, candidates: [] };
const NO_LISTS: Gap = {
  ...whole,
  field: "http.resources",
  message:
    "It's not known which endpoints return lists: only OpenAPI and Swagger describe responses. Import such a description, or write the resources.",
};
const NO_VERIFY: Gap = {
  ...whole,
  field: "http.verify",
  message: "No GET endpoint can be called without arguments. Enter a path that only reads.",
};
const NO_ROOM = `A template has at most ${MAX_RESOURCES} resources. To include this endpoint, name it in endpoints.`;
const leftOut = ({ name }: EndpointDefinition, field: string, message: string): Gap => ({
  ...whole,
  endpoint: name,
  field,
  message,
});

const sentAlways = ({ name }: EndpointDefinition, header: string): Gap => ({
  ...whole,
  endpoint: name,
  field: "http.headers",
  message: `It requires the header ${header}, which every request of the connection gets. Each connection needs its value.`,
});

/** `orders` for `listOrders`, `getOrders` or `get_orders`. */
function resourceName({ name }: EndpointDefinition): string {
  const plain = snake(name);
  const bare = plain.replace(
    /^(?:list|get|fetch|retrieve|find|index)_(?:all_|list_of_)?|_(?:list|index)$/g,
    "",
  );
  const named = bare === "" || bare === "all" ? plain : bare;
  return (/^[a-z]/.test(named) ? named : `list_${named}`).slice(0, 63).replace(/_+$/, "") || "rows";
}

function resourceOf(
  name: string,
  { path, description, inputSchema }: EndpointDefinition,
  listing: Listing,
): Made {
  const fields: Fields = { config: {}, required: [], headers: {} };
  const properties = isObject(inputSchema?.properties) ? inputSchema.properties : {};
  const { primaryKey, incremental, asks } = listing;
  const spec = path.replace(/\{([^{}/]+)\}/g, (_, argument: string, at: number) => {
    const own = properties[argument];
    return askFor(fields, configName(argument, path.slice(0, at)), textIn(own));
  });
  const params: Record<string, string> = {};
  for (const ask of asks) {
    if (ask.location === "query")
      params[ask.name] = askFor(fields, `${name}_${plainWord(ask.name)}`, ask.description);
    else fields.headers[ask.name] = askFor(fields, plainWord(ask.name), ask.description, true);
  }
  const { params: own } = listing.endpoint;
  const all = { ...(isObject(own) ? own : {}), ...params };
  const endpoint = { ...listing.endpoint, ...(Object.keys(all).length > 0 ? { params: all } : {}) };
  const [title = ""] = (description ?? "").split("\n");
  const resource = {
    name,
    ...(title.trim() === "" ? {} : { title: title.trim().slice(0, 255).toWellFormed() }),
    spec,
    ...(Object.keys(endpoint).length > 0 ? { endpoint } : {}),
    ...(primaryKey.length > 0 ? { primaryKey } : {}),
    ...(incremental ? { incremental } : {}),
  } as TemplateResource; // validated before it is stored
  return { resource, fields };
}

const textIn = (schema: unknown): string =>
  isObject(schema) && typeof schema.description === "string" ? schema.description : "";

/** Names that mean nothing without the path segment before them. */
const BARE = /^(?:id|uuid|key|name|slug|code|sid|number|type|value|ref|identifier)$/;

const plainWord = (name: string) => snake(name).slice(0, 60) || "value";

/** Name of a path argument in the config: `user_id` for the `id` of `/users/{id}`. */
function configName(argument: string, before: string): string {
  const word = plainWord(argument);
  if (!BARE.test(word)) return word;
  const [above = ""] = before
    .split("/")
    .filter((part) => part !== "" && !part.includes("{"))
    .slice(-1);
  const owner = plainName(above) === "" ? "" : singular(above);
  return owner === "" ? word : `${owner}_${word}`;
}

/** Adds a config field and returns the template expression for it. */
function askFor(fields: Fields, name: string, description: string, isRequired = false): string {
  const field = /^[a-z_]/.test(name) ? name : `_${name}`;
  const known = fields.config[field];
  if (!known)
    fields.config[field] = {
      type: "string",
      ...(description === "" ? {} : { description: description.slice(0, 500).toWellFormed() }),
    };
  if (isRequired) fields.required.push(field);
  return `{{config.${field}}}`;
}

/** An endpoint that verifies credentials: the caller's own account if there is one, else any list without arguments. */
function verifyOf(endpoints: readonly EndpointDefinition[]): string | null {
  const simple = endpoints.filter(
    ({ method, path, inputSchema }) =>
      method === "GET" &&
      !path.includes("{") &&
      !(Array.isArray(inputSchema?.required) && inputSchema.required.length > 0),
  );
  const own = simple.find(({ path }) =>
    /\/(?:me|whoami|user|account|profile|self|users\/me|account\/me)$/i.test(path),
  );
  const listed = simple.find(({ listing }) => listing && isReadable(listing));
  return (own ?? listed ?? null)?.path ?? null;
}

interface Auth {
  auth: HttpAuth;
  credentials: Record<string, JsonObject>;
  gaps: Gap[];
}

const secret = (description: string): JsonObject => ({ type: "string", format: "password", description });

function authOf(hints: readonly AuthHint[]): Auth {
  const gap = (message: string): Gap => ({ ...whole, field: "http.auth", message });
  const known = hints.flatMap((hint) => {
    const auth = authBy(hint);
    return auth ? [{ hint, auth }] : [];
  });
  const [first, ...others] = known;
  if (!first) {
    const named = hints.map(({ label, type }) => `${label} (${type})`).join(", ");
    const why =
      named === ""
        ? "The API's authentication isn't described. Choose a method, or none."
        : `The API requires ${named}, which templates don't support.`;
    return { auth: { type: "none" }, credentials: {}, gaps: [gap(why)] };
  }
  const more = others.map(({ hint }) => `${hint.label} (${hint.type})`);
  const gaps =
    more.length === 0 ? [] : [gap(`The API takes ${more.join(", ")} too; ${first.hint.label} was chosen.`)];
  return { ...first.auth, gaps: [...first.auth.gaps, ...gaps] };
}

function authBy({ type, name, label, flow }: AuthHint): Auth | null {
  switch (type) {
    case "bearer":
      return { auth: { type: "bearer" }, credentials: { token: secret(label) }, gaps: [] };
    case "basic": {
      const credentials = { username: { type: "string" }, password: secret(label) };
      return { auth: { type: "basic" }, credentials, gaps: [] };
    }
    case "api_key_header": {
      if (headerFault(name) !== null) return null;
      const credentials = { apiKey: secret(`The whole value of the header ${name}`) };
      return { auth: { type: "header", name, value: "{{credentials.apiKey}}" }, credentials, gaps: [] };
    }
    case "api_key_query": {
      if (name.includes("{{")) return null;
      const credentials = { apiKey: secret(`The parameter ${name}`) };
      return { auth: { type: "query", name, value: "{{credentials.apiKey}}" }, credentials, gaps: [] };
    }
    case "oauth2":
      return flow ? oauthBy(flow) : null;
    default:
      return null;
  }
}

function oauthBy({ authorizeUrl, tokenUrl, scopes }: NonNullable<AuthHint["flow"]>): Auth | null {
  const isAddress = (text: string) => /^https?:\/\/[^\s?#@{}]+$/i.test(text);
  if (!isAddress(tokenUrl) || (authorizeUrl !== null && !isAddress(authorizeUrl))) return null;
  const credentials = {
    clientId: { type: "string" },
    clientSecret: secret("Of the app that you register there"),
  };
  const field = authorizeUrl === null ? "http.auth.scope" : "http.auth.scopes";
  const message = "Name only the scopes that reading requires.";
  const gaps = scopes.length === 0 ? [] : [{ ...whole, field, message, candidates: scopes }];
  if (authorizeUrl === null)
    return { auth: { type: "oauth2_client_credentials", tokenUrl }, credentials, gaps };
  return { auth: { type: "oauth2_authorization_code", authorizeUrl, tokenUrl }, credentials, gaps };
}
