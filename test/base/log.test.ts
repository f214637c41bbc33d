import { expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
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
