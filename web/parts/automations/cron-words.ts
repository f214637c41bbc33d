import { t } from "../../texts/text.ts";
import { dateFormat } from "../base/formats.ts";

const clock = dateFormat({ hour: "numeric", minute: "2-digit", timeZone: "UTC" });
const weekday = dateFormat({ weekday: "short", timeZone: "UTC" });

const timeOf = (hour: string, minute: string) =>
  clock().format(Date.UTC(2023, 0, 1, Number(hour), Number(minute)));
/** `1` is Monday. Both `0` and `7` are Sunday. */
const dayName = (day: string) => weekday().format(Date.UTC(2023, 0, 1 + Number(day)));

/** `0 7 * * 1-5` as "Mon–Fri at 7:00 AM". Null for expressions without a short description. */
export function cronInWords(cron: string): string | null {
  const [minute = "", hour = "", day, month, week = "", ...more] = cron.trim().split(/\s+/);
  if (month !== "*" || more.length > 0) return null;
  const isDaily = day === "*" && week === "*";
  if (hour === "*" && isDaily) {
    const [, count] = /^\*\/(\d+)$/.exec(minute) ?? [];
    if (count !== undefined) return t("Every {count} minutes", { count });
    if (minute === "*") return t("Every minute");
    return /^\d+$/.test(minute) ? t("Hourly at minute {minute}", { minute }) : null;
  }
  if (!/^\d+$/.test(minute) || !/^\d+$/.test(hour)) return null;
  const time = timeOf(hour, minute);
  if (isDaily) return t("Daily at {time}", { time });
  if (day === "*" && /^[0-7]([-,][0-7])*$/.test(week) && !/-\d-/.test(week))
    return t("{days} at {time}", {
      days: week.replace(/\d/g, dayName).replaceAll("-", "–").replaceAll(",", ", "),
      time,
    });
  return week === "*" && day !== undefined && /^\d+$/.test(day)
    ? t("Monthly on day {day} at {time}", { day, time })
    : null;
}
