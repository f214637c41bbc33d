import { comparable, isObject, type Json, type JsonObject } from "../../base/json.ts";
import { proofFieldOf } from "../../base/sender-proof.ts";
import { type Noun, slugOfKey, versionKey } from "./text.ts";

export const PATHS: Readonly<Record<Noun, string>> = {
  template: "/api/v1/templates",
  connection: "/api/v1/connections",
  api: "/api/v1/api-catalog",
  agent: "/api/v1/agents/specs",
  action: "/api/v1/actions",
  automation: "/api/v1/automations",
  query: "/api/v1/queries",
  dashboard: "/api/v1/dashboards",
  webhook: "/api/v1/webhooks",
};

/** Result of creating or changing a resource. */
export interface Done {
  id: string;
  /** A signing secret that the server generated. It is shown only once. */
  secret?: string;
  /** A request that is sent after all other changes. */
  ending?: Ending;
}

interface Ending {
  send(): Promise<unknown>;
  /** What can't be undone once it is sent. Null for what ends with the resource. */
  lasting: string | null;
}

/** What all nouns use of the public API and of the existing resources. */
export interface Sender {
  send(method: string, path: string, body?: Json): Promise<JsonObject>;
  /** Creates the resource, and records its ID. */
  post(path: string, body: JsonObject): Promise<{ id: string; reply: JsonObject }>;
  /** Converts a value of a file to the API's form, with IDs instead of references. */
  raw(value: Json | undefined): Json;
  /** Returns only these fields, converted by `raw`. */
  pick(body: JsonObject, names: readonly string[]): JsonObject;
  idOf(noun: Noun, key: string): string;
}

/** What a file and the server have of one resource. */
interface Change {
  id: string;
  path: string;
  before: JsonObject;
  body: JsonObject;
  differs(name: string): boolean;
  /** Returns those of these fields that differ. */
  changed(names: readonly string[]): JsonObject;
}

interface Requests {
  create(api: Sender, key: string, body: JsonObject): Promise<Done>;
  /** The ID differs for a new version of a template. */
  change(api: Sender, change: Change): Promise<Done>;
}

const template: Requests = {
  async create({ post, send, pick }, key, { status, version, ...fields }) {
    const number: JsonObject = version === null || version === undefined ? {} : { version };
    const slug = slugOfKey(key);
    const { id } = await post(PATHS.template, { slug, ...number, ...pick(fields, Object.keys(fields)) });
    if (status !== "draft") await send("POST", `${PATHS.template}/${id}/publish`);
    if (status !== "deprecated") return { id };
    const deprecate = () => send("POST", `${PATHS.template}/${id}/deprecate`);
    return { id, ending: { send: deprecate, lasting: null } }; // nothing can be created from a deprecated one
  },
  async change({ send }, { id, path, before, changed }) {
    const names = ["displayName", "description", "iconUrl", "definition", "inputDefaults", "inputJsonSchema"];
    const { status, ...fields } = changed([...names, "status"]);
    const isNew = before.status === "published" && Object.keys(fields).length > 0;
    const next = status ?? (isNew ? "published" : null);
    const reply = await send("PUT", path, { ...fields, ...(next === null ? {} : { status: next }) });
    return { id: String(reply.id ?? id) };
  },
};

const connection: Requests = {
  async create(api, key, body) {
    const origin: JsonObject =
      typeof body.template === "string"
        ? {
            kind: "from_template",
            templateSlug: body.template,
            templateVersion: body.templateVersion ?? null,
          }
        : api.pick(body, ["provider"]);
    const { id } = await api.post(PATHS.connection, {
      slug: key,
      ...api.pick(body, ["name", "approvalRequired", "config", "credentials"]),
      ...origin,
    });
    return { id, ...(await turnConnection(api, `${PATHS.connection}/${id}`, body, null)) };
  },
  async change(api, { id, path, before, body, differs, changed }) {
    const credentials = isObject(body.credentials) ? body.credentials : {};
    const patch: JsonObject = {
      ...changed(["name", "approvalRequired"]),
      ...(differs("config") ? { config: replacing(api.raw(before.config), api.raw(body.config)) } : {}),
      ...(Object.keys(credentials).length > 0 ? { credentials: api.raw(credentials) } : {}),
    };
    if (Object.keys(patch).length > 0) await api.send("PATCH", `${path}?if_changed=true`, patch);
    return { id, ...(await turnConnection(api, path, body, before)) };
  },
};

