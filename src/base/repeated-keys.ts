import { isObject } from "./json.ts";

/** A key that occurs twice in a JSON object, as a path from the top-level object, and the text of the lost value. */
export interface RepeatedKey {
  path: string;
  lost: string;
}

/** Message about a lost value. */
export const KEY_REPEATED = "gave way to a later one of the same key in its object";

interface Level {
  /** Where each key's value is, or null in a list. */
  values: Map<string, { from: number; to: number }> | null;
  /** The key of the current value. Null before the first one, and in a list. */
  key: string | null;
  from: number;
}

/** The keys that an object in `text`, the JSON of `value`, has more than once. The last value wins. */
export function repeatedKeys(text: string, value: unknown): RepeatedKey[] {
  // Quick check: if there are as many quoted colons as keys, none repeats. Strings can contain more.
  return !/"\s+:/.test(text) && colonsIn(text) === keysIn(value) ? [] : find(text);
}

function colonsIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('":'); at >= 0; at = text.indexOf('":', at + 2)) count++;
  return count;
}

function keysIn(value: unknown): number {
  let count = 0;
  if (Array.isArray(value)) for (const item of value) count += keysIn(item);
  else if (isObject(value)) {
    for (const key in value) {
      const item = value[key];
      count += typeof item === "object" ? 1 + keysIn(item) : 1;
    }
  }
  return count;
}

function find(text: string): RepeatedKey[] {
  const found: RepeatedKey[] = [];
  const levels: Level[] = [];
  const endValue = (to: number) => {
    const level = levels.at(-1);
    if (level?.values && level.key !== null) level.values.set(level.key, { from: level.from, to });
  };
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"': {
        const end = endOfString(text, at);
        const colon = /\s*:/y;
        colon.lastIndex = end;
        const level = levels.at(-1);
        if (level?.values && colon.test(text)) {
          const key: string = JSON.parse(text.slice(at, end));
          level.key = key;
          const lost = level.values.get(key);
          if (lost) found.push({ path: pathOf(levels), lost: text.slice(lost.from, lost.to).trim() });
          level.from = colon.lastIndex;
        }
        at = end - 1;
        break;
      }
      case "{":
        levels.push({ values: new Map(), key: null, from: 0 });
        break;
      case "[":
        levels.push({ values: null, key: null, from: 0 });
        break;
      case ",":
        endValue(at);
        break;
      case "}":
      case "]":
        levels.pop();
        break;
    }
  }
  return found;
}

function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

const pathOf = (levels: readonly Level[]): string =>
  levels.flatMap(({ key }) => (key === null ? [] : [key])).join(".");
