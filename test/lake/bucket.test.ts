import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { openEgress } from "../../src/base/egress.ts";
import { type BucketLake, openBucketLake } from "../../src/lake/bucket.ts";
import { s3Keys, startS3, type TestS3 } from "../support/s3.ts";
import { deepTest } from "../support/scale.ts";
import { failure } from "../support/sql.ts";

let s3: TestS3;
let folder: string;
let lake: BucketLake;
beforeAll(async () => {
  s3 = await startS3();
  s3.createBucket("lakes");
});
afterAll(() => s3[Symbol.asyncDispose]());
beforeEach(() => {
  s3.interfere(() => null);
  folder = mkdtempSync(join(tmpdir(), "weir-bucket-"));
  lake = openLake();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A lake with its own empty cache. */
const openLake = (prefix = "one", signal = new AbortController().signal) =>
  openBucketLake({
    config: { bucket: "lakes", prefix, endpointUrl: s3.endpointUrl },
    credentials: s3Keys,
    folder: mkdtempSync(join(folder, "copies-")),
    cacheBytes: 1_000_000,
    graceMs: 60_000,
    egress: openEgress({ allow: ["127.0.0.0/8"], self: () => null }),
    clock: systemClock,
    signal,
  });

const at = { organizationId: "org-1", layer: "raw", dataset: "shop", table: "orders", loadId: "load-1" };
const future = new Date("2999-01-01T00:00:00Z");

function file(text: string) {
  const path = join(folder, `${Bun.hash(text)}.tmp`);
  writeFileSync(path, text);
  return { path, rows: 1, bytes: text.length };
}
const listed = (one = lake, before = future) => Array.fromAsync(one.list(before));

describe("a lake in a bucket", () => {
  test("returns the end of a file without fetching the rest", async () => {
    const added = await lake.add(at, file("abcdef"));
    const other = openLake();
    const end = async (length: number) => Buffer.from(await other.tail(added, length)).toString();
    expect([await end(2), await end(6), await end(100)]).toEqual(["ef", "abcdef", "abcdef"]);
    await lake.remove([added.path]);
    expect((await failure(other.tail(added, 2))).code).toBe("dataset_changed");
  });

  test("stores files below its prefix, and reads them on any machine", async () => {
    const [first, second] = [await lake.add(at, file("one")), await lake.add(at, file("two"))];
    expect(first).toEqual({
      id: expect.any(String),
      path: expect.stringMatching(/^org-1\/raw\/shop\/orders\/load-1-[0-9a-f-]{36}\.parquet$/),
      rows: 1,
      bytes: 3,
      loadId: "load-1",
    });
    expect(first.path).not.toBe(second.path);
    const elsewhere = openLake();
    expect(readFileSync(await elsewhere.localPath(first), "utf8")).toBe("one");
    expect(readFileSync(await elsewhere.localPath(second), "utf8")).toBe("two");
    expect((await listed()).sort()).toEqual([first.path, second.path].sort());
    expect(await listed(openLake("other"))).toEqual([]);
    await lake.remove([first.path, second.path]);
  });

  test("stores a large file in parts", async () => {
    const text = "x".repeat(20 * 1024 * 1024);
    const placed = await lake.add(at, file(text));
    const elsewhere = openLake();
    expect(Bun.hash(readFileSync(await elsewhere.localPath(placed)))).toBe(Bun.hash(text));
    await lake.remove([placed.path]);
  });

  test("reads a file over the network once", async () => {
    const placed = await lake.add(at, file("once"));
    const elsewhere = openLake();
    const reads = () =>
      s3.seen.filter(({ method, url }) => method === "GET" && url.includes(placed.path)).length;
    await Promise.all([1, 2, 3].map(() => elsewhere.localPath(placed)));
    await elsewhere.localPath(placed);
    await lake.localPath(placed);
    expect(reads()).toBe(1);
    await lake.remove([placed.path]);
  });

  test("removes files, and ignores those that are gone already", async () => {
    const placed = await lake.add(at, file("gone"));
    await lake.remove([placed.path]);
    await lake.remove([placed.path]);
    expect(await listed()).toEqual([]);
    expect(await failure(lake.localPath(placed))).toEqual({
      code: "dataset_changed",
      message: "The dataset changed while it was being read. Try again.",
    });
  });

  test("lists files older than a given time, and those of abandoned work, but nothing of others", async () => {
    const placed = await lake.add(at, file("old"));
    const work = await lake.workFolder("run-1");
    writeFileSync(join(work.path, "part"), "x");
    await s3.put("lakes", "one/notes.txt", "ours");
    await lake.claim("installation-1");
    expect(await listed(lake, new Date(0))).toEqual([]);
    const [left, ...rest] = await listed();
    expect(left).toMatch(/^\.work\/run-1-/);
    expect(rest).toEqual([placed.path]);
    await lake.remove([left ?? "", placed.path]);
    expect(await listed()).toEqual([]);
  });

  deepTest("aborts uploads that were never finished", async () => {
    let parts = 0;
    s3.interfere(({ method, url }) =>
      (method === "PUT" && url.includes("partNumber=2")) || (method === "DELETE" && url.includes("uploadId"))
        ? { status: ++parts > 0 ? 403 : 500, code: "AccessDenied" }
        : null,
    );
    await failure(lake.add(at, file("y".repeat(20 * 1024 * 1024))));
    s3.interfere(() => null);
    expect(await listed()).toEqual([]);
    const given = s3.seen.filter(({ method, url }) => method === "DELETE" && url.includes("uploadId"));
    await listed();
    expect(given.length).toBeGreaterThan(0);
    expect(s3.seen.filter(({ method, url }) => method === "DELETE" && url.includes("uploadId")).length).toBe(
      given.length,
    );
  });

  test("finds files even in a store that can't list unfinished uploads", async () => {
    const placed = await lake.add(at, file("found"));
    s3.interfere(({ url }) => (url.includes("uploads=") ? { status: 501, code: "NotImplemented" } : null));
    expect(await listed()).toEqual([placed.path]);
    await lake.remove([placed.path]);
  });

  test("reports a failing bucket as retryable", async () => {
    s3.interfere(({ method }) => (method === "PUT" ? { status: 403, code: "AccessDenied" } : null));
    const error = await lake.add(at, file("refused")).catch((error) => error);
    expect(error).toMatchObject({
      code: "unavailable",
      retryable: true,
      message: "The lake's bucket lakes can't be used: These keys can't write to the bucket lakes.",
    });
    expect(await listed()).toEqual([]);
  });

  test("rejects paths that would leave it", async () => {
    for (const path of ["../x.parquet", "a//b", "/etc/passwd", "a/./b", "a\\b"])
      expect((await failure(Promise.resolve().then(() => lake.localPath({ path })))).code).toBe(
        "bad_request",
      );
    expect((await failure(lake.add({ ...at, table: "../x" }, file("x")))).code).toBe("bad_request");
  });

  test("belongs to one installation", async () => {
    const mine = openLake("mine");
    await mine.claim("installation-1");
    await mine.claim("installation-1");
    const other = await failure(openLake("mine").claim("installation-2"));
    expect(other.code).toBe("conflict");
    expect(other.message).toContain("another installation");
    await openLake("theirs").claim("installation-2");
  });
});
