import { expect, test } from "bun:test";
import { instantOf, wallTime } from "../../web/parts/base/wall-time.ts";

test.each([
  ["2026-01-31T08:15", "Europe/Berlin", "2026-01-31T07:15:00.000Z"],
  ["2026-07-31T08:15", "Europe/Berlin", "2026-07-31T06:15:00.000Z"],
  ["2026-03-29T03:30", "Europe/Berlin", "2026-03-29T01:30:00.000Z"], // An hour after the clocks changed.
  ["2026-03-29T01:30", "Europe/Berlin", "2026-03-29T00:30:00.000Z"],
  ["2026-11-01T23:30", "America/Los_Angeles", "2026-11-02T07:30:00.000Z"],
  ["2026-01-01T00:00", "Asia/Kathmandu", "2025-12-31T18:15:00.000Z"],
  ["2026-01-01T00:00", "UTC", "2026-01-01T00:00:00.000Z"],
  ["0002-03-29T10:00", "UTC", "0002-03-29T10:00:00.000Z"], // While the year 2026 is typed.
  ["0202-03-29T10:00", "Europe/Berlin", "0202-03-29T09:07:00.000Z"],
])("%s in %s is %s, and back", (wall, zone, instant) => {
  expect(instantOf(wall, zone)).toBe(instant);
  expect(wallTime(instant, zone)).toBe(wall);
});

test("what isn't a time has none", () => {
  expect(instantOf("", "UTC")).toBeNull();
  expect(wallTime("yesterday", "UTC")).toBe("");
});
