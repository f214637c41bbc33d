import { expect, test } from "bun:test";
import { AppError } from "../../src/base/errors.ts";
import { within } from "../../src/base/within.ts";

const ended = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => signal.addEventListener("abort", () => resolve(signal.reason)));

test("a timeout ends with a sentence that names the other system, and isn't reported as an internal error", async () => {
  const reason = await ended(within(10, "mcp.example.com", new AbortController().signal));
  expect(reason).toBeInstanceOf(AppError);
  expect(reason).toMatchObject({
    code: "timeout",
    retryable: true,
    message: "mcp.example.com didn't respond within 0.01 s.",
  });
});

test("a caller that leaves earlier ends it with its own reason", async () => {
  const control = new AbortController();
  const end = ended(within(60_000, "mcp.example.com", control.signal));
  control.abort("gone");
  expect(await end).toBe("gone");
});
