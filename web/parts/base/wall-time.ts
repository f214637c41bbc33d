/** Local time in a time zone, to the minute: `2026-01-31T08:15`. */
export function wallTime(instant: string, timeZone: string): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return "";
  // Swedish dates are in ISO 8601 format
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  return format.format(at).replace(" ", "T").padStart("2026-01-31T08:15".length, "0");
}

/** The time at which clocks in a time zone show a local time. Null if it is invalid. */
export function instantOf(wall: string, timeZone: string): string | null {
  const asUtc = Date.parse(`${wall}Z`);
  if (Number.isNaN(asUtc)) return null;
  const offset = (at: number) => Date.parse(`${wallTime(new Date(at).toISOString(), timeZone)}Z`) - at;
  // uses the offset at that time: near a clock change, it differs from the offset at the same UTC time
  return new Date(asUtc - offset(asUtc - offset(asUtc))).toISOString();
}
