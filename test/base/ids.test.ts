import { afterEach, expect, setSystemTime, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { systemIds } from "../../src/base/ids.ts";

afterEach(() => void setSystemTime());

test("IDs are unique and in order of creation, even if the clock is set back", () => {
  const made = Array.from({ length: 1000 }, () => systemIds.uuid());
  setSystemTime(new Date(systemClock.now().getTime() - 60 * 60 * 1000));
  made.push(...Array.from({ length: 1000 }, () => systemIds.uuid()));
  expect(made.toSorted()).toEqual(made);
  expect(new Set(made).size).toBe(made.length);
});
