const rules = new Intl.PluralRules("en");

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

/** A text with its placeholders as they are. */
export function textOf(english: string): string {
  return english.replace(NOTE, "");
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

/** The form of a text for `count`. */
export const textFor = (count: number, one: string, other: string): string =>
  rules.select(count) === "one" ? one : other;

/** Makes it when it is first asked for, once the texts are there: for constants that hold texts. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
