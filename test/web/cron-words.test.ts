import { expect, test } from "bun:test";
import { cronInWords } from "../../web/parts/automations/cron-words.ts";

test("common schedules are described in words, others aren't", () => {
  const words = (cron: string) => cronInWords(cron)?.replace(/\s/g, " ");
  expect(words("*/15 * * * *")).toBe("Every 15 minutes");
  expect(words("* * * * *")).toBe("Every minute");
  expect(words("5 * * * *")).toBe("Hourly at minute 5");
  expect(words("30 18 * * *")).toBe("Daily at 6:30 PM");
  expect(words("0 7 * * 1-5")).toBe("Mon–Fri at 7:00 AM");
  expect(words("0 7 * * 0,6")).toBe("Sun, Sat at 7:00 AM");
  expect(words("0 7 1 * *")).toBe("Monthly on day 1 at 7:00 AM");
  for (const cron of [
    "",
    "0 7 1 * 1",
    "0 7 * 1 *",
    "0 0 7 * * *",
    "0 7 * * MON",
    "0 7 * * 1-3-5",
    "0 7-9 * * *",
  ])
    expect(cronInWords(cron)).toBeNull();
});
