import { canonicalJson, comparable, isObject, type Json } from "../base/json.ts";

/** A difference between two JSON values at one path. */
interface Difference {
  path: readonly (string | number)[];
  from: Json;
  to: Json;
}

/** Compares objects by key, and lists of the same length by position. Everything else is compared as a whole. */
export function differencesOf(from: Json, to: Json, path: Difference["path"] = []): Difference[] {
  const name = String(path.findLast((step) => typeof step === "string") ?? "");
  if (comparable(from, name) === comparable(to, name)) return [];
  if (isObject(from) && isObject(to)) {
    const inner = [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((key) =>
      differencesOf(from[key] ?? null, to[key] ?? null, [...path, key]),
    );
    const isReordered = canonicalJson(from) === canonicalJson(to);
    return inner.length === 0 && isReordered ? [{ path, from, to }] : inner;
  }
  if (Array.isArray(from) && Array.isArray(to) && from.length === to.length)
    return from.flatMap((item, at) => differencesOf(item, to[at] ?? null, [...path, at]));
  return [{ path, from, to }];
}

const MAX_TOLD = 100;

/** Formats a value on one line for people. */
export function shortText(value: Json): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > MAX_TOLD ? `${text.slice(0, MAX_TOLD)}…` : text;
}
