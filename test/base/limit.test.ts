import { expect, test } from "bun:test";
import { openLimiter } from "../../src/base/limit.ts";
import { turnableClock } from "../support/app.ts";

/** A clock that only moves when it is turned. */
function stillClock() {
  let ms = 1_000_000;
  return {
    ...turnableClock(),
    monotonic: () => ms,
    turn: (by: number) => {
      ms += by;
    },
  };
}

test("a burst passes at once, and then the configured rate", () => {
  const clock = stillClock();
  const limiter = openLimiter(clock);
  const take = () => limiter.take("key", { perMinute: 60, burst: 3 }).retryAfterSeconds;
  expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 1]);
  clock.turn(1_000);
  expect([take(), take()]).toEqual([0, 1]);
  clock.turn(3_600_000);
  expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 1]);
});

test("a rejection says when to try again", () => {
  const clock = stillClock();
  const limiter = openLimiter(clock);
  const take = () => limiter.take("key", { perMinute: 2, burst: 1 }).retryAfterSeconds;
  take();
  expect(take()).toBe(30);
  clock.turn(29_000);
  expect(take()).toBe(1);
  clock.turn(1_000);
  expect(take()).toBe(0);
});

test("keys are independent, and a new rate applies immediately", () => {
  const limiter = openLimiter(stillClock());
  const small = { perMinute: 60, burst: 1 };
  expect(limiter.take("a", small).retryAfterSeconds).toBe(0);
  expect(limiter.take("b", small).retryAfterSeconds).toBe(0);
  expect(limiter.take("a", small).retryAfterSeconds).toBe(1);
  for (let i = 0; i < 60_000; i++) limiter.take(`many:${i}`, small);
  expect(limiter.take("new", small)).toEqual({ retryAfterSeconds: 0, remaining: 0, resetSeconds: 1 });
});

test("the remaining number is reported, with the time until it is full again", () => {
  const clock = stillClock();
  const limiter = openLimiter(clock);
  const take = () => limiter.take("key", { perMinute: 30, burst: 3 });
  expect(take()).toEqual({ retryAfterSeconds: 0, remaining: 2, resetSeconds: 2 });
  expect(take()).toEqual({ retryAfterSeconds: 0, remaining: 1, resetSeconds: 4 });
  clock.turn(2_000);
  expect(take()).toEqual({ retryAfterSeconds: 0, remaining: 1, resetSeconds: 4 });
  expect(take()).toEqual({ retryAfterSeconds: 0, remaining: 0, resetSeconds: 6 });
  expect(take()).toEqual({ retryAfterSeconds: 2, remaining: 0, resetSeconds: 6 });
});
