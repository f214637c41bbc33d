import { expect, test } from "bun:test";
import { join } from "node:path";
import { localPlace, notes } from "./harness.ts";

const WRITER = join(import.meta.dir, "crash-writer.ts");

test("a killed process loses nothing that was confirmed, and saves nothing in part", async () => {
  await using place = localPlace();
  let told: string[] = [];
  for (let round = 0; round < 3; round++) {
    const child = Bun.spawn([process.execPath, WRITER, place.path, place.backups, String(round)], {
      stdout: "pipe",
      stderr: "inherit",
    });
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > 4_000 * (round + 1)) child.kill("SIGKILL");
    }
    expect(await child.exited).not.toBe(0);
    told = told.concat(text.split("\n").slice(0, -1)); // The last line may be cut.

    const store = await place.open();
    const rows = await store.db.select({ id: notes.id, title: notes.someTitle }).from(notes);
    const kept = new Set(rows.map(({ id }) => id));
    expect(told.filter((id) => !kept.has(id))).toEqual([]);
    const halves = rows.filter(
      ({ id }) => !kept.has(id.endsWith("-1") ? id.replace(/-1$/, "-2") : id.replace(/-2$/, "-1")),
    );
    expect(halves).toEqual([]);
    expect(await store.db.get<object>("PRAGMA integrity_check")).toEqual({ integrity_check: "ok" });
    await store.close();
  }
  expect(told.length).toBeGreaterThan(100);
});
