/** A time as the clocks of a zone show it, to the minute: `2026-01-31T08:15`. */
export function wallTime(instant: string, timeZone: string): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return "";
  // Swedish dates are written as ISO 8601 does
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  return format.format(at).replace(" ", "T");
}

/** The instant at which the clocks of a zone show a time; null of what isn't a time. */
export function instantOf(wall: string, timeZone: string): string | null {
  const asUtc = Date.parse(`${wall}Z`);
  if (Number.isNaN(asUtc)) return null;
  const offset = (at: number) => Date.parse(`${wallTime(new Date(at).toISOString(), timeZone)}Z`) - at;
  // the offset at the instant itself: near a change of clocks it isn't that of the same time in UTC
  return new Date(asUtc - offset(asUtc - offset(asUtc))).toISOString();
}
