import { AppError } from "../../base/errors.ts";
import { canonicalJson, isObject, type Json, type JsonObject } from "../../base/json.ts";
import { capitalized } from "../../base/plural.ts";
import { proofFieldOf } from "../../base/sender-proof.ts";
import type { Api } from "../verbs.ts";
import type { Wanted } from "./read.ts";
import type { There } from "./state.ts";
import { decoded, type Noun } from "./text.ts";

const PATHS: Readonly<Record<Noun, string>> = {
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

/** What making or changing a thing has led to. */
export interface Done {
  id: string;
  /** Of a webhook, where the server made one: shown this once. */
  secret: string | null;
}

/** Makes, changes and deletes things of a file by the public API. Ids of what was made are known from then on. */
export function openRequests(api: Api, things: readonly There[]) {
  const ids = new Map(things.map(({ noun, key, id }) => [`${noun}:${key}`, id]));
  const idOf = (noun: Noun, key: string): string => {
    const id = ids.get(`${noun}:${key}`);
    if (id === undefined) throw new AppError("not_found", `${capitalized(noun)} ${key} not found.`);
    return id;
  };
  const raw = (value: Json | undefined): Json => decoded(value ?? null, idOf);
  const send = async (method: string, path: string, body?: Json): Promise<JsonObject> =>
    (await api.send<JsonObject | null>(method, path, body)).body ?? {};
  const connectionOf = ({ connection }: JsonObject) =>
    typeof connection === "string" ? idOf("connection", connection) : null;
  const statusOf = ({ disabled, draft }: JsonObject) =>
    disabled === true ? "disabled" : draft === true ? "draft" : "active";

  /** Only what takes part in a body, decoded. */
  const pick = (body: JsonObject, names: readonly string[]): JsonObject =>
    Object.fromEntries(names.map((name) => [name, raw(body[name])]));

  async function applyConnection(id: string, body: JsonObject, before: JsonObject | null): Promise<void> {
    const path = `${PATHS.connection}/${id}`;
    const was = before?.disabled === true;
    if (body.disabled === true && !was) await send("POST", `${path}/disable`);
    if (body.disabled !== true && was) await send("POST", `${path}/reactivate`);
    if (body.default === true && before?.default !== true) await send("POST", `${path}/set-default`);
  }

  async function create({ noun, key, body }: Wanted, made: (id: string) => void): Promise<Done> {
    const post = async (path: string, body: JsonObject) => {
      const reply = await send("POST", path, body);
      const id = String(reply.id);
      ids.set(`${noun}:${key}`, id);
      made(id);
      return { id, reply };
    };
    const at = PATHS[noun];
    const none = { secret: null };
    switch (noun) {
      case "template": {
        const { status, ...fields } = body;
        const { id } = await post(at, { slug: key, ...pick(fields, Object.keys(fields)) });
        if (status !== "draft") await send("POST", `${at}/${id}/publish`);
        if (status === "deprecated") await send("POST", `${at}/${id}/deprecate`);
        return { id, ...none };
      }
      case "connection": {
        const origin: JsonObject =
          typeof body.template === "string"
            ? { kind: "from_template", templateSlug: body.template }
            : pick(body, ["provider"]);
        const { id } = await post(at, {
          slug: key,
          ...pick(body, ["name", "approvalRequired", "config", "credentials"]),
          ...origin,
        });
        await applyConnection(id, body, null);
        return { id, ...none };
      }
      case "api": {
        const isServer = body.type === "mcp";
        const own = isServer ? ["url", "transport", "tools"] : ["baseUrl", "endpoints"];
        const { id } = await post(`${at}/${isServer ? "mcp" : "http"}`, {
          name: key,
          ...pick(body, ["description", "approvalRequired", ...own]),
          connectionId: connectionOf(body),
        });
        if (body.status !== "active") await send("PATCH", `${at}/${id}`, pick(body, ["status"]));
        return { id, ...none };
      }
      case "agent": {
        const markdown = raw(body.markdown);
        const { id, reply } = await post(at, { markdown });
        if (reply.slug === key) return { id, ...none };
        // the text names no slug, and its name gives another: the slug is given once, and stays
        await send("PATCH", `${at}/${id}`, { markdown: withSlug(String(markdown), key) });
        await send("PATCH", `${at}/${id}`, { markdown });
        return { id, ...none };
      }
      case "action": {
        const origin: JsonObject =
          typeof body.template === "string" ? { templateId: idOf("template", body.template) } : {};
        const { id } = await post(at, {
          slug: key,
          ...pick(body, ["name", "kind", "tags", "definition"]),
          connectionId: connectionOf(body),
          ...origin,
        });
        if (body.disabled === true) await send("PATCH", `${at}/${id}`, { status: "disabled" });
        return { id, ...none };
      }
      case "automation": {
        const { id, reply } = await post(at, {
          slug: key,
          ...pick(body, ["name", "description", "triggerType", "tags"]),
          config: configOf(body),
          ...(body.draft === true ? { status: "draft" } : {}),
        });
        if (body.disabled === true) await send("PATCH", `${at}/${id}`, { status: "disabled" });
        const secret = isObject(reply.config) ? reply.config.secret : null;
        return { id, secret: typeof body.secret !== "string" && typeof secret === "string" ? secret : null };
      }
      case "query":
      case "dashboard": {
        const { id } = await post(at, { slug: key, ...pick(body, FIELDS[noun]) });
        return { id, ...none };
      }
      case "webhook": {
        const given: JsonObject = typeof body.secret === "string" ? pick(body, ["secret"]) : {};
        const url = key.replace(/ \(\d+\)$/, ""); // the second of one URL
        const { id, reply } = await post(at, {
          url,
          ...pick(body, ["events"]),
          ...given,
        });
        if (body.disabled === true) await send("PATCH", `${at}/${id}`, { status: "disabled" });
        return { id, secret: "secret" in given ? null : String(reply.secret) };
      }
    }
  }

  /** An automation's config, with its secret where one is given: what it signs with, or what its sender sends along. */
  function configOf(body: JsonObject): JsonObject {
    const given = raw(body.config);
    const config = isObject(given) ? given : {};
    if (typeof body.secret !== "string") return config;
    const secret = raw(body.secret);
    const field = proofFieldOf(config.auth);
    if (field === null || !isObject(config.auth)) return { ...config, secret };
    return { ...config, auth: { ...config.auth, [field]: secret } };
  }

  /** Brings a thing from `before` to `body`; gives back its id, which is another for a new version of a template. */
  async function change(noun: Noun, id: string, before: JsonObject, body: JsonObject): Promise<string> {
    const path = `${PATHS[noun]}/${id}`;
    const differs = (name: string) =>
      canonicalJson(before[name] ?? null) !== canonicalJson(body[name] ?? null);
    const changed = (names: readonly string[]) => pick(body, names.filter(differs));
    switch (noun) {
      case "template": {
        const { status, ...fields } = changed([
          "displayName",
          "description",
          "iconUrl",
          "definition",
          "inputDefaults",
          "inputJsonSchema",
          "status",
        ]);
        const next =
          status ?? (before.status === "published" && Object.keys(fields).length > 0 ? "published" : null);
        const reply = await send("PUT", path, { ...fields, ...(next === null ? {} : { status: next }) });
        return String(reply.id ?? id);
      }
      case "connection": {
        const credentials = isObject(body.credentials) ? body.credentials : {};
        const patch: JsonObject = {
          ...changed(["name", "approvalRequired"]),
          ...(differs("config") ? { config: replacing(raw(before.config), raw(body.config)) } : {}),
          ...(Object.keys(credentials).length > 0 ? { credentials: raw(credentials) } : {}),
        };
        if (Object.keys(patch).length > 0) await send("PATCH", path, patch);
        await applyConnection(id, body, before);
        return id;
      }
      case "api": {
        const names = ["description", "status", "approvalRequired", "endpoints", "tools"];
        const connection: JsonObject = differs("connection") ? { connectionId: connectionOf(body) } : {};
        await send("PATCH", path, { ...changed(names), ...connection });
        return id;
      }
      case "agent":
        await send("PATCH", path, changed(["markdown"]));
        return id;
      case "action": {
        const connection: JsonObject = differs("connection") ? { connectionId: connectionOf(body) } : {};
        const status: JsonObject = differs("disabled") ? { status: statusOf(body) } : {};
        await send("PATCH", path, { ...changed(["name", "tags", "definition"]), ...connection, ...status });
        return id;
      }
      case "automation": {
        const config = configOf(body);
        const hasConfig = differs("config") || typeof body.secret === "string";
        const isTurned = differs("disabled") || differs("draft");
        const status: JsonObject = isTurned ? { status: statusOf(body) } : {};
        await send("PATCH", path, {
          ...changed(["name", "description", "tags"]),
          ...(hasConfig ? { config: replacing(raw(before.config), config) } : {}),
          ...status,
        });
        return id;
      }
      case "query":
      case "dashboard":
        await send("PATCH", path, changed(FIELDS[noun]));
        return id;
      case "webhook": {
        const status: JsonObject = differs("disabled") ? { status: statusOf(body) } : {};
        await send("PATCH", path, { ...changed(["events"]), ...status });
        if (typeof body.secret === "string")
          await send("POST", `${path}/rotate-secret`, pick(body, ["secret"]));
        return id;
      }
    }
  }

  async function remove(noun: Noun, id: string, key: string): Promise<void> {
    if (noun !== "template") return void (await send("DELETE", `${PATHS[noun]}/${id}`));
    for (let offset = 0, ids: string[] = []; ; offset += VERSIONS) {
      const { body } = await api.get<{ templates: JsonObject[] }>(PATHS.template, {
        limit: VERSIONS,
        offset,
      });
      ids = [...ids, ...body.templates.filter(({ slug }) => slug === key).map((row) => String(row.id))];
      if (body.templates.length === VERSIONS) continue;
      for (const version of ids) await send("DELETE", `${PATHS.template}/${version}`);
      return;
    }
  }

  return {
    create,
    change,
    remove,
    /** Takes back a version of a template that a change has made. */
    async dropVersion(id: string, status: Json): Promise<void> {
      const path = `${PATHS.template}/${id}`;
      if (status === "draft") await send("DELETE", path);
      else await send("POST", `${path}/deprecate`);
    },
  };
}

const VERSIONS = 100;
/** What is sent of those that the API takes as files have them. */
const FIELDS = {
  query: ["name", "description", "sql", "parameters", "chart"],
  dashboard: ["name", "description", "filters", "panels", "refreshSeconds", "sharing"],
} as const;

/** A patch that leaves nothing of `before` but what is in `after`. */
const replacing = (before: Json, after: Json): JsonObject => ({
  ...Object.fromEntries(Object.keys(isObject(before) ? before : {}).map((key) => [key, null])),
  ...(isObject(after) ? after : {}),
});

/** A spec's text with its slug in the front matter. */
const withSlug = (markdown: string, slug: string): string => markdown.replace("\n", `\nslug: ${slug}\n`);
