import { AppError } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { capitalized } from "../../base/plural.ts";
import type { Api } from "../verbs.ts";
import { BY_NOUN, changeOf, type Done, PATHS, type Sender } from "./by-noun.ts";
import type { Wanted } from "./read.ts";
import type { There } from "./state.ts";
import { decoded, type Noun, slugOfKey, versionKey } from "./text.ts";

const VERSIONS = 100;

/**
 * Creates, changes and deletes resources with the public API. IDs of created resources can be used from then on.
 * `warn` gets the warnings in the server's responses.
 */
export function openRequests(api: Api, things: readonly There[], warn: (message: string) => void) {
  const ids = new Map<string, string>();
  const keep = (noun: Noun, key: string, id: string) => {
    ids.set(`${noun}:${key}`, id);
    if (noun === "template") ids.set(`${noun}:${slugOfKey(key)}`, id);
  };
  for (const { noun, key, id, version } of things.toReversed()) {
    ids.set(`${noun}:${key}`, id);
    if (version !== null) ids.set(`${noun}:${versionKey(slugOfKey(key), version)}`, id);
  }
  const idOf = (noun: Noun, key: string): string => {
    const id = ids.get(`${noun}:${key}`);
    if (id === undefined) throw new AppError("not_found", `${capitalized(noun)} ${key} not found.`);
    return id;
  };
  const raw = (value: Json | undefined): Json => decoded(value ?? null, idOf);
  const send = async (method: string, path: string, body?: Json): Promise<JsonObject> => {
    const reply = (await api.send<JsonObject | null>(method, path, body)).body ?? {};
    if (Array.isArray(reply.warnings))
      for (const warning of reply.warnings) if (typeof warning === "string") warn(warning);
    return reply;
  };

  /** For one resource. `made` gets its ID as soon as it exists. */
  const senderFor = (noun: Noun, key: string, made: (id: string) => void): Sender => ({
    send,
    async post(path, body) {
      const reply = await send("POST", path, body);
      const id = String(reply.id);
      keep(noun, key, id);
      made(id);
      return { id, reply };
    },
    raw,
    pick: (body, names) => Object.fromEntries(names.map((name) => [name, raw(body[name])])),
    idOf,
  });

  return {
    create: ({ noun, key, body }: Wanted, made: (id: string) => void): Promise<Done> =>
      BY_NOUN[noun].create(senderFor(noun, key, made), key, body),

    /** Changes a resource from `before` to `body`. The returned ID differs for a new version of a template. */
    change(noun: Noun, id: string, before: JsonObject, body: JsonObject): Promise<Done> {
      const sender = senderFor(noun, id, () => undefined);
      return BY_NOUN[noun].change(
        sender,
        changeOf(sender, { id, path: `${PATHS[noun]}/${id}`, before, body }),
      );
    },

    /** When a resource was last changed. */
    async changedAt(noun: Noun, id: string): Promise<Json> {
      return (await api.get<JsonObject>(`${PATHS[noun]}/${id}`)).body.updatedAt ?? null;
    },

    async remove(noun: Noun, id: string, key: string): Promise<void> {
      if (noun !== "template" || slugOfKey(key) !== key)
        return void (await send("DELETE", `${PATHS[noun]}/${id}`));
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
    },

    /** Deletes a version of a template that a change created. */
    async dropVersion(id: string, status: Json): Promise<void> {
      const path = `${PATHS.template}/${id}`;
      if (status === "draft") await send("DELETE", path);
      else await send("POST", `${path}/deprecate`);
    },
  };
}
