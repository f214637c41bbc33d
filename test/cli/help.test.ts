import { expect, test } from "bun:test";
import { help } from "../../src/cli/help.ts";
import type { Host } from "../../src/cli/host.ts";
import { usage } from "../../src/cli/usage.ts";

/** Returns what `weir help` prints on a terminal of this width. */
async function shown(command: string, width: number | null): Promise<string> {
  const out: string[] = [];
  const host = { width, out: (line: string) => out.push(line) } as unknown as Host;
  expect(await help([command], host)).toBe(0);
  return out.join("\n");
}

const wordsOf = (text: string) => text.split(/\s+/);

test("help for every command fits a terminal of 80 columns, and loses no word", async () => {
  for (const command of Object.keys(usage)) {
    const whole = await shown(command, null);
    const narrow = await shown(command, 80);
    expect([command, narrow.split("\n").filter((line) => line.length > 80)]).toEqual([command, []]);
    expect(wordsOf(narrow)).toEqual(wordsOf(whole));
    expect(await shown(command, 200)).toBe(whole);
  }
});

test("descriptions of flags are aligned", async () => {
  const lines = (await shown("apply", 80)).split("\n");
  const at = lines.findIndex((line) => line.startsWith("  --org ORG"));
  expect(lines.slice(at, at + 2)).toEqual([
    "  --org ORG          organization to act in, by ID or slug (default: $WEIR_ORG,",
    "                     or the token's organization)",
  ]);
});
