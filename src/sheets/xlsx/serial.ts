import { clockText, dayText } from "../calendar.ts";
import type { Cell } from "./cells.ts";
import type { FormatKind } from "./formats.ts";

const MS_PER_DAY = 86_400_000;
/** Days from 1899-12-30, day 0 for dates after February 1900, to 1970-01-01. */
const DAYS_TO_1970 = 25_569;
const DAYS_TO_1904 = 1462;
/** 9999-12-31, Excel's last date. */
const LAST_DAY = 2_932_896;
/** Excel has a 29 February 1900, as in Lotus 1-2-3, so later day numbers are one too high. */
const PHANTOM_DAY = 60;

/** Excel's days that don't exist in the calendar, by number. */
const NO_DAYS = new Map([
  [0, "1900-01-00"],
  [PHANTOM_DAY, "1900-02-29"],
]);

/** Sums of fractions of a day are off by some microseconds. */
const NOISE_MS = 0.01;
/** Maximum distance from a millisecond that still counts as one: Excel writes 15 digits. */
const noiseAt = (serial: number) =>
  Math.max(NOISE_MS, 5 * 10 ** (Math.floor(Math.log10(serial)) - 15) * MS_PER_DAY);
const ROUNDED = "times finer than a millisecond became whole milliseconds";

/**
 * Reads a number as the date or time that its cell displays, rounded to milliseconds as in Excel; a rounded value is
 * reported. Null for a number that Excel can't display as a date.
 */
export function dated(serial: number, format: FormatKind, is1904: boolean): Cell | null {
  const ms = Math.round(serial * MS_PER_DAY);
  const isWholeAfterAll = serial < 1 && ms === MS_PER_DAY;
  if (!(serial >= 0) || isWholeAfterAll) return null;
  const whole = Math.floor(serial);
  const rounding = Math.abs((serial - whole) * MS_PER_DAY - (ms - whole * MS_PER_DAY));
  const more = rounding > noiseAt(serial) ? { why: ROUNDED } : {};
  const day = Math.floor(ms / MS_PER_DAY);
  const rest = ms - day * MS_PER_DAY;
  const clock = clockText(Math.floor(rest / 1000), rest % 1000, 3);
  if (format === "clock" && day === 0) return { kind: "clock", text: clock, ...more };
  const noDay = is1904 ? undefined : NO_DAYS.get(day);
  if (noDay !== undefined)
    return { kind: "nothing", text: noDay, why: "days that only Excel has became NULL" };
  const counted = is1904 ? day + DAYS_TO_1904 : day < PHANTOM_DAY ? day + 1 : day;
  if (counted - DAYS_TO_1970 > LAST_DAY) return null;
  const date = dayText(counted - DAYS_TO_1970);
  return rest === 0
    ? { kind: "day", text: date, ...more }
    : { kind: "instant", text: `${date}T${clock}`, ...more };
}