/** Enables or disables it. It becomes the default at the end, which can't be undone. */
async function turnConnection(
  { send }: Sender,
  path: string,
  body: JsonObject,
  before: JsonObject | null,
): Promise<Pick<Done, "ending">> {
  const was = before?.disabled === true;
  if (body.disabled === true && !was) await send("POST", `${path}/disable`);
  if (body.disabled !== true && was) await send("POST", `${path}/reactivate`);
  if (body.default !== true || before?.default === true) return {};
  return { ending: { send: () => send("POST", `${path}/set-default`), lasting: "became the default" } };
}

const api: Requests = {
  async create(api, key, body) {
    const isServer = body.type === "mcp";
    const own = isServer ? ["url", "transport", "tools"] : ["baseUrl", "authHints", "endpoints"];
    const { id } = await api.post(`${PATHS.api}/${isServer ? "mcp" : "http"}`, {
      name: key,
      ...api.pick(body, ["description", "approvalRequired", ...own]),
      connectionId: connectionOf(api, body),
    });
    if (body.status !== "active") await api.send("PATCH", `${PATHS.api}/${id}`, api.pick(body, ["status"]));
    return { id };
  },
  async change(api, { id, path, body, differs, changed }) {
    const names = ["description", "status", "approvalRequired", "authHints", "endpoints", "tools"];
    const connection: JsonObject = differs("connection") ? { connectionId: connectionOf(api, body) } : {};
    await api.send("PATCH", path, { ...changed(names), ...connection });
    return { id };
  },
};

const agent: Requests = {
  async create({ post, send, raw }, key, body) {
    const markdown = raw(body.markdown);
    const { id, reply } = await post(PATHS.agent, { markdown });
    if (reply.slug === key) return { id };
    // the text names no slug, and its name gives another one: the slug is set once, and then stays
    await send("PATCH", `${PATHS.agent}/${id}`, { markdown: withSlug(String(markdown), key) });
    await send("PATCH", `${PATHS.agent}/${id}`, { markdown });
    return { id };
  },
  async change({ send }, { id, path, changed }) {
    await send("PATCH", path, changed(["markdown"]));
    return { id };
  },
};

const action: Requests = {
  async create(api, key, body) {
    const origin: JsonObject =
      typeof body.template === "string" ? { templateId: api.idOf("template", templateKeyOf(body)) } : {};
    const { id } = await api.post(PATHS.action, {
      slug: key,
      ...api.pick(body, ["name", "kind", "tags", "definition"]),
      connectionId: connectionOf(api, body),
      ...origin,
    });
    if (body.disabled === true) await api.send("PATCH", `${PATHS.action}/${id}`, { status: "disabled" });
    return { id };
  },
  async change(api, { id, path, body, differs, changed }) {
    const connection: JsonObject = differs("connection") ? { connectionId: connectionOf(api, body) } : {};
    const status: JsonObject = differs("disabled") ? { status: statusOf(body) } : {};
    await api.send("PATCH", path, { ...changed(["name", "tags", "definition"]), ...connection, ...status });
    return { id };
  },
};

const automation: Requests = {
  async create(api, key, body) {
    const { id, reply } = await api.post(PATHS.automation, {
      slug: key,
      ...api.pick(body, ["name", "description", "triggerType", "tags"]),
      config: configOf(api, body),
      ...(body.draft === true ? { status: "draft" } : {}),
    });
    if (body.disabled === true) await api.send("PATCH", `${PATHS.automation}/${id}`, { status: "disabled" });
    const secret = isObject(reply.config) ? reply.config.secret : null;
    return { id, ...(typeof body.secret !== "string" && typeof secret === "string" ? { secret } : {}) };
  },
  async change(api, { id, path, before, body, differs, changed }) {
    const hasConfig = differs("config") || typeof body.secret === "string";
    const status: JsonObject = differs("disabled") || differs("draft") ? { status: statusOf(body) } : {};
    await api.send("PATCH", path, {
      ...changed(["name", "description", "tags"]),
      ...(hasConfig ? { config: replacing(api.raw(before.config), configOf(api, body)) } : {}),
      ...status,
    });
    return { id };
  },
};

