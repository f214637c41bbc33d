import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { MASK, maskSecrets } from "../../base/mask.ts";
import { ESCAPED, escaped, WITHIN } from "../../base/placeholder.ts";

/** What a reference may name: `${connection:shop}` stands for that connection's id. */
export const NOUNS = [
  "template",
  "connection",
  "api",
  "agent",
  "action",
  "automation",
  "query",
  "dashboard",
  "webhook",
] as const;
export type Noun = (typeof NOUNS)[number];

const HELD = /^\$\{([^{}]*)\}$/;
export const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const REFERENCE = new RegExp(`^(${NOUNS.join("|")}):(.+)$`);

/** What a text stands for; null for one that stands for itself. */
export function placeholderIn(
  text: string,
): { variable: string } | { noun: Noun; key: string } | { unknown: string } | null {
  const held = HELD.exec(text)?.[1];
  if (held === undefined) return null;
  if (VARIABLE.test(held)) return { variable: held };
  const [, noun, key] = REFERENCE.exec(held) ?? [];
  const known = NOUNS.find((one) => one === noun);
  return known && key !== undefined ? { noun: known, key } : { unknown: held };
}

/** The text that an escaped one stands for. */
export const unescaped = (text: string): string =>
  ESCAPED.test(text)
    ? text.slice(text.startsWith("$$") ? 1 : 0)
    : text.replace(WITHIN, (one, dollars) => (dollars.length > 1 ? one.slice(1) : one));

/** Replaces the variables within a text; those without a value stay, and `missing` hears of them. */
export function filledWithin(
  text: string,
  valueFor: (name: string) => string | undefined,
  missing: (name: string) => void,
): string {
  if (ESCAPED.test(text)) return text;
  let isWhole = true;
  const literal = text.replace(WITHIN, (one, dollars, name) => {
    if (dollars.length > 1) return one.slice(1);
    const value = valueFor(name);
    if (value !== undefined) return value;
    isWhole = false;
    missing(name);
    return one;
  });
  return isWhole ? escaped(literal) : text;
}

/** The variables within a text, replaced by what `change` makes of their names. */
export const withVariables = (text: string, change: (name: string) => string): string =>
  text.replace(WITHIN, (one, dollars, name) => (dollars.length > 1 ? one : change(name)));

export type Path = readonly (string | number)[];

/** A copy of `value` with every text in it changed. */
export function mapTexts(value: Json, change: (text: string, path: Path) => Json, path: Path = []): Json {
  if (typeof value === "string") return change(value, path);
  if (Array.isArray(value)) return value.map((item, at) => mapTexts(item, change, [...path, at]));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapTexts(item, change, [...path, key])]),
  );
}

/** As a file has it: ids of what is known are references, all else stands for itself. */
export const encoded = <T extends Json>(value: T, referenceOf: (id: string) => string | null): T =>
  mapTexts(value, (text) => referenceOf(text) ?? escaped(text)) as T;

/** As the API takes it. */
export const decoded = (value: Json, idOf: (noun: Noun, key: string) => string): Json =>
  mapTexts(value, (text) => {
    const found = placeholderIn(text);
    if (found !== null && "noun" in found) return idOf(found.noun, found.key);
    return unescaped(text);
  });

export const valueAt = (value: Json | undefined, path: Path): Json | undefined =>
  path.reduce<Json | undefined>(
    (found, step) =>
      Array.isArray(found) ? found[Number(step)] : isObject(found) ? found[String(step)] : undefined,
    value,
  );

/** Whether a text at this path looks like a secret; a template that fetches one is none. */
export function isSecretText(text: string, path: Path): boolean {
  const plain = text.replace(/\{\{[^{}]*\}\}/g, "").trim();
  if (plain === "" || (plain !== text.trim() && /^(Bearer|Basic|Token)$/i.test(plain))) return false;
  const key = String(path.findLast((step) => typeof step === "string") ?? "value");
  if (text.endsWith(`/${MASK}`)) return true; // an address that the API masks the end of
  const tried = text === MASK ? "any" : text; // what the API masks is one
  return JSON.stringify(maskSecrets({ [key]: tried })) !== JSON.stringify({ [key]: tried });
}

/** The key of one version of a template: `orders-api@2`. */
export const versionKey = (slug: string, version: Json): string => `${slug}@${version}`;

/** A template's slug, whichever version a key names. */
export const slugOfKey = (key: string): string => key.replace(/@[^@]*$/, "");

/** A key as it may be printed. */
export const shownKey = (noun: Noun, key: string): string =>
  noun === "webhook" ? String(maskSecrets(key)) : key;

/** Keys that stand first wherever they are, then the others by their names. */
const FIRST = ["key", "name", "kind", "type", "actionId", "connectionId"];

/** A value with its keys in an order that does not depend on how it came about. */
export function ordered(value: Json): Json {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isObject(value)) return value;
  const rank = (key: string) => (FIRST.includes(key) ? FIRST.indexOf(key) : FIRST.length);
  const keys = Object.keys(value).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return Object.fromEntries(keys.map((key) => [key, ordered(value[key] as Json)])) as JsonObject;
}

/** Several webhooks may have one URL: the second has the key `URL (2)`. */
export function numbered(key: string, isTaken: (key: string) => boolean): string {
  for (let n = 1; ; n++) {
    const one = n === 1 ? key : `${key} (${n})`;
    if (!isTaken(one)) return one;
  }
}
