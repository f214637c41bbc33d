/** Days, times of day and timestamps as integers and texts: a `Date` ends at ±275,760 and has no microseconds. */

const pad = (n: bigint, width: number): string =>
  n < 0n ? `-${String(-n).padStart(width, "0")}` : String(n).padStart(width, "0");

/** Formats days since 1970 as year-month-day. Years before 1 are astronomical: 0000 is 1 BC. */
export function dayText(days: bigint): string {
  const z = days + 719_468n;
  const era = (z >= 0n ? z : z - 146_096n) / 146_097n;
  const doe = z - era * 146_097n;
  const yoe = (doe - doe / 1460n + doe / 36_524n - doe / 146_096n) / 365n;
  const doy = doe - (365n * yoe + yoe / 4n - yoe / 100n);
  const mp = (5n * doy + 2n) / 153n;
  const month = mp < 10n ? mp + 3n : mp - 9n;
  const year = yoe + era * 400n + (month <= 2n ? 1n : 0n);
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(doy - (153n * mp + 2n) / 5n + 1n, 2)}`;
}

/** Days since 1970 for a day of the proleptic calendar. */
function daysOf(year: bigint, month: bigint, day: bigint): bigint {
  const y = month <= 2n ? year - 1n : year;
  const era = (y >= 0n ? y : y - 399n) / 400n;
  const yoe = y - era * 400n;
  const doy = (153n * (month > 2n ? month - 3n : month + 9n) + 2n) / 5n + day - 1n;
  return era * 146_097n + yoe * 365n + yoe / 4n - yoe / 100n + doy - 719_468n;
}

const fractionText = (nanos: bigint): string =>
  nanos === 0n ? "" : `.${String(nanos).padStart(9, "0").replace(/0+$/, "")}`;

const NANOS = 1_000_000_000n;
const DAY = 86_400n * NANOS;

export function clockText(nanos: bigint): string {
  const seconds = nanos / NANOS;
  return `${pad(seconds / 3600n, 2)}:${pad((seconds / 60n) % 60n, 2)}:${pad(seconds % 60n, 2)}${fractionText(nanos % NANOS)}`;
}

/** Formats nanoseconds since 1970. */
export function instantText(nanos: bigint): string {
  const rest = ((nanos % DAY) + DAY) % DAY;
  return `${dayText((nanos - rest) / DAY)} ${clockText(rest)}`;
}

const DAY_TEXT = /^([+-]?\d{4,})-(\d\d)-(\d\d)( BC)?$/;

/** Parses a day to days since 1970. Null if it isn't one. Accepts `0044-03-15 BC` and astronomical years. */
export function dayFrom(text: string): bigint | null {
  const [, year, month, day, bc] = DAY_TEXT.exec(text) ?? [];
  if (!year || !month || !day) return null;
  const days = daysOf(bc ? 1n - BigInt(year) : BigInt(year), BigInt(month), BigInt(day));
  const isReal = dayText(days).endsWith(`-${month}-${day}`);
  return isReal ? days : null;
}

const CLOCK_TEXT = /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?$/;

/** Parses a time of day to nanoseconds since midnight. Null if it isn't one. 24:00:00 is one. */
export function clockFrom(text: string): bigint | null {
  const [, h, m, s = "0", f = ""] = CLOCK_TEXT.exec(text) ?? [];
  if (h === undefined || m === undefined) return null;
  const seconds = BigInt(h) * 3600n + BigInt(m) * 60n + BigInt(s);
  if (BigInt(m) > 59n || BigInt(s) > 59n || seconds > 86_400n) return null;
  return seconds * NANOS + BigInt(f.padEnd(9, "0"));
}

const INSTANT_TEXT =
  /^(\S+?)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)\s?(Z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?( BC)?$/;

/** Parses a timestamp to nanoseconds since 1970, in UTC if the text has a zone. */
export function instantFrom(text: string): { nanos: bigint; hasZone: boolean } | null {
  const [, date, time, zone, bc = ""] = INSTANT_TEXT.exec(text) ?? [];
  const days = date === undefined ? null : dayFrom(date + bc);
  const clock = time === undefined ? null : clockFrom(time);
  if (days === null || clock === null) return null;
  return { nanos: days * DAY + clock - offsetOf(zone), hasZone: zone !== undefined };
}

function offsetOf(zone: string | undefined): bigint {
  if (zone === undefined || zone === "Z") return 0n;
  const digits = zone.slice(1).replaceAll(":", "").padEnd(6, "0");
  const seconds =
    BigInt(digits.slice(0, 2)) * 3600n + BigInt(digits.slice(2, 4)) * 60n + BigInt(digits.slice(4));
  return (zone.startsWith("-") ? -seconds : seconds) * NANOS;
}
