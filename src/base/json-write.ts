import { canonicalJson } from "./json.ts";
import { LongJson } from "./long-json.ts";
import { inSlices, type Work } from "./slices.ts";

/** Size of a slice in values. Longer strings count as several, one per this many characters. */
const PIECE_VALUES = 4_000;
const CHARACTERS_OF_A_VALUE = 64;

/**
 * Returns the JSON of a value, like `JSON.stringify`. Writes long values in slices, giving other requests their turns.
 */
export function writeJson(value: unknown): string | Promise<string> {
  return isShort(value) ? JSON.stringify(value) : inSlices(writing(value, JSON.stringify, (keys) => keys));
}

/** Returns the canonical JSON of a value, like `canonicalJson`, in slices. */
export function writeCanonical(value: unknown): string | Promise<string> {
  return isShort(value) ? canonicalJson(value) : inSlices(writing(value, canonicalJson, inOrder));
}

/** Returns the start of a value's JSON, at least this many characters if it has them. The rest isn't written. */
export function beginJson(value: unknown, characters: number): string {
  const parts: string[] = [];
  const work = writeInto(parts, value, JSON.stringify, (keys) => keys);
  let counted = 0;
  let length = 0;
  while (length < characters && !work.next().done) {
    for (; counted < parts.length; counted++) length += parts[counted]?.length ?? 0;
  }
  return parts.join("");
}

type WriteShort = (value: unknown) => string | undefined;
type Order = (keys: string[]) => string[] | Work<string[]>;

/** Writes short parts with `write`, and members of objects in `order`. */
function* writing(value: unknown, write: WriteShort, order: Order): Work<string> {
  const parts: string[] = [];
  yield* writeInto(parts, value, write, order);
  return parts.join("");
}

function* writeInto(parts: string[], root: unknown, write: WriteShort, order: Order): Work<void> {
  if (root instanceof LongJson) {
    parts.push(root.text);
    return;
  }
  const value = plain(root);
  if (isShort(value)) {
    parts.push(write(value) ?? "null");
    return yield;
  }
  if (Array.isArray(value)) {
    let separator = "[";
    let from = 0;
    let left = PIECE_VALUES;
    for (const [index, item] of value.entries()) {
      left = weigh(item, left);
      if (left > 0) continue;
      if (index > from) {
        parts.push(separator, inner(write(value.slice(from, index))));
        separator = ",";
        yield;
      }
      parts.push(separator);
      yield* writeInto(parts, item, write, order);
      separator = ",";
      from = index + 1;
      left = PIECE_VALUES;
    }
    if (from < value.length) parts.push(separator, inner(write(value.slice(from))));
    parts.push("]");
    return;
  }
  const members = value as Record<string, unknown>;
  const ordered = order(Object.keys(members));
  let separator = "{";
  let left = PIECE_VALUES;
  for (const key of Array.isArray(ordered) ? ordered : yield* ordered) {
    const member = members[key];
    if (member === undefined || typeof member === "function" || typeof member === "symbol") continue;
    parts.push(separator, JSON.stringify(key), ":");
    separator = ",";
    left = weigh(member, left);
    if (left > 0) {
      parts.push(write(plain(member)) ?? "null");
      continue;
    }
    yield* writeInto(parts, member, write, order);
    left = PIECE_VALUES;
  }
  parts.push(separator === "{" ? "{}" : "}");
}

const inner = (list: string | undefined): string => (list ?? "[]").slice(1, -1);

/** Returns what `JSON.stringify` writes for a value with `toJSON`. */
function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("toJSON" in value)) return value;
  return typeof value.toJSON === "function" ? value.toJSON("") : value;
}

/** True for values written in one step: text of any length, since that takes no time. */
const isShort = (value: unknown): boolean =>
  typeof value !== "object" || value === null || weigh(value, PIECE_VALUES) > 0;

/** Subtracts the number of values in `value` from `left`, down to 0. */
function weigh(value: unknown, left: number): number {
  if (typeof value === "string") return left - 1 - value.length / CHARACTERS_OF_A_VALUE;
  if (typeof value !== "object" || value === null) return left - 1;
  if (value instanceof LongJson) return 0;
  let rest = left - 1;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (rest <= 0) return rest;
      rest = weigh(item, rest);
    }
    return rest;
  }
  for (const key in value) {
    if (rest <= 0) return rest;
    rest = weigh((value as Record<string, unknown>)[key], rest - key.length / CHARACTERS_OF_A_VALUE);
  }
  return rest;
}

const RUN_KEYS = 4_096;

/** Sorts keys like `sort`. */
function* inOrder(keys: string[]): Work<string[]> {
  if (keys.length <= RUN_KEYS) return keys.sort();
  let runs: string[][] = [];
  for (let from = 0; from < keys.length; from += RUN_KEYS) {
    runs.push(keys.slice(from, from + RUN_KEYS).sort());
    yield;
  }
  while (runs.length > 1) {
    const merged: string[][] = [];
    for (let n = 0; n < runs.length; n += 2) merged.push(yield* merge(runs[n] ?? [], runs[n + 1] ?? []));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge(one: readonly string[], other: readonly string[]): Work<string[]> {
  const merged: string[] = [];
  let a = 0;
  let b = 0;
  while (a < one.length || b < other.length) {
    const [left, right] = [one[a], other[b]];
    if (right === undefined || (left !== undefined && left <= right)) merged.push(one[a++] as string);
    else merged.push(other[b++] as string);
    if (merged.length % RUN_KEYS === 0) yield;
  }
  return merged;
}