/** An automation's config with its secret, if given: the signing secret, or what its sender sends along. */
function configOf({ raw }: Sender, body: JsonObject): JsonObject {
  const rawConfig = raw(body.config);
  const config = isObject(rawConfig) ? rawConfig : {};
  if (typeof body.secret !== "string") return config;
  const secret = raw(body.secret);
  const field = proofFieldOf(config.auth);
  if (field === null || !isObject(config.auth)) return { ...config, secret };
  return { ...config, auth: { ...config.auth, [field]: secret } };
}

/** A noun with the same fields in files and in the API. */
const asItIs = (noun: Noun, fields: readonly string[]): Requests => ({
  async create({ post, pick }, key, body) {
    const { id } = await post(PATHS[noun], { slug: key, ...pick(body, fields) });
    return { id };
  },
  async change({ send }, { id, path, changed }) {
    await send("PATCH", path, changed(fields));
    return { id };
  },
});

const webhook: Requests = {
  async create({ post, send, pick }, key, body) {
    const secretField: JsonObject = typeof body.secret === "string" ? pick(body, ["secret"]) : {};
    const url = key.replace(/ \(\d+\)$/, ""); // suffix of webhooks with the same URL
    const { id, reply } = await post(PATHS.webhook, { url, ...pick(body, ["events"]), ...secretField });
    if (body.disabled === true) await send("PATCH", `${PATHS.webhook}/${id}`, { status: "disabled" });
    return { id, ...("secret" in secretField ? {} : { secret: String(reply.secret) }) };
  },
  async change({ send, pick }, { id, path, body, differs, changed }) {
    const status: JsonObject = differs("disabled") ? { status: statusOf(body) } : {};
    await send("PATCH", path, { ...changed(["events"]), ...status });
    if (typeof body.secret === "string") await send("POST", `${path}/rotate-secret`, pick(body, ["secret"]));
    return { id };
  },
};

const BOARD = ["name", "description", "filters", "panels", "refreshSeconds"];
const LINK = ["sharing", "shareExpiresAt"];

const dashboard: Requests = {
  create: asItIs("dashboard", [...BOARD, ...LINK]).create,
  async change({ send, pick }, { id, path, before, body, differs, changed }) {
    const link = LINK.some(differs) ? pick(body, LINK) : {};
    const isRevoked = before.sharing === "link" && link.sharing === "organization"; // a new link has another URL
    await send("PATCH", path, { ...changed(BOARD), ...(isRevoked ? {} : link) });
    if (!isRevoked) return { id };
    return {
      id,
      ending: {
        send: () => send("PATCH", path, { sharing: "organization" }),
        lasting: "lost its public link",
      },
    };
  },
};

/** How resources of each noun are created and changed. */
export const BY_NOUN: Readonly<Record<Noun, Requests>> = {
  template,
  connection,
  api,
  agent,
  action,
  automation,
  query: asItIs("query", ["name", "description", "sql", "parameters", "chart"]),
  dashboard,
  webhook,
};

/** Computes what differs between `before` and `body` for the resource at `path`. */
export function changeOf(
  { pick }: Sender,
  { id, path, before, body }: Pick<Change, "id" | "path" | "before" | "body">,
): Change {
  const differs = (name: string) => comparable(before[name], name) !== comparable(body[name], name);
  const changed = (names: readonly string[]) => pick(body, names.filter(differs));
  return { id, path, before, body, differs, changed };
}

const templateKeyOf = ({ template, templateVersion = null }: JsonObject): string =>
  templateVersion === null ? String(template) : versionKey(String(template), templateVersion);

const connectionOf = ({ idOf }: Sender, { connection }: JsonObject) =>
  typeof connection === "string" ? idOf("connection", connection) : null;

const statusOf = ({ disabled, draft }: JsonObject) =>
  disabled === true ? "disabled" : draft === true ? "draft" : "active";

/** Returns a patch that replaces `before` completely by `after`. */
const replacing = (before: Json, after: Json): JsonObject => ({
  ...Object.fromEntries(Object.keys(isObject(before) ? before : {}).map((key) => [key, null])),
  ...(isObject(after) ? after : {}),
});

/** Adds the slug to the front matter of a spec. */
const withSlug = (markdown: string, slug: string): string => markdown.replace("\n", `\nslug: ${slug}\n`);
