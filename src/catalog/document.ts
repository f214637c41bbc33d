import { AppError } from "../base/errors.ts";
import { isObject, type Json } from "../base/json.ts";
import { readYaml, reasonOf } from "./yaml.ts";

/** Maximum size of an API description in bytes; the largest published ones have 13 million. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;
const MAX_YAML_CHARACTERS = 3 * 1024 * 1024;
export const MAX_DEPTH = 200;

/**
 * Parses JSON or YAML text. Throws `bad_request` for anything else, for YAML that expands to much more than its text,
 * and for text that is too long or nested too deeply.
 */
export async function parseDocument(text: string): Promise<Json> {
  const start = text.trimStart().slice(0, 1);
  if (start === "{" || start === "[") {
    if (isTooDeep(text)) throw unreadable(`it is nested more than ${MAX_DEPTH} levels deep`);
    try {
      return wellFormed(JSON.parse(text), text);
    } catch (error) {
      // YAML may also start with a brace; if neither parses, report the JSON error
      const read = await parseYaml(text).catch(() => undefined);
      if (read === undefined) throw unreadable(reasonOf(error));
      return read;
    }
  }
  return parseYaml(text);
}

async function parseYaml(text: string): Promise<Json> {
  if (text.length > MAX_YAML_CHARACTERS)
    throw unreadable(`YAML can have at most ${MAX_YAML_CHARACTERS} characters. Use JSON instead`);
  try {
    return wellFormed(await readYaml(text), text);
  } catch (error) {
    throw error instanceof AppError && error.code === "bad_request" ? unreadable(error.message) : error;
  }
}

/** Escapes may produce lone surrogates, which Weir's strings never contain. */
function wellFormed(value: Json, text: string): Json {
  if (!/\\u[dD][89a-fA-F]/.test(text)) return value;
  const mend = (item: Json): Json => {
    if (typeof item === "string") return item.toWellFormed();
    if (Array.isArray(item)) return item.map(mend);
    if (!isObject(item)) return item;
    return Object.fromEntries(Object.entries(item).map(([key, inner]) => [key.toWellFormed(), mend(inner)]));
  };
  return mend(value);
}

const unreadable = (reason: string) =>
  new AppError("bad_request", `The document can't be read as JSON or YAML: ${reason}.`);

/** Whether JSON is nested too deeply. Checked before parsing, because what follows is recursive. */
export function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) {
      for (i++; i < text.length && text.charCodeAt(i) !== 0x22; i++) if (text.charCodeAt(i) === 0x5c) i++;
    } else if (c === 0x5b || c === 0x7b) {
      if (++depth > MAX_DEPTH) return true;
    } else if (c === 0x5d || c === 0x7d) depth--;
  }
  return false;
}
