import { AppError } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { escaped } from "../../base/placeholder.ts";
import type { Api } from "../verbs.ts";
import { completed, KINDS, kindOf } from "./kinds.ts";
import { originOf, sortVersions } from "./template-versions.ts";
import { encoded, type Noun, numbered, versionKey } from "./text.ts";

/** A resource on the server. */
export interface There {
  noun: Noun;
  id: string;
  /** Its slug. For an API its name, for a webhook its URL. */
  key: string;
  /** All fields of its kind as in files, including secrets that the API shows. */
  body: JsonObject;
  /** True if the API has credentials or a secret that it doesn't show. */
  hasUnseen: boolean;
  /** Names of its possible credentials, as far as known. Of a connection that has none, only the required ones. */
  credentials: readonly string[];
  /** Only for a template, else null. */
  version: number | null;
  /** True if files refer to the template's version. */
  isNumbered: boolean;
  /** False for older versions of templates that nothing needs. */
  isExported: boolean;
}

export interface State {
  things: readonly There[];
  /** Nouns that the user isn't allowed to read. */
  unread: ReadonlySet<Noun>;
  find(noun: Noun, key: string): There | null;
  /** Returns whether connections of this provider work without this credential. */
  isOptional(provider: string, credential: string): boolean;
}

const PAGE = 100;

/** How files refer to resources, by ID. */
const referencesOf = (lists: Readonly<Record<string, JsonObject[]>>): ReadonlyMap<string, string> =>
  new Map(
    KINDS.flatMap(({ noun, section, key }) =>
      (lists[section] ?? []).map((row) => [String(row.id), `\${${noun}:${row[key]}}`] as const),
    ),
  );

/** Everything in the API, by section, including all versions of templates and the built-in ones. */
async function readLists(api: Api, webhooks: JsonObject[] | null) {
  const own = await all(api, "/api/v1/templates", "templates");
  const builtIn = await all(api, "/api/v1/templates", "templates", { built_in: true });
  const connections = await all(api, "/api/v1/connections", "connections");
  const actions = await all(api, "/api/v1/actions", "actions");
  const kept = sortVersions(own, { connection: connections, action: actions });
  const lists = {
    templates: own,
    connections,
    apis: await all(api, "/api/v1/api-catalog", "items"),
    agents: await all(api, "/api/v1/agents/specs", "specs"),
    actions,
    automations: await all(api, "/api/v1/automations", "automations"),
    queries: await all(api, "/api/v1/queries", "queries"),
    dashboards: await all(api, "/api/v1/dashboards", "dashboards"),
    webhooks: webhooks ?? [],
  };
  return { versions: [...own, ...builtIn], kept, lists };
}

/** Collects resources, with their fields as in files. */
function openThings(referenceOf: (id: string) => string | null) {
  const things: There[] = [];
  const add = (noun: Noun, row: JsonObject, body: JsonObject, more: Partial<There> = {}): void => {
    const kind = kindOf(noun);
    const plain = new Set(Object.entries(kind.fields).flatMap(([name, { names }]) => (names ? [name] : [])));
    const fields = Object.fromEntries(
      Object.entries(completed(kind, body)).map(([name, value]) => [
        name,
        plain.has(name) ? value : noun === "agent" ? escapedText(value) : encoded(value, referenceOf),
      ]),
    );
    things.push({
      noun,
      id: String(row.id),
      key: String(row[kind.key]),
      body: fields,
      hasUnseen: false,
      credentials: [],
      version: null,
      isNumbered: false,
      isExported: true,
      ...more,
    });
  };
  return { things, add };
}

