import { afterEach, expect, setSystemTime, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { systemIds } from "../../src/base/ids.ts";

afterEach(() => void setSystemTime());

test("ids are unique and in the order of their making, also over a clock that is set back", () => {
  const made = Array.from({ length: 1000 }, () => systemIds.uuid());
  setSystemTime(new Date(systemClock.now().getTime() - 60 * 60 * 1000));
  made.push(...Array.from({ length: 1000 }, () => systemIds.uuid()));
  expect(made.toSorted()).toEqual(made);
  expect(new Set(made).size).toBe(made.length);
});
