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

/** The cron expression of a rhythm at a time such as `07:30`. */
export function cronOf(rhythm: keyof typeof DAYS, time: string): string {
  const [hour = 0, minute = 0] = time.split(":").map(Number);
  return `${minute} ${hour} ${DAYS[rhythm]}`;
}

/** A cron expression in words, where it is one of the rhythms; else itself. */
export function inRhythm(cron: string): string {
  const [minute = "", hour = "", ...days] = cron.split(" ");
  const rhythm = Object.entries(DAYS).find(([, text]) => text === days.join(" "))?.[0];
  const name = RHYTHMS.find(([id]) => id === rhythm)?.[1];
  if (name === undefined || !/^\d+$/.test(minute) || !/^\d+$/.test(hour)) return cron;
  return t("{rhythm} at {time}", {
    rhythm: name,
    time: `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`,
  });
}
