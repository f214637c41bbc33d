import { t } from "../../texts/text.ts";
export type Rhythm = "now" | "daily" | "weekdays" | "weekly" | "monthly" | "cron";

export const RHYTHMS: readonly (readonly [Rhythm, string])[] = [
  ["now", t("Now, once")],
  ["daily", t("Every day")],
  ["weekdays", t("Every weekday")],
  ["weekly", t("Every Monday")],
  ["monthly", t("On the first of each month")],
  ["cron", t("By a cron expression")],
];

const DAYS: Readonly<Record<Exclude<Rhythm, "now" | "cron">, string>> = {
  daily: "* * *",
  weekdays: "* * 1-5",
  weekly: "* * 1",
  monthly: "1 * *",
};

/** Cron expression of a schedule at a time such as `07:30`. */
export function cronOf(rhythm: keyof typeof DAYS, time: string): string {
  const [hour = 0, minute = 0] = time.split(":").map(Number);
  return `${minute} ${hour} ${DAYS[rhythm]}`;
}

/** Parses an expression of `cronOf`. Null for any other. */
export function rhythmOf(cron: string): { rhythm: keyof typeof DAYS; time: string } | null {
  const [minute = "", hour = "", ...days] = cron.split(" ");
  const rhythm = (Object.keys(DAYS) as (keyof typeof DAYS)[]).find((id) => DAYS[id] === days.join(" "));
  if (rhythm === undefined || !/^\d+$/.test(minute) || !/^\d+$/.test(hour)) return null;
  return { rhythm, time: `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}` };
}

/** Describes a cron expression of `cronOf`. Returns others unchanged. */
export function inRhythm(cron: string): string {
  const found = rhythmOf(cron);
  if (found === null) return cron;
  const name = RHYTHMS.find(([id]) => id === found.rhythm)?.[1] ?? "";
  return t("{rhythm} at {time}", { rhythm: name, time: found.time });
}
