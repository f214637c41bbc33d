import { expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { AppError } from "../../src/base/errors.ts";
import { openLog } from "../../src/base/log.ts";

const FORGED = "Ada\n12:00:00 error forged\r\u001b[2J\u0085\u2028\u202e{}";

test.each([
  ["of JSON", false],
  ["for a terminal", true],
])("external text stays on its own log line, %s", (_name, pretty) => {
  const lines: string[] = [];
  const log = openLog({ level: "info", pretty, clock: systemClock, sink: (line) => lines.push(line) });
  log.write("info", "request refused", { cause: FORGED, inside: { name: FORGED } });
  log.report(new Error(FORGED), { path: FORGED });
  expect(lines).toHaveLength(2);
  for (const line of lines) {
    expect(line).toMatch(/Ada\\(n|u000a)12:00:00 error forged/);
    expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u);
    if (!pretty) expect(JSON.stringify(JSON.parse(line))).toContain(JSON.stringify(FORGED).slice(1, -1));
  }
});

test("an outage that many loops notice is one line without a stack, repeated once a minute", () => {
  const lines: string[] = [];
  let ms = 0;
  const clock = { ...systemClock, monotonic: () => ms };
  const log = openLog({ level: "info", pretty: false, clock, sink: (line) => lines.push(line) });
  const away = () =>
    new AppError("unavailable", "The database server is unreachable. Try again later.", {
      retryable: true,
      cause: new Error("ECONNREFUSED"),
    });
  const noticed = () => ["worker", "scheduler", "worker"].map((loop) => log.report(away(), { loop }));
  noticed();
  log.report(new AppError("disk_full", "The disk is full.", { retryable: true }), { loop: "sealer" });
  ms = 59_999;
  noticed();
  ms = 60_000;
  noticed();
  const line = { level: "error", message: "The database server is unreachable. Try again later." };
  expect(lines.map((text) => JSON.parse(text))).toEqual([
    { time: expect.any(String), ...line, loop: "worker", cause: "Error: ECONNREFUSED" },
    { time: expect.any(String), level: "error", message: "The disk is full.", loop: "sealer" },
    { time: expect.any(String), ...line, loop: "worker", cause: "Error: ECONNREFUSED", furtherFailures: 5 },
  ]);
  log.report(new Error("a bug"));
  log.report(new Error("a bug"));
  expect(lines.slice(3).map((text) => JSON.parse(text).stack)).toEqual([
    expect.any(Array),
    expect.any(Array),
  ]);
});
