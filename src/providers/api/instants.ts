import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";

const INSTANT = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** Milliseconds of a date or timestamp in an API's format, UTC unless it has a zone. NaN for anything else. */
export function instantMs(value: Json | undefined): number {
  const match = typeof value === "string" ? INSTANT.exec(value) : null;
  if (!match) return Number.NaN;
  const [text, zone] = match;
  return Date.parse(text.length > 10 && zone === undefined ? `${text.replace(" ", "T")}Z` : text);
}

/** One end of a range of `field`; null leaves it open. Throws `definition_invalid` if it isn't a date and time. */
export function rangeEnd(field: string, value: Json): number | null {
  if (value === null) return null;
  const ms = instantMs(value);
  if (!Number.isNaN(ms)) return ms;
  throw new AppError(
    "definition_invalid",
    `The cursor "${field}" is a date and time, but ${JSON.stringify(value)} isn't.`,
  );
}
