import type { Answer, Client } from "./app.ts";

export const BUNDLES = "/api/v1/bundles";
export const TEMPLATES = "/api/v1/templates";

export const RANDOM_ID = "01900000-0000-7000-8000-00000000abcd";

/** A schema of inputs, for tests that need one. */
export const schemaOf = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });

/** A template's body. `published` publishes it. */
export const action = (slug: string, definition: object, more: object = {}) => ({
  slug,
  displayName: `Template ${slug}`,
  templateType: "action",
  kind: "http_request",
  definition,
  ...more,
});

export const bundle = (slug: string, components: object[], more: object = {}) => ({
  slug,
  displayName: `Bundle ${slug}`,
  templateType: "bundle",
  definition: { components },
  ...more,
});

/** Creates a template and returns the response. */
export async function draft(call: Client, body: object) {
  const made = await call("POST", TEMPLATES, body);
  if (made.status !== 201) throw new Error(`${made.status} ${made.text}`);
  return made.body;
}

export async function published(call: Client, body: object) {
  const { id } = await draft(call, body);
  return ok(await call("POST", `${TEMPLATES}/${id}/publish`));
}

/** The body of a 200. Anything else fails the test with the response. */
export function ok({ status, text, body }: Answer) {
  if (status !== 200) throw new Error(`${status} ${text}`);
  return body;
}

/** Installs a bundle. Returns its components' IDs by key, with the whole response. */
export async function install(call: Client, slug: string, inputs: object = {}, query = "") {
  const reply = ok(await call("POST", `${BUNDLES}/${slug}/install${query}`, { inputs }));
  const ids: Record<string, string> = {};
  for (const { key, entityId } of reply.components) ids[key] = entityId;
  return { reply, ids };
}
