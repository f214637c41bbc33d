import { language } from "../../texts/text.ts";

/** Where the person set no locale: the browser's own where it is of the page's language, else that language. */
function unset(): string | undefined {
  const isOwn = language() === "en" || navigator.language.startsWith(language());
  return isOwn ? undefined : language();
}

/** How a person reads numbers and times; undefined: as the browser does. */
interface Region {
  readonly locale: string | undefined;
  readonly timeZone: string | undefined;
}

let region: Region = { locale: undefined, timeZone: undefined };

/** Uses the person's own settings from now on; what the browser doesn't know is left to the browser. */
export function setRegion({ locale, timezone }: { locale: string | null; timezone: string | null }): void {
  const next = { locale: knownLocale(locale), timeZone: knownZone(timezone) };
  if (next.locale !== region.locale || next.timeZone !== region.timeZone) region = next;
}

/** The zone that times are shown in. */
export const ownZone = (): string =>
  region.timeZone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";

/** What `make` gives for the person's region, made once for each. */
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
    return undefined; // it is no language tag here
  }
}

function knownZone(timeZone: string | null): string | undefined {
  try {
    return timeZone === null
      ? undefined
      : new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone;
  } catch {
    return undefined; // this browser's list of zones is older
  }
}
