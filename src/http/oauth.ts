import type { Static, TSchema } from "@sinclair/typebox";
import { OAuthError } from "../base/errors.ts";
import { isObject, type Json } from "../base/json.ts";
import { read } from "../base/shape.ts";
import type { App } from "../context.ts";
import { decodeText, parseBody, readBytes } from "./body.ts";
import type { Visit } from "./operation.ts";

/** Enough for any OAuth request. Anyone can send one. */
const MAX_BYTES = 64 * 1024;

const FORM = /^application\/x-www-form-urlencoded\b/i;

/**
 * Reads the parameters of an OAuth request, from a form or JSON. Ignores parameters that `shape` doesn't have,
 * and treats empty ones as absent (RFC 6749, section 3.2). Throws `OAuthError` for invalid ones.
 */
export async function readOAuth<T extends TSchema>(app: App, visit: Visit, shape: T): Promise<Static<T>> {
  const names = Object.keys(shape.properties ?? {});
  const { request } = visit;
  const bytes = await readBytes(app, visit);
  if (bytes.length > MAX_BYTES) throw refused("Request body too large.");
  const isForm = FORM.test(request.headers.get("content-type") ?? "");
  const fields = isForm ? fieldsOf(decodeText(bytes), names) : await parseBody(request, bytes);
  if (fields !== undefined && !isObject(fields)) throw refused("The body must be a form or a JSON object.");
  const known = Object.entries(fields ?? {}).filter(
    ([name, value]) => names.includes(name) && value !== "" && value !== null,
  );
  const { value, faults } = read(shape, Object.fromEntries(known), []);
  if (faults.length > 0) throw refused(faults.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; "));
  return value;
}

function fieldsOf(text: string, names: readonly string[]): { [name: string]: Json } {
  const form = new URLSearchParams(text);
  const fields: { [name: string]: Json } = {};
  for (const name of names) {
    const [value, ...more] = form.getAll(name);
    if (more.length > 0) throw refused(`Duplicate parameter ${name}.`);
    if (value !== undefined) fields[name] = value;
  }
  return fields;
}

/** Descriptions must not contain quotation marks or backslashes (RFC 6749, section 5.2). */
const refused = (message: string) => new OAuthError("invalid_request", message.replace(/["\\]/g, "'"));
