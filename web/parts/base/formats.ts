import { language } from "../../texts/text.ts";

/** Default locale: the browser's, if it has the page's language, else that language. */
function unset(): string | undefined {
  const isOwn = language() === "en" || navigator.language.startsWith(language());
  return isOwn ? undefined : language();
}

/** Locale and time zone of numbers and times. Undefined means the browser's. */
interface Region {
  readonly locale: string | undefined;
  readonly timeZone: string | undefined;
}

let region: Region = { locale: undefined, timeZone: undefined };

/** Sets the user's locale and time zone. Those that the browser doesn't support are ignored. */
export function setRegion({ locale, timezone }: { locale: string | null; timezone: string | null }): void {
  const next = { locale: knownLocale(locale), timeZone: knownZone(timezone) };
  if (next.locale !== region.locale || next.timeZone !== region.timeZone) region = next;
}

/** The time zone of displayed times. */
export const ownZone = (): string =>
  region.timeZone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";

/** Caches the result of `make` for the user's locale and time zone. */
function inRegion<T>(make: (region: Region) => T): () => T {
  let madeFor: Region | null = null;
  let made: T | undefined;
  return () => {
    if (made === undefined || madeFor !== region)
      made = make({ ...region, locale: region.locale ?? unset() });
    madeFor = region;
    return made;
  };
}

export const dateFormat = (options: Intl.DateTimeFormatOptions) =>
  inRegion(({ locale, timeZone }) => new Intl.DateTimeFormat(locale, { timeZone, ...options }));

export const numberFormat = (options: Intl.NumberFormatOptions = {}) =>
  inRegion(({ locale }) => new Intl.NumberFormat(locale, options));

export const relativeFormat = (options: Intl.RelativeTimeFormatOptions) =>
  inRegion(({ locale }) => new Intl.RelativeTimeFormat(locale, options));

function knownLocale(locale: string | null): string | undefined {
  try {
    return locale === null ? undefined : Intl.DateTimeFormat.supportedLocalesOf(locale)[0];
  } catch {
    return undefined; // not a language tag
  }
}

function knownZone(timeZone: string | null): string | undefined {
  try {
    return timeZone === null
      ? undefined
      : new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone;
  } catch {
    return undefined; // this browser doesn't know the time zone
  }
}
