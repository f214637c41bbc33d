import { Instant } from "../value.ts";
import { fail } from "./contract.ts";

const MONTHS = "January February March April May June July August September October November December".split(
  " ",
);
const DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(" ");
const SHORT = 3;
/** Letters of an offset such as +02:00. */
const OFFSET = "X".repeat(3);

/** Quoted text, and runs of one letter, as in Unicode's date patterns. */
const PARTS = /'((?:[^']|'')*)'|([A-Za-z])\2*/g;
/** Decimals of a second, to nanoseconds. */
const FRACTION = /^S{1,9}$/;

const unknown = (letters: string): never =>
  fail(`the pattern has unknown letters ${letters}. Write literal text as '${letters}'`);

const quoted = (text: string) => (text === "" ? "'" : text.replaceAll("''", "'"));

const padded = (value: number, length: number) => String(value).padStart(length, "0");

const decimalsOf = ({ millisecond, microsecond, nanosecond }: Temporal.ZonedDateTime): string =>
  [millisecond, microsecond, nanosecond].map((value) => padded(value, 3)).join("");

export function formatDate(time: Temporal.ZonedDateTime, pattern: string): string {
  const named = new Map([
    ["yyyy", padded(time.year, 4)],
    ["yy", padded(time.year % 100, 2)],
    ["MMMM", MONTHS[time.month - 1] ?? ""],
    ["MMM", (MONTHS[time.month - 1] ?? "").slice(0, SHORT)],
    ["EEEE", DAYS[time.dayOfWeek - 1] ?? ""],
    ["EEE", (DAYS[time.dayOfWeek - 1] ?? "").slice(0, SHORT)],
    ["a", time.hour < 12 ? "AM" : "PM"],
    [OFFSET, time.offset === "+00:00" ? "Z" : time.offset],
    ["VV", time.timeZoneId],
  ]);
  const numbers: Readonly<Record<string, number>> = {
    M: time.month,
    d: time.day,
    H: time.hour,
    h: time.hour % 12 || 12,
    m: time.minute,
    s: time.second,
  };
  return pattern.replace(PARTS, (part, text: string | undefined) => {
    if (text !== undefined) return quoted(text);
    const name = named.get(part);
    if (name !== undefined) return name;
    if (FRACTION.test(part)) return decimalsOf(time).slice(0, part.length);
    const number = part.length <= 2 ? numbers[part.charAt(0)] : undefined;
    return number === undefined ? unknown(part) : padded(number, part.length);
  });
}

/** Returns the name of a part, and the regular expression that matches it. */
function readingOf(part: string): [name: string, source: string] {
  const short = (names: readonly string[]) => names.map((name) => name.slice(0, SHORT)).join("|");
  switch (part) {
    case "yyyy":
      return ["year", "\\d{4}"];
    case "yy":
      return ["shortYear", "\\d\\d"];
    case "MMMM":
      return ["monthName", MONTHS.join("|")];
    case "MMM":
      return ["monthName", short(MONTHS)];
    case "EEEE":
      return ["dayName", DAYS.join("|")];
    case "EEE":
      return ["dayName", short(DAYS)];
    case "a":
      return ["half", "[AaPp][Mm]"];
    case OFFSET:
      return ["offset", "Z|[+-]\\d\\d:\\d\\d"];
    case "VV":
      return ["zone", "[A-Za-z_+\\-/0-9]+"];
  }
  if (FRACTION.test(part)) return ["fraction", `\\d{${part.length}}`];
  const name = { M: "month", d: "day", H: "hour", h: "hour12", m: "minute", s: "second" }[part.charAt(0)];
  if (name === undefined || part.length > 2) return unknown(part);
  return [name, part.length === 2 ? "\\d\\d" : "\\d{1,2}"];
}

/** Returns the text of each part of a pattern. */
function partsOf(text: string, pattern: string): Map<string, string> {
  const names: string[] = [];
  let source = "";
  let at = 0;
  for (const match of pattern.matchAll(PARTS)) {
    source += RegExp.escape(pattern.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[1] !== undefined) {
      source += RegExp.escape(quoted(match[1]));
      continue;
    }
    const [name, written] = readingOf(match[0]);
    if (names.includes(name)) fail(`the pattern repeats ${match[0]}`);
    names.push(name);
    source += `(${written})`;
  }
  source += RegExp.escape(pattern.slice(at));
  const found = new RegExp(`^${source}$`).exec(text);
  if (!found)
    return fail(
      `${JSON.stringify(text.slice(0, 60))} doesn't match the pattern ${JSON.stringify(pattern.slice(0, 60))}`,
    );
  return new Map(names.map((name, index) => [name, found[index + 1] ?? ""]));
}

/**
 * Two-digit years are 1970 to 2069. A time skipped by daylight saving moves forward.
 * Of a repeated time, the first is used.
 */
export function parseDate(text: string, pattern: string, zone: string): Instant {
  const parts = partsOf(text, pattern);
  const number = (name: string): number | null => (parts.has(name) ? Number(parts.get(name)) : null);
  const short = number("shortYear");
  const year =
    number("year") ??
    (short === null ? fail("the pattern has no year") : short + (short >= 70 ? 1900 : 2000));
  const name = parts.get("monthName");
  const month = name === undefined ? number("month") : MONTHS.findIndex((each) => each.startsWith(name)) + 1;
  const half = /^p/i.test(parts.get("half") ?? "") ? 12 : 0;
  const hour12 = number("hour12");
  if (hour12 !== null && (hour12 < 1 || hour12 > 12)) fail(`invalid 12-hour clock hour ${hour12}`);
  if (hour12 !== null && !parts.has("half"))
    fail("h is an hour of half a day. Add a for AM or PM, or write H for hours up to 23");
  const decimals = (parts.get("fraction") ?? "").padEnd(9, "0");
  const fields = {
    year,
    month: month ?? 1,
    day: number("day") ?? 1,
    hour: hour12 === null ? (number("hour") ?? 0) : (hour12 % 12) + half,
    minute: number("minute") ?? 0,
    second: number("second") ?? 0,
    millisecond: Number(decimals.slice(0, 3)),
    microsecond: Number(decimals.slice(3, 6)),
    nanosecond: Number(decimals.slice(6)),
  };
  const offset = parts.get("offset");
  const own = offset === undefined ? (parts.get("zone") ?? zone) : offset === "Z" ? "UTC" : offset;
  try {
    const local = Temporal.PlainDateTime.from(fields, { overflow: "reject" });
    checkDay(local, parts.get("dayName"), text);
    return new Instant(local.toZonedDateTime(own, { disambiguation: "compatible" }).epochNanoseconds);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return fail(`${JSON.stringify(text.slice(0, 60))} is not an existing date`);
  }
}

function checkDay(time: Temporal.PlainDateTime, name: string | undefined, text: string): void {
  const day = DAYS[time.dayOfWeek - 1] ?? "";
  if (name !== undefined && !day.startsWith(name))
    fail(`${JSON.stringify(text.slice(0, 60))} is a ${day}, not a ${name}`);
}
