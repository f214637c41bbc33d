import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemIds } from "../../src/base/ids.ts";
import { type CacheOptions, openCache } from "../../src/lake/cache.ts";
import { turnableClock } from "../support/app.ts";

function openTestCache(options: Partial<CacheOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "weir-cache-"));
  const clock = turnableClock(1, true);
  const all = { folder, maxBytes: 30, graceMs: 1_000, clock, ids: systemIds, ...options };
  const fetched: string[] = [];
  const cache = openCache(all);
  return {
    folder,
    clock,
    cache,
    fetched,
    reopen: () => openCache(all),
    /** Requests a file of ten bytes. */
    get: (path: string, hold?: (release: () => void) => void) =>
      cache.get(
        path,
        async (into) => {
          fetched.push(path);
          await Bun.sleep(1);
          writeFileSync(into, path.padEnd(10, "."));
        },
        hold,
      ),
    there: (...paths: string[]) => paths.map((path) => existsSync(join(folder, path))),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

test("a file is fetched once, however many request it", async () => {
  using test = openTestCache();
  const paths = await Promise.all(Array.from({ length: 20 }, () => test.get("o/a")));
  expect(new Set(paths).size).toBe(1);
  expect(readFileSync(paths[0] ?? "", "utf8")).toBe("o/a.......");
  await test.get("o/a");
  expect(test.fetched).toEqual(["o/a"]);
});

test("the least recently used file is removed when there is no room, once nobody can be reading it", async () => {
  using test = openTestCache();
  for (const path of ["a", "b", "c"]) await test.get(path);
  await test.get("a");
  await test.get("d");
  expect(test.there("a", "b", "c", "d")).toEqual([true, true, true, true]);
  test.clock.turn(2_000);
  await test.get("d");
  expect(test.there("a", "b", "c", "d")).toEqual([true, false, true, true]);
  await test.get("b");
  expect(test.there("a", "b", "c", "d")).toEqual([true, true, false, true]);
});

test("a file in use stays", async () => {
  using test = openTestCache();
  const releases: (() => void)[] = [];
  await test.get("a", (release) => releases.push(release));
  for (const path of ["b", "c", "d"]) await test.get(path);
  test.clock.turn(10_000);
  await test.get("d");
  expect(test.there("a", "b")).toEqual([true, false]);
  for (const release of releases) release();
  test.clock.turn(10_000);
  await test.get("e");
  expect(test.there("a")).toEqual([false]);
});

test("a failed download leaves nothing, and the next one is tried again", async () => {
  using test = openTestCache();
  const broken = test.cache.get("a", async (into) => {
    writeFileSync(into, "half");
    throw new Error("cut");
  });
  expect(broken).rejects.toThrow("cut");
  await broken.catch(() => undefined);
  expect(test.there("a")).toEqual([false]);
  expect(readFileSync(await test.get("a"), "utf8")).toBe("a.........");
});

test("fetched files are available after a restart, and incomplete ones aren't", async () => {
  using test = openTestCache();
  await test.get("o/a");
  writeFileSync(join(test.folder, ".parts", "half"), "half");
  const again = test.reopen();
  await again.get("o/a", async () => expect.unreachable());
  expect(test.there(".parts/half")).toEqual([false]);
});
