/** Languages that the page speaks; English is what the source is written in. */
export const LANGUAGES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGES;

/** What the person chose in this browser. */
const CHOSEN = "weir.language";
/** What the locale of the person who was last here says, known before the server replies. */
const LAST = "weir.language.last";

const isLanguage = (value: string | null | undefined): value is Language =>
  value !== null && value !== undefined && value in LANGUAGES;

/** A stored language; null in programs other than browsers. */
function stored(key: string): Language | null {
  const value = globalThis.localStorage?.getItem(key);
  return isLanguage(value) ? value : null;
}

/** The language that the person chose in this browser; null where it follows their locale and the browser. */
export const chosenLanguage = (): Language | null => stored(CHOSEN);

/** The language of a locale, such as `de` of de-CH; null where the page doesn't speak it. */
function languageOf(locale: string | null | undefined): Language | null {
  const language = locale?.split("-")[0]?.toLowerCase();
  return isLanguage(language) ? language : null;
}

const ofBrowser = (): Language => languageOf(globalThis.navigator?.language) ?? "en";

/** Language in which the page was opened, as far as known before sign-in. */
const opened: Language = chosenLanguage() ?? stored(LAST) ?? ofBrowser();
export const openedLanguage = (): Language => opened;

function store(key: string, language: Language | null): void {
  if (language === null) localStorage.removeItem(key);
  else localStorage.setItem(key, language);
}

/** Opens the page again where it should speak another language than it does. Returns whether it does so. */
function reopen(): boolean {
  const isOther = (chosenLanguage() ?? stored(LAST) ?? ofBrowser()) !== opened;
  if (isOther) location.reload();
  return isOther;
}

/** Follows a person's locale from now on. Returns whether the page opens again for it. */
export function followLocale(locale: string | null): boolean {
  store(LAST, locale === null ? null : (languageOf(locale) ?? "en"));
  return reopen();
}

/** Keeps the person's choice in this browser; null follows their locale and the browser again. */
export function chooseLanguage(language: Language | null): boolean {
  store(CHOSEN, language);
  return reopen();
}
