import { describe, expect, test } from "bun:test";
import { MAX_SPARE_FILES, pickBatches, SMALL_FILE_BYTES } from "../../src/lake/compact.ts";
import type { LakeFile } from "../../src/lake/contract.ts";

let made = 0;
const file = (bytes: number, part: string | null = null): LakeFile => {
  const id = String(++made).padStart(6, "0");
  return { id, path: `o/raw/d/t/${id}.parquet`, rows: 1, bytes, loadId: id, part };
};
const files = (count: number, bytes: number, part: string | null = null) =>
  Array.from({ length: count }, () => file(bytes, part));
const ids = (all: readonly LakeFile[]) => all.map(({ id }) => id);

describe("pickBatches", () => {
  test("selects the smallest files, in order of arrival, and leaves large ones alone", () => {
    const small = files(40, 10_000);
    const middle = file(5_000_000);
    const large = file(SMALL_FILE_BYTES);
    const [batch, ...more] = pickBatches([large, ...small.toReversed(), middle]);
    expect(more).toEqual([]);
    expect(ids(batch?.files ?? [])).toEqual(ids(small));
  });

  test("never selects a single file", () => {
    expect(pickBatches([file(10), file(SMALL_FILE_BYTES + 1)])).toEqual([]);
    expect(pickBatches(files(3, 10, "a=1").concat(files(1, 10, "a=2"))).map(({ part }) => part)).toEqual([
      "a=1",
    ]);
  });

  test("never combines rows of two partitions", () => {
    const batches = pickBatches([...files(20, 10, "a=1"), ...files(30, 10, "a=2"), ...files(2, 10)]);
    expect(batches.map(({ part, files }) => [part, files.length])).toEqual([
      ["a=2", 30],
      ["a=1", 20],
      [null, 2],
    ]);
    for (const { part, files } of batches) expect(new Set(files.map((f) => f.part))).toEqual(new Set([part]));
  });

  test("reads a limited number of bytes at a time, and always makes progress", () => {
    const [batch] = pickBatches(files(100, SMALL_FILE_BYTES - 1));
    expect(batch?.files.length).toBe(8);
  });

  test("keeps a table of many small loads at few files, and rewrites each row only a few times", () => {
    let table: LakeFile[] = [];
    let rewritten = 0;
    let most = 0;
    const loads = 5_000;
    for (let load = 0; load < loads; load++) {
      table.push(file(20_000));
      most = Math.max(most, table.length);
      const small = table.filter(({ bytes }) => bytes < SMALL_FILE_BYTES).length;
      if (small - 1 <= MAX_SPARE_FILES) continue;
      for (const { files } of pickBatches(table)) {
        const bytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
        rewritten += bytes;
        table = [...table.filter((one) => !files.includes(one)), file(bytes)];
      }
    }
    expect(table.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(loads * 20_000);
    expect(most).toBeLessThan(40);
    expect(rewritten / (loads * 20_000)).toBeLessThan(8);
  });
});
