import { Cron } from "croner";
import type { Schedule } from "../resources/automations/config.ts";

const UTC = "UTC";

/**
 * Only computes times: without a function, croner starts no timer. A job at a fixed hour that daylight saving time
 * skips runs at the end of the gap, and one in a repeated hour runs once. A job every few minutes follows elapsed time.
 */
const open = ({ cron, timezone = UTC }: Schedule): Cron =>
  new Cron(cron, { timezone, mode: "5-or-6-parts", fixedTimeRule: "no-wildcard" });

/**
 * Returns what is wrong with those fields of a schedule that are present. `from` is the time after which it must be due
 * at least once.
 */
export function scheduleFaults(
  { cron, timezone = UTC }: Partial<Schedule>,
  from: Date,
): { field: keyof Schedule; msg: string }[] {
  const isZone = isTimezone(timezone);
  const faults: { field: keyof Schedule; msg: string }[] = isZone
    ? []
    : [
        {
          field: "timezone",
          msg: `Unknown time zone ${timezone}. Use an IANA name such as Europe/Berlin`,
        },
      ];
  const msg = cron === undefined ? null : cronFault({ cron, timezone: isZone ? timezone : UTC }, from);
  return msg === null ? faults : [{ field: "cron", msg }, ...faults];
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

const FORM = "Use a cron expression with five fields, or six starting with seconds";

function cronFault(schedule: Schedule, from: Date): string | null {
  if (schedule.cron.includes(":")) return FORM; // croner reads it as a single time, or fails
  try {
    const job = open(schedule);
    return job.nextRun(from) === null ? "This cron expression never matches a date" : null;
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) {
      return `${FORM}: ${reasonOf(error.message)}`;
    }
    throw error;
  }
}

/** croner counts months and days from 0, and its messages contain internal details. */
function reasonOf(message: string): string {
  const field = /Invalid value for (\w+)/.exec(message)?.[1];
  if (field !== undefined) return `the ${FIELDS.get(field) ?? field} is out of range`;
  return message.replace(/^CronPattern:\s*/, "").replace(/^(@\w+ is not supported).*/, "$1");
}

const FIELDS = new Map([
  ["day", "day of the month"],
  ["dayOfWeek", "day of the week"],
]);

/** Returns the first time after `after`, ISO 8601; null if there is none. */
export const instantAfter = (schedule: Schedule, after: Date): string | null =>
  open(schedule).nextRun(after)?.toISOString() ?? null;

/** Returns the last due time before `before`. */
export const instantBefore = (schedule: Schedule, before: Date): string | null =>
  open(schedule).previousRuns(1, before)[0]?.toISOString() ?? null;

/** Counts the due times from `from` until before `before`, up to `most`. */
export function countInstants(schedule: Schedule, from: string, before: Date, most: number): number {
  const job = open(schedule);
  let count = 0;
  for (
    let at: Date | null = new Date(from);
    at !== null && at < before && count < most;
    at = job.nextRun(at)
  ) {
    count++;
  }
  return count;
}
