import { expect, test } from "bun:test";
import { doChoreOnBytes } from "../../src/base/chore.ts";
import { AppError } from "../../src/base/errors.ts";

const LIMIT_MS = 500;

/** Runs `code` in a child. Returns what it prints, or why it was killed. */
async function outcomeOf(code: string): Promise<string> {
  const chore = {
    word: code,
    timeoutMs: LIMIT_MS,
    maxResidentBytes: 1024 ** 3,
    tooMuch: (why: string) => new AppError("bad_request", why),
  };
  const self = [process.execPath, "-e"];
  const running = doChoreOnBytes(self, chore, [], new AbortController().signal);
  return running.then(String, ({ message }: AppError) => message);
}

test.skipIf(process.platform !== "linux")("a process gets CPU waiting time on top of its limit", async () => {
  expect(await outcomeOf(`await Bun.sleep(${1.5 * LIMIT_MS}); console.log("done")`)).toBe("done\n");
});

test("a process that computes for longer than its limit, or forever, is killed", async () => {
  expect(await outcomeOf("for (;;);")).toBe("too long");
  expect(await outcomeOf("await Bun.sleep(60_000)")).toBe("too long");
});
