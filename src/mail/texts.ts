import german from "./de.json" with { type: "json" };

/** Returns a text of a mail in the reader's language, with values filled in. */
export type Translate = (english: string, values?: Readonly<Record<string, string | number>>) => string;

const CATALOGUES: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  de: new Map(Object.entries(german)),
};

/** Returns the texts for a locale such as `de-CH`. English for locales without a translation. */
export function textsFor(locale: string | null): Translate {
  const texts = CATALOGUES[locale?.split("-")[0] ?? ""];
  return (english, values = {}) =>
    (texts?.get(english) ?? english).replace(/\{(\w+)\}/g, (name, key: string) =>
      String(values[key] ?? name),
    );
}
