import { ofBrowser } from "../storage.ts";

/** Languages of the page. The source is in English. */
export const LANGUAGES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGES;

/** The language selected in this browser. */
const CHOSEN = "weir.language";
/** The language of the last user's locale, known before the server responds. */
const LAST = "weir.language.last";

const isLanguage = (value: string | null | undefined): value is Language =>
  value !== null && value !== undefined && value in LANGUAGES;

/** A stored language. */
function stored(key: string): Language | null {
  const value = ofBrowser.get(key);
  return isLanguage(value) ? value : null;
}

/** The language selected in this browser. Null for that of the user's locale or the browser. */
export const chosenLanguage = (): Language | null => stored(CHOSEN);

/** The language of a locale, such as `de` for de-CH. Null if the page isn't translated to it. */
function languageOf(locale: string | null | undefined): Language | null {
  const language = locale?.split("-")[0]?.toLowerCase();
  return isLanguage(language) ? language : null;
}

const ofNavigator = (): Language => languageOf(globalThis.navigator?.language) ?? "en";

/** Language in which the page was opened, as far as known before sign-in. */
const opened: Language = chosenLanguage() ?? stored(LAST) ?? ofNavigator();
export const openedLanguage = (): Language => opened;

/** Reloads the page if it should be in another language. Returns whether it does. */
function reopen(): boolean {
  const isOther = (chosenLanguage() ?? stored(LAST) ?? ofNavigator()) !== opened;
  if (isOther) location.reload();
  return isOther;
}

/** Uses the language of a user's locale from now on. Returns whether the page is reloaded. */
export function followLocale(locale: string | null): boolean {
  return ofBrowser.set(LAST, locale === null ? null : (languageOf(locale) ?? "en")) && reopen();
}

/** Stores the selected language in this browser. Null means that of the locale or the browser. */
export function chooseLanguage(language: Language | null): boolean {
  return ofBrowser.set(CHOSEN, language) && reopen();
}
