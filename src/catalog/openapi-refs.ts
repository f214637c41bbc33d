import { isObject, type Json, type JsonObject } from "../base/json.ts";

/** Maximum number of other documents that one description refers to. */
export const MAX_DOCUMENTS = 20;

/** A part of a document, and the document that its references are relative to. */
export interface Part {
  value: Json;
  base: string;
  /** Position as a string, to detect cycles. */
  key: string;
}

/** Reads another document of the same origin. Throws if it can't be read. */
export type ReadOther = (url: string) => Promise<Json>;

/** The documents of one description, to resolve its references. */
export interface References {
  /** Null if it can't be resolved. */
  follow(ref: string, base: string): Part | null;
  root: Part;
  /**
   * Schemas left for the current operation: they are cut when `left` reaches 0, and from the start if `isShort`.
   * `looks` counts the response schemas of the whole description.
   */
  limits: { left: number; looks: number; isShort: boolean };
  /** Schemas by reference, as expanded before. */
  unfolded: Map<string, JsonObject>;
}

/**
 * Opens a description with all documents that it refers to. Those of other origins aren't read, nor any if there is
 * no `url` to start at; `warn` is called for each.
 */
export async function openReferences(
  document: JsonObject,
  url: string | null,
  read: ReadOther | null,
  warn: (text: string) => void,
): Promise<References> {
  const root = url ?? "";
  const documents = new Map<string, Json>([[root, document]]);
  const pending: { base: string; value: Json }[] = [{ base: root, value: document }];
  const refused = new Set<string>();
  for (let at = pending.shift(); at; at = pending.shift()) {
    for (const ref of externalRefs(at.value)) {
      const target = targetOf(ref, at.base);
      if (target === null || documents.has(target) || refused.has(target)) {
        if (target === null && !refused.has(ref)) {
          refused.add(ref);
          warn(`${ref} is in another document, and the location of this one is unknown.`);
        }
        continue;
      }
      const fault = faultOf(target, root, documents.size, read);
      if (fault !== null || read === null) {
        refused.add(target);
        warn(`${ref} is not read: ${fault}.`);
        continue;
      }
      try {
        const value = await read(target);
        documents.set(target, value);
        pending.push({ base: target, value });
      } catch (error) {
        refused.add(target);
        warn(`${ref} could not be read: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
  return {
    root: { value: document, base: root, key: root },
    limits: { left: Number.POSITIVE_INFINITY, looks: Number.POSITIVE_INFINITY, isShort: false },
    unfolded: new Map(),
    follow(ref, base) {
      const [, pointer = ""] = splitRef(ref);
      const at = ref.startsWith("#") ? base : targetOf(ref, base);
      const whole = at === null ? undefined : documents.get(at);
      if (at === null || whole === undefined) return null;
      const value = resolve(whole, pointer);
      return value === undefined ? null : { value, base: at, key: `${at}#${pointer}` };
    },
  };
}

function faultOf(target: string, root: string, count: number, read: ReadOther | null): string | null {
  if (read === null) return "it is in another document";
  if (new URL(target).origin !== new URL(root).origin) return "it is on another server";
  return count > MAX_DOCUMENTS ? `a description can have at most ${MAX_DOCUMENTS} other documents` : null;
}

function splitRef(ref: string): [file: string, pointer: string] {
  const hash = ref.indexOf("#");
  return hash < 0 ? [ref, ""] : [ref.slice(0, hash), ref.slice(hash + 1)];
}

function targetOf(ref: string, base: string): string | null {
  const [file] = splitRef(ref);
  if (file === "") return base;
  const url = base === "" ? URL.parse(file) : URL.parse(file, base);
  if (!url || !/^https?:$/.test(url.protocol) || base === "") return null;
  url.hash = "";
  return url.href;
}

/** All references to other documents, without duplicates. Not recursive. */
function externalRefs(value: Json): Set<string> {
  const found = new Set<string>();
  const open: Json[] = [value];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (typeof at !== "object" || at === null) continue;
    for (const [key, item] of Object.entries(at)) {
      if (key === "$ref" && typeof item === "string" && !item.startsWith("#")) found.add(item);
      else if (typeof item === "object" && item !== null) open.push(item);
    }
  }
  return found;
}

/** Resolves a JSON pointer; own properties only. */
function resolve(whole: Json, pointer: string): Json | undefined {
  let at: Json | undefined = whole;
  if (pointer === "" || pointer === "/") return at;
  for (const part of pointer.split("/").slice(1)) {
    const name = decode(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(at)) at = /^\d+$/.test(name) ? at[Number(name)] : undefined;
    else at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
    if (at === undefined) return undefined;
  }
  return at;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not a valid escape: taken literally
  }
}

/** `Node` of `#/components/schemas/Node`. */
export const refName = (ref: string) =>
  decode(ref.split("/").at(-1) ?? ref)
    .replaceAll("~1", "/")
    .slice(0, 100);
