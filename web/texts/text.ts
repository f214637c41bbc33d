import { type Language, openedLanguage } from "./language.ts";

/** Translations by English text. Texts with plural forms have one per form, as in `Intl.PluralRules`. */
type Texts = Readonly<Record<string, string | Readonly<Partial<Record<Intl.LDMLPluralRule, string>>>>>;

let texts: Texts | null = null;
/** Translations of the server's texts. */
let served: Readonly<Record<string, string>> | null = null;
let rules = new Intl.PluralRules("en");

/** The language of the page. English if the translations couldn't be loaded. */
export const language = (): Language => (texts === null ? "en" : openedLanguage());

/**
 * Loads the translations of the page's language. English texts are in the source. Modules in the page's main bundle are
 * evaluated before: `scripts/texts.ts` checks that they call `t` only in functions.
 */
export async function loadTexts(): Promise<void> {
  if (openedLanguage() === "de") {
    [texts, served] = await Promise.all([
      import("./de.json").then(
        (file) => file.default,
        () => null,
      ),
      import("./de-server.json").then(
        (file) => file.default,
        () => null,
      ),
    ]);
  }
  rules = new Intl.PluralRules(language());
  document.documentElement.lang = language();
}

/** Names of a text's placeholders: `count` and `total` for `{count} of {total}`. */
export type NameIn<S extends string> = S extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NameIn<Rest>
  : never;

/** Values for all placeholders of a text. None if it has none. */
type ValuesOf<S extends string> = [NameIn<S>] extends [never]
  ? []
  : [Readonly<Record<NameIn<S>, string | number>>];

const NOTE = /\|[^|]*$/;
const PLACEHOLDER = /\{(\w+)\}/g;

/** Translates a text, without filling in placeholders. */
export function textOf(english: string): string {
  const text = texts?.[english];
  return typeof text === "string" && text !== "" ? text : english.replace(NOTE, "");
}

/** Translates a text of the server, if a translation exists. */
export const known = (english: string): string => (texts && served?.[english]) || english;

/** Patterns of the server's sentences with values. */
const patterns = once(() =>
  Object.entries(served ?? {}).flatMap(([english, translation]) => {
    const names = [...english.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
    if (names.length === 0) return [];
    const fixed = english.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return [{ translation, names, pattern: new RegExp(`^${fixed.join("(.+)")}$`, "s") }];
  }),
);

/** Translates a sentence of the server with its values, if a translation exists. */
export function serverSentence(english: string): string {
  if (texts === null || served === null) return english;
  const text = served[english];
  if (text !== undefined) return text;
  for (const { translation, names, pattern } of patterns()) {
    const found = pattern.exec(english);
    if (found)
      return filled(translation, Object.fromEntries(names.map((name, at) => [name, found[at + 1] ?? ""])));
  }
  return english;
}

/** Fills in placeholders. Those without a value are left unchanged. */
export const filled = (text: string, values: Readonly<Record<string, string | number>> = {}): string =>
  text.replace(PLACEHOLDER, (name, key: string) => String(values[key] ?? name));

/**
 * A text in the page's language: `t("{name} saved", { name })`.
 * A note after the last `|` distinguishes meanings of the same English text, as in `t("Run|verb")`, and isn't shown.
 */
export const t = <const S extends string>(english: S, ...[values]: ValuesOf<S>): string =>
  filled(textOf(english), values);

/** Selects the form of a text for `count`. Translations are found by the form `other`. */
export function textFor(count: number, one: string, other: string): string {
  const forms = texts?.[other];
  const rule = rules.select(count);
  if (typeof forms === "object") return forms[rule] ?? forms.other ?? other;
  return rule === "one" ? one : other;
}

/** Caches the result on first use, when translations are loaded. For constants with texts. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
