import { expect, test } from "bun:test";
import { ahead } from "../../../src/executors/extract/ahead.ts";

/** Pages that record when they are requested. */
function source(pages: number, failsAt = Number.POSITIVE_INFINITY) {
  const asked: number[] = [];
  let isClosed = false;
  async function* given() {
    try {
      for (let page = 1; page <= pages; page++) {
        asked.push(page);
        await Bun.sleep(1);
        if (page === failsAt) throw new Error(`Page ${page} is broken.`);
        yield page;
      }
    } finally {
      isClosed = true;
    }
  }
  return { asked, pages: given(), isClosed: () => isClosed };
}

test("the next page is requested while one is being processed, and no further one", async () => {
  const { asked, pages } = source(3);
  const seen: [number, number[]][] = [];
  for await (const page of ahead(pages)) {
    await Bun.sleep(5);
    seen.push([page, [...asked]]);
  }
  expect(seen).toEqual([
    [1, [1, 2]],
    [2, [1, 2, 3]],
    [3, [1, 2, 3]],
  ]);
});

test("a page that fails is reported after the previous one was processed", async () => {
  const { pages, isClosed } = source(3, 2);
  const seen: number[] = [];
  const work = async () => {
    for await (const page of ahead(pages)) {
      await Bun.sleep(5);
      seen.push(page);
    }
  };
  await expect(work()).rejects.toThrow("Page 2 is broken.");
  expect(seen).toEqual([1]);
  expect(isClosed()).toBe(true);
});

test("an early exit leaves nothing in progress", async () => {
  const { asked, pages, isClosed } = source(3);
  for await (const _ of ahead(pages)) break;
  expect(asked).toEqual([1, 2]);
  expect(isClosed()).toBe(true);
});