/** Reads everything of an organization that files can describe. */
export async function readState(api: Api): Promise<State> {
  const webhooks = await webhooksOf(api);
  const { versions, kept, lists } = await readLists(api, webhooks);
  const references = referencesOf({ ...lists, templates: kept.main });
  const referenceOf = (id: string) => references.get(id) ?? null;
  const keyOfReference = (id: Json | undefined) =>
    typeof id === "string" ? (/:(.+)\}$/.exec(referenceOf(id) ?? "")?.[1] ?? null) : null;
  const schemas = await credentialsSchemas(api);
  const credentialsOf = ({ provider, templateId, hasCredentials }: JsonObject) => {
    const template = versions.find(({ id }) => id === templateId);
    const own = isObject(template?.definition) ? template.definition.credentialsSchema : undefined;
    const schema = own ?? template?.credentialsSchema ?? schemas.get(String(provider));
    return namesIn(schema, hasCredentials === true ? "properties" : "required");
  };
  const { things, add } = openThings(referenceOf);
  const isDisabled = ({ status }: JsonObject) => status === "disabled";
  for (const row of lists.templates) {
    const slug = String(row.slug);
    const version = Number(row.version);
    add("template", row, row, {
      key: kept.main.includes(row) ? slug : versionKey(slug, version),
      version,
      isNumbered: kept.numbered.has(slug),
      isExported: kept.exported.has(row),
    });
  }
  for (const row of lists.connections) {
    const { fields, isNumbered } = originOf(row, "connection", versions, kept);
    const body = {
      ...row,
      ...fields,
      disabled: isDisabled(row),
      default: row.isDefault ?? false,
    };
    const hasUnseen = row.hasCredentials === true;
    add("connection", row, body, { hasUnseen, credentials: credentialsOf(row), isNumbered });
  }
  for (const summary of lists.apis) {
    const { body: row } = await api.get<JsonObject>(`/api/v1/api-catalog/${summary.id}`);
    add("api", row, { ...row, connection: keyOfReference(row.connectionId) });
  }
  for (const row of lists.agents) add("agent", row, row);
  for (const row of lists.actions) {
    const { fields, isNumbered } = originOf(row, "action", versions, kept);
    const body = {
      ...row,
      ...fields,
      connection: keyOfReference(row.connectionId),
      disabled: isDisabled(row),
    };
    add("action", row, body, { isNumbered });
  }
  for (const row of lists.automations) {
    const body = { ...row, disabled: isDisabled(row), draft: row.status === "draft" };
    add("automation", row, body, { hasUnseen: row.hasSecret === true });
  }
  for (const row of lists.queries) add("query", row, row);
  for (const row of lists.dashboards) add("dashboard", row, row);
  for (const row of lists.webhooks) {
    const key = numbered(String(row.url), (key) =>
      things.some((one) => one.noun === "webhook" && one.key === key),
    );
    add("webhook", row, { ...row, disabled: isDisabled(row) }, { hasUnseen: true, key });
  }
  return {
    things,
    unread: new Set(webhooks === null ? (["webhook"] as const) : []),
    find: (noun, key) => things.find((one) => one.noun === noun && one.key === key) ?? null,
    isOptional: (provider, name) =>
      namesIn(schemas.get(provider), "properties").includes(name) &&
      !namesIn(schemas.get(provider), "required").includes(name),
  };
}

/** Webhooks with the same URL are sorted independently of their creation. Null if the user isn't an admin. */
async function webhooksOf(api: Api): Promise<JsonObject[] | null> {
  const rows: JsonObject[] = [];
  for (let cursor: string | undefined; ; ) {
    try {
      const { body } = await api.get<JsonObject>("/api/v1/webhooks", {
        limit: PAGE,
        cursor,
      });
      rows.push(...(Array.isArray(body.items) ? body.items : []).filter(isObject));
      if (typeof body.nextCursor !== "string") break;
      cursor = body.nextCursor;
    } catch (error) {
      if (error instanceof AppError && error.details?.status === 403) return null;
      throw error;
    }
  }
  const rank = ({ url, events, status }: JsonObject) => JSON.stringify([url, events, status]);
  return rows.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

const escapedText = (value: Json): Json => (typeof value === "string" ? escaped(value) : value);

async function all(
  api: Api,
  path: string,
  field: string,
  query: Readonly<Record<string, boolean>> = {},
): Promise<JsonObject[]> {
  const rows: JsonObject[] = [];
  const seen = new Set<string>();
  for (let offset = 0; ; offset += PAGE) {
    const { body } = await api.get<JsonObject>(path, { limit: PAGE, offset, ...query });
    const page = (Array.isArray(body[field]) ? body[field] : []).filter(isObject);
    for (const row of page) {
      if (!seen.has(String(row.id))) rows.push(row);
      seen.add(String(row.id));
    }
    if (page.length < PAGE) return rows;
  }
}

async function credentialsSchemas(api: Api): Promise<Map<string, Json | undefined>> {
  const { body } = await api.get<{ providers: JsonObject[] }>("/api/v1/connection-providers");
  return new Map(body.providers.map(({ id, credentialsSchema }) => [String(id), credentialsSchema]));
}

/** Names of the properties in a JSON Schema of an object, all or only required ones. */
function namesIn(schema: Json | undefined, which: "properties" | "required"): string[] {
  const found = isObject(schema) ? schema[which] : null;
  return (Array.isArray(found) ? found.map(String) : Object.keys(isObject(found) ? found : {})).toSorted();
}
