import german from "./de.json" with { type: "json" };

/** Gives a text of a mail in the language of its reader, with its values filled in. */
export type Translate = (english: string, values?: Readonly<Record<string, string | number>>) => string;

const CATALOGUES: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  de: new Map(Object.entries(german)),
};

/** The texts for a reader's locale, such as `de-CH`; English for one that mails aren't translated to. */
export function textsFor(locale: string | null): Translate {
  const texts = CATALOGUES[locale?.split("-")[0] ?? ""];
  return (english, values = {}) =>
    (texts?.get(english) ?? english).replace(/\{(\w+)\}/g, (name, key: string) =>
      String(values[key] ?? name),
    );
}
