import { Duration, Instant, isNumber, type Value } from "../value.ts";
import { type Definitions, fail, instantOf, refuse, textOf, wholeOf } from "./contract.ts";
import { instantFrom } from "./core.ts";
import { formatDate, parseDate } from "./date-pattern.ts";

/** An IANA time zone, or an offset such as +02:00. */
function zoneOf(value: Value | undefined): string {
  if (value === undefined) return "UTC";
  const text = textOf(value);
  const zone = /^\d\d:\d\d$/.test(text) ? `+${text}` : text;
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone);
    return zone;
  } catch {
    return fail(`unknown time zone ${JSON.stringify(text.slice(0, 60))}`);
  }
}

const zoned = ({ nanoseconds }: Instant, zone: Value | undefined) =>
  Temporal.Instant.fromEpochNanoseconds(nanoseconds).toZonedDateTimeISO(zoneOf(zone));

/** A time, or its text. */
const timeOf = (value: Value = null): Instant =>
  typeof value === "string" ? instantFrom(value) : instantOf(value);

/** A component of a time in a zone. */
function part(about: string, example: string, json: string, get: (time: Temporal.ZonedDateTime) => number) {
  return {
    takes: "time, zone?",
    about,
    examples: [[example, json]] as const,
    call: ([time, zone]: readonly Value[]) => BigInt(get(zoned(instantOf(time), zone))),
  };
}

/** A component of a time, or a duration in that unit. */
function partOrLength(unit: string, nanoseconds: bigint, get: (time: Temporal.ZonedDateTime) => number) {
  return {
    takes: "time or duration, zone?",
    about: `The ${unit} of a time, or the total in a duration.`,
    examples: [[`timestamp("2026-01-31T12:34:56Z").${unit}()`, UNIT_EXAMPLES[unit] ?? "0"]] as const,
    call([value = null, zone]: readonly Value[]) {
      if (value instanceof Duration) return value.nanoseconds / nanoseconds;
      return BigInt(get(zoned(instantOf(value), zone)));
    },
  };
}

const UNIT_EXAMPLES: Readonly<Record<string, string>> = {
  getHours: "12",
  getMinutes: "34",
  getSeconds: "56",
};

const UNITS = ["years", "months", "weeks", "days", "hours", "minutes", "seconds", "milliseconds"] as const;
type Unit = (typeof UNITS)[number];

function unitOf(value: Value | undefined): Unit {
  const text = textOf(value);
  const unit = UNITS.find((each) => each === text || each === `${text}s`);
  return unit ?? fail(`unknown unit ${JSON.stringify(text.slice(0, 60))}. Use ${UNITS.join(", ")}`);
}

const instantAt = (time: Temporal.ZonedDateTime): Instant => new Instant(time.epochNanoseconds);

export const dateFunctions: Definitions = {
  "date.parse": {
    takes: "text, pattern?, zone?",
    about: `Parses a time. The pattern uses Unicode letters: \`yyyy yy M MM MMM MMMM d dd EEE EEEE H HH h hh a m mm s ss VV\`, one to nine \`S\` for a fraction of a second, three \`X\` for an offset such as +02:00, and literal text in '…'. Without a pattern, the text must be RFC 3339 with a zone. The zone is the one in the text, then the argument, then UTC. Where clocks are set forward, a skipped time is moved forward by as much (02:30 is 03:30); where they are set back, a repeated time is the first of the two.`,
    examples: [
      ['date.parse("31.01.2026", "dd.MM.yyyy")', '"2026-01-31T00:00:00.000Z"'],
      ['date.parse("2026-01-31 12:00", "yyyy-MM-dd HH:mm", "Europe/Berlin")', '"2026-01-31T11:00:00.000Z"'],
    ],
    call: ([text, pattern, zone]) =>
      pattern === undefined
        ? instantFrom(textOf(text))
        : parseDate(textOf(text), textOf(pattern), zoneOf(zone)),
  },
  "date.format": {
    takes: "time, pattern, zone?",
    about: "Formats a time, or its text, by a pattern with the letters of `date.parse`.",
    examples: [
      ['date.format("2026-01-31T23:30:00Z", "d MMMM yyyy", "Europe/Berlin")', '"1 February 2026"'],
      ['date.format(timestamp("2026-01-31T12:00:00Z"), "yyyy-MM-dd HH:mm:ss")', '"2026-01-31 12:00:00"'],
    ],
    call: ([time, pattern, zone]) => formatDate(zoned(timeOf(time), zone), textOf(pattern)),
  },
  "date.add": {
    takes: "time, count, unit, zone?",
    about:
      "Adds years, months, weeks, days, hours, minutes, seconds or milliseconds to a time, or subtracts them if the count is negative. If the month is shorter, the result is its last day.",
    examples: [['date.add("2026-01-31T00:00:00Z", 1, "month")', '"2026-02-28T00:00:00.000Z"']],
    call: ([time, count, unit, zone]) => {
      const length = { [unitOf(unit)]: wholeOf(count) };
      try {
        return instantAt(zoned(timeOf(time), zone).add(length));
      } catch (error) {
        if (error instanceof RangeError) return fail("the time is outside the years 1 to 9999");
        throw error;
      }
    },
  },
  "date.diff": {
    takes: "from, to, unit, zone?",
    about: "Number of whole units between two times; negative if the second is earlier.",
    examples: [['date.diff("2026-01-01T00:00:00Z", "2026-03-15T00:00:00Z", "months")', "2"]],
    call([from, to, unit, zone]) {
      const largestUnit = unitOf(unit);
      const length = zoned(timeOf(from), zone).until(zoned(timeOf(to), zone), { largestUnit });
      return BigInt(length[largestUnit]);
    },
  },
  getFullYear: part(
    "The year.",
    'timestamp("2026-01-31T12:00:00Z").getFullYear()',
    "2026",
    (time) => time.year,
  ),
  getMonth: part(
    "Month, from 0 for January, as in CEL.",
    'timestamp("2026-01-31T12:00:00Z").getMonth()',
    "0",
    (time) => time.month - 1,
  ),
  getDate: part(
    "Day of the month, from 1.",
    'timestamp("2026-01-31T12:00:00Z").getDate()',
    "31",
    (time) => time.day,
  ),
  getDayOfMonth: part(
    "Day of the month, from 0.",
    'timestamp("2026-01-31T12:00:00Z").getDayOfMonth()',
    "30",
    (time) => time.day - 1,
  ),
  getDayOfWeek: part(
    "Day of the week, from 0 for Sunday.",
    'timestamp("2026-01-31T12:00:00Z").getDayOfWeek()',
    "6",
    (time) => time.dayOfWeek % 7,
  ),
  getDayOfYear: part(
    "Day of the year, from 0.",
    'timestamp("2026-01-31T12:00:00Z").getDayOfYear()',
    "30",
    (time) => time.dayOfYear - 1,
  ),
  getHours: partOrLength("getHours", 3_600_000_000_000n, (time) => time.hour),
  getMinutes: partOrLength("getMinutes", 60_000_000_000n, (time) => time.minute),
  getSeconds: partOrLength("getSeconds", 1_000_000_000n, (time) => time.second),
  getMilliseconds: {
    takes: "time or duration, zone?",
    about: "Milliseconds within the second.",
    examples: [['timestamp("2026-01-31T12:00:00.250Z").getMilliseconds()', "250"]],
    call([value = null, zone]) {
      if (value instanceof Duration) return (value.nanoseconds / 1_000_000n) % 1_000n;
      return isNumber(value)
        ? refuse("a time or a duration", value)
        : BigInt(zoned(instantOf(value), zone).millisecond);
    },
  },
};
