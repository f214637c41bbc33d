/** Dates and times by integer arithmetic: a `Date` is limited to the year 275760 and to milliseconds. */

/** Returns a date, in days since 1970-01-01, as `YYYY-MM-DD`; years beyond 9999 have more digits. */
export function dayText(days: number): string {
  // Howard Hinnant, "chrono-compatible low-level date algorithms": civil_from_days.
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;
}

/** Returns a time of day as `HH:MM:SS`, with a fraction of `digits` digits if it isn't 0. */
export function clockText(seconds: number, fraction: number, digits: number): string {
  const whole = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return fraction === 0 ? whole : `${whole}.${String(fraction).padStart(digits, "0")}`;
}

const two = (value: number) => String(value).padStart(2, "0");

/** 0001-01-01, the earliest date that all readers of Parquet and Iceberg support. */
export const FIRST_DAY = -719_162;
/** The day after the last one of 5874897, the last year of DuckDB's DATE. */
export const END_OF_DAYS = 2_145_042_906;
/** 294247-01-01: timestamps in microseconds end during that year. */
export const END_OF_INSTANTS = 106_751_982;
