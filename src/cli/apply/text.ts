import { isObject, type Json } from "../../base/json.ts";
import { MASK, maskSecrets } from "../../base/mask.ts";
import { ESCAPED, escaped, WITHIN } from "../../base/placeholder.ts";

/** Nouns of references: `${connection:shop}` is replaced by that connection's ID. */
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

/** Parses a text that is a single placeholder. Null for literal text. */
export function placeholderIn(
  text: string,
): { variable: string } | { noun: Noun; key: string } | { unknown: string } | null {
  const placeholder = HELD.exec(text)?.[1];
  if (placeholder === undefined) return null;
  if (VARIABLE.test(placeholder)) return { variable: placeholder };
  const [, noun, key] = REFERENCE.exec(placeholder) ?? [];
  const known = NOUNS.find((one) => one === noun);
  return known && key !== undefined ? { noun: known, key } : { unknown: placeholder };
}

/** Unescapes a text. */
export const unescaped = (text: string): string =>
  ESCAPED.test(text)
    ? text.slice(text.startsWith("$$") ? 1 : 0)
    : text.replace(WITHIN, (one, dollars) => (dollars.length > 1 ? one.slice(1) : one));

/** Replaces the variables in a text. Those without a value are left unchanged, and added to `missing`. */
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

/** Replaces the variables in a text by the result of `change` for their names. */
export const withVariables = (text: string, change: (name: string) => string): string =>
  text.replace(WITHIN, (one, dollars, name) => (dollars.length > 1 ? one : change(name)));

export type Path = readonly (string | number)[];

/** Returns a copy of `value` with every text changed. */
export function mapTexts(value: Json, change: (text: string, path: Path) => Json, path: Path = []): Json {
  if (typeof value === "string") return change(value, path);
  if (Array.isArray(value)) return value.map((item, at) => mapTexts(item, change, [...path, at]));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapTexts(item, change, [...path, key])]),
  );
}

/** Converts a value to its form in files: IDs of known resources become references, other text is escaped. */
export const encoded = <T extends Json>(value: T, referenceOf: (id: string) => string | null): T =>
  mapTexts(value, (text) => referenceOf(text) ?? escaped(text)) as T;

/** Converts a value to the API's form. */
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

/** Returns whether a text at this path looks like a secret. A template that reads a secret isn't one. */
export function isSecretText(text: string, path: Path): boolean {
  const plain = text.replace(/\{\{[^{}]*\}\}/g, "").trim();
  if (plain === "" || (plain !== text.trim() && /^(Bearer|Basic|Token)$/i.test(plain))) return false;
  const key = String(path.findLast((step) => typeof step === "string") ?? "value");
  if (text.endsWith(`/${MASK}`)) return true; // a URL whose end the API masks
  const tried = text === MASK ? "any" : text; // what the API masks is a secret
  return JSON.stringify(maskSecrets({ [key]: tried })) !== JSON.stringify({ [key]: tried });
}

/** Key of one version of a template: `orders-api@2`. */
export const versionKey = (slug: string, version: Json): string => `${slug}@${version}`;

/** Slug of a template, without the version in a key. */
export const slugOfKey = (key: string): string => key.replace(/@[^@]*$/, "");

/** A key without secrets. */
export const shownKey = (noun: Noun, key: string): string =>
  noun === "webhook" ? String(maskSecrets(key)) : key;

/** Several webhooks can have the same URL: the second has the key `URL (2)`. */
export function numbered(key: string, isTaken: (key: string) => boolean): string {
  for (let n = 1; ; n++) {
    const one = n === 1 ? key : `${key} (${n})`;
    if (!isTaken(one)) return one;
  }
}
