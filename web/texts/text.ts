import { type Language, openedLanguage } from "./language.ts";

/** Texts by their English one; of those with plural forms one for each, by `Intl.PluralRules`. */
type Texts = Readonly<Record<string, string | Readonly<Partial<Record<Intl.LDMLPluralRule, string>>>>>;

let texts: Texts | null = null;
/** Texts of the server. */
let served: Readonly<Record<string, string>> | null = null;
let rules = new Intl.PluralRules("en");

/** The language that the page speaks: English where the texts of another couldn't be fetched. */
export const language = (): Language => (texts === null ? "en" : openedLanguage());

/**
 * Fetches the texts of the language that the page is opened in. English ones are in the source. Modules that the page is
 * loaded with are evaluated before: `scripts/texts.ts` sees to it that they call `t` in functions alone.
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

/** The names of a text's placeholders: of `{count} of {total}` they are `count` and `total`. */
export type NameIn<S extends string> = S extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NameIn<Rest>
  : never;

/** Values for all placeholders of a text; none where it has none. */
type ValuesOf<S extends string> = [NameIn<S>] extends [never]
  ? []
  : [Readonly<Record<NameIn<S>, string | number>>];

const NOTE = /\|[^|]*$/;
const PLACEHOLDER = /\{(\w+)\}/g;

/** A text in the page's language, with its placeholders as they are. */
export function textOf(english: string): string {
  const text = texts?.[english];
  return typeof text === "string" && text !== "" ? text : english.replace(NOTE, "");
}

/** A text of the server in the page's language, where its translation is known. */
export const known = (english: string): string => (texts && served?.[english]) || english;

/** Sentences of the server that have values in them, by what they look like. */
const patterns = once(() =>
  Object.entries(served ?? {}).flatMap(([english, translation]) => {
    const names = [...english.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
    if (names.length === 0) return [];
    const fixed = english.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return [{ translation, names, pattern: new RegExp(`^${fixed.join("(.+)")}$`, "s") }];
  }),
);

/** A sentence of the server in the page's language, with its values, where its translation is known. */
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

/** A text with its placeholders filled in; those without a value stay. */
export const filled = (text: string, values: Readonly<Record<string, string | number>> = {}): string =>
  text.replace(PLACEHOLDER, (name, key: string) => String(values[key] ?? name));

/**
 * A text for people, in the page's language: `t("{name} saved", { name })`. What follows a last `|` is a note that tells
 * two meanings of one English text apart, as in `t("Run|verb")`; it isn't shown.
 */
export const t = <const S extends string>(english: S, ...[values]: ValuesOf<S>): string =>
  filled(textOf(english), values);

/** The form of a text for `count`; `other` is the text that the others are found by. */
export function textFor(count: number, one: string, other: string): string {
  const forms = texts?.[other];
  const rule = rules.select(count);
  if (typeof forms === "object") return forms[rule] ?? forms.other ?? other;
  return rule === "one" ? one : other;
}

/** Makes it when it is first asked for, once the texts are there: for constants that hold texts. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
