import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { sweepManifests } from "../../src/engine/sweep-sync.ts";
import { syncFiles } from "../../src/resources/sync/table.ts";
import { startData } from "../data/place.ts";
import { CONNECTIONS, connect } from "../support/connections.ts";
import { eventually } from "../support/outbound.ts";
import { neighbour } from "../support/people.ts";
import { HELD, startS3, type TestS3 } from "../support/s3.ts";
import { deepTest } from "../support/scale.ts";
import { bucket, folder, sync } from "../support/sync.ts";
import {
  ACTIONS,
  faultsOf,
  flowToEnd,
  makeAction,
  makeAutomation,
  NOBODY,
  RUNS,
  until,
} from "../support/work.ts";

setDefaultTimeout(120_000);

let s3: TestS3;
let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  [s3, data] = await Promise.all([startS3(), startData()]);
}, 120_000);
afterAll(async () => {
  await data[Symbol.asyncDispose]();
  await s3[Symbol.asyncDispose]();
});

/** Methods of the changing requests since `from`. */
const writesSince = (from: number) =>
  s3.seen.slice(from).filter(({ method }) => !["GET", "HEAD"].includes(method));

test("files of a folder are copied to another, and a second run copies none of them", async () => {
  const [from, to] = [await folder(data), await folder(data)];
  from.put("a.txt", "one");
  from.put("deep/er/b.txt", "two!");
  const { run } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id, path: "/in" },
  });
  expect(await run()).toMatchObject({
    status: "completed",
    result: {
      copied: 2,
      skipped: 0,
      deleted: 0,
      failed: [],
      bytes: 7,
      files: [
        { path: "a.txt", size: 3 },
        { path: "deep/er/b.txt", size: 4 },
      ],
    },
  });
  expect(to.all()).toEqual({ "in/a.txt": "one", "in/deep/er/b.txt": "two!" });
  expect((await run()).result).toEqual({
    copied: 0,
    skipped: 2,
    deleted: 0,
    failed: [],
    bytes: 0,
    files: [],
  });

  from.put("a.txt", "ONE");
  from.put("c.txt", "");
  expect((await run()).result).toMatchObject({ copied: 2, skipped: 1, bytes: 3 });
  expect(to.all("in")).toEqual({ "a.txt": "ONE", "c.txt": "", "deep/er/b.txt": "two!" });
  to.put("in/a.txt", "spoilt");
  expect((await run()).result).toMatchObject({ copied: 1, skipped: 2 });
  expect(to.all("in")["a.txt"]).toBe("ONE");
});

test("a large file whose upload the store no longer knows is uploaded again", async () => {
  const [from, to] = [await folder(data), await bucket(data, s3)];
  const content = "0123456789abcdef".repeat(2 ** 20);
  from.put("big.txt", content);
  const { run } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id },
  });
  let lost: string | null = null;
  s3.interfere(({ method, url }) => {
    const uploadId = method === "POST" ? new URL(url, s3.endpointUrl).searchParams.get("uploadId") : null;
    if (uploadId === null || (lost !== null && lost !== uploadId)) return null;
    // The first response is lost. The store has completed the upload, and so doesn't know it any longer.
    if (lost !== null) return { status: 404, code: "NoSuchUpload" };
    lost = uploadId;
    return { status: 500, code: "InternalError" };
  });
  const { status, result } = await run();
  s3.interfere(() => null);
  expect([status, result.copied, result.failed]).toEqual(["completed", 1, []]);
  expect((await to.all())["big.txt"]).toBe(content);
});

test("objects within one store are copied by the store itself, and nothing is written twice", async () => {
  const [from, to] = [await bucket(data, s3), await bucket(data, s3, { prefix: "copy" })];
  for (const key of ["a.csv", "x/ü 1+2.csv", "x/y/z.bin"]) await from.put(key, key);
  const { result } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id },
  });
  let seen = s3.seen.length;
  expect(await result()).toMatchObject({ copied: 3, failed: [] });
  expect(
    s3.seen.slice(seen).map(({ method, headers }) => `${method} ${"x-amz-copy-source" in headers}`),
  ).toEqual(["GET false", "GET false", "PUT true", "PUT true", "PUT true"]);
  expect(await to.all()).toEqual({
    "copy/a.csv": "a.csv",
    "copy/x/ü 1+2.csv": "x/ü 1+2.csv",
    "copy/x/y/z.bin": "x/y/z.bin",
  });
  seen = s3.seen.length;
  expect(await result()).toMatchObject({ copied: 0, skipped: 3 });
  expect(s3.seen.slice(seen).map(({ method }) => method)).toEqual(["GET", "GET"]);
  expect(writesSince(seen)).toEqual([]);
});

const reasons = (failed: { path: string; reason: string }[]) =>
  Object.fromEntries(failed.map(({ path, reason }) => [path, reason]));

test("files between two stores pass through here, large ones in parts, with their type and encoding", async () => {
  await using other = await startS3();
  const [from, to] = [await bucket(data, s3), await bucket(data, other)];
  const large = crypto.getRandomValues(new Uint8Array(65_536));
  const big = Buffer.concat(Array.from({ length: 140 }, () => large));
  await from.putRaw("big.bin", big, { "content-type": "application/x-own" });
  const packed = Bun.gzipSync(Buffer.from("plain text ".repeat(100)));
  await from.putRaw("page.html", packed, { "content-type": "text/html", "content-encoding": "gzip" });
  await from.put("small.txt", "small");
  await from.putRaw("empty.txt", "", { "content-type": "text/plain", "content-length": "0" });
  const { result } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id },
  });
  expect(await result()).toMatchObject({ copied: 4, failed: [], bytes: big.length + packed.length + 5 });
  const copied = await to.get("big.bin");
  expect(Buffer.compare(copied.bytes, big)).toBe(0);
  expect(copied.headers.get("content-type")).toBe("application/x-own");
  expect(other.seen.filter(({ url }) => url.includes("partNumber")).length).toBe(2);
  const page = await to.get("page.html");
  expect([page.headers.get("content-encoding"), Buffer.compare(page.bytes, packed)]).toEqual(["gzip", 0]);
  expect((await to.all())["empty.txt"]).toBe("");
  const seen = other.seen.length;
  expect(await result()).toMatchObject({ copied: 0, skipped: 4 });
  expect(other.seen.slice(seen).map(({ method }) => method)).toEqual(["GET"]);
});

test("hostile names are reported one by one, and nothing leaves the destination's folder", async () => {
  const [from, to] = [await bucket(data, s3), await folder(data)];
  const long = `${"n".repeat(200)}/`.repeat(5).concat("x".repeat(95));
  const hostile = [
    "../up.txt",
    "a/../../b.txt",
    "/etc/passwd",
    "nul\0byte",
    long,
    "back\\slash",
    "twice//named",
    "./dot",
  ];
  for (const key of [...hostile, "Case.txt", "case.txt", "tree", "tree/leaf", "fine/file.txt"])
    await from.putRaw(key, "x");
  to.put("in/kept.txt", "kept");
  const { run } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id, path: "/in" },
    mode: "mirror",
  });
  const { status, result } = await run();
  expect(status).toBe("completed");
  const told = reasons(result.failed);
  expect(Object.keys(told).sort()).toEqual([...hostile, "case.txt", "tree"].sort());
  for (const reason of Object.values(told)) expect(reason).toMatch(/^Not copied: .+\.$/);
  expect(told["../up.txt"]).toContain('".."');
  expect(told["case.txt"]).toContain('"Case.txt" by case');
  expect(told.tree).toContain("folder of the same name");
  expect(to.all()).toEqual({
    "in/Case.txt": "x",
    "in/fine/file.txt": "x",
    "in/kept.txt": "kept",
    "in/tree/leaf": "x",
  });
  expect(result).toMatchObject({ copied: 3, deleted: 0 });
});

test("a bucket accepts names that differ in case, and none that lead elsewhere", async () => {
  const [from, to] = [await bucket(data, s3), await bucket(data, s3, { prefix: "inner" })];
  for (const key of ["A", "a", "b//c", "../up", "/abs", "x".repeat(1_020)])
    await from.putRaw(key, key.slice(0, 5));
  const { result } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id },
  });
  const done = await result();
  expect(done).toMatchObject({ copied: 3 });
  expect(Object.keys(reasons(done.failed)).sort()).toEqual(["../up", "/abs", "x".repeat(1_020)]);
  expect(Object.keys(await to.all()).sort()).toEqual(["inner/A", "inner/a", "inner/b//c"]);
});

test("a mirror deletes what the source no longer has, at most maxDelete, and nothing after an error", async () => {
  const [from, to] = [await folder(data), await folder(data)];
  for (const name of ["a", "b", "c"]) from.put(name, name);
  const mirror = await sync(data, {
    source: { connectionId: from.id, exclude: ["*.keep"] },
    destination: { connectionId: to.id },
    mode: "mirror",
    maxDelete: 2,
  });
  to.put("mine.keep", "not of the sync");
  expect(await mirror.result()).toMatchObject({ copied: 3, deleted: 0 });
  for (const name of ["x", "y", "z"]) to.put(name, name);
  from.put("d", "d");
  const refused = await mirror.run();
  expect(refused).toMatchObject({
    status: "failed",
    result: null,
    error: { code: "max_delete_exceeded", retryable: false, details: { deletes: 3, maxDelete: 2 } },
  });
  expect(refused.error.message).toContain("3 deletions at the destination exceed maxDelete (2)");
  expect(Object.keys(to.all())).toEqual(["a", "b", "c", "mine.keep", "x", "y", "z"]);
  const selected = { source: { selectedItems: ["a", "b", "c", "d", "gone"] }, maxDelete: 3 };
  expect(await mirror.result(selected)).toMatchObject({
    copied: 1,
    deleted: 0,
    failed: [{ path: "gone", reason: "Selected, but not found in the source's folder." }],
  });
  expect(await mirror.result({ maxDelete: 3 })).toMatchObject({
    copied: 0,
    skipped: 4,
    deleted: 3,
    failed: [],
  });
  expect(Object.keys(to.all())).toEqual(["a", "b", "c", "d", "mine.keep"]);
  expect(await mirror.result({ mode: "copy", source: { include: ["a"] } })).toMatchObject({
    skipped: 1,
    deleted: 0,
  });
});

test("files and folders whose names aren't valid UTF-8 are reported, and a mirror then deletes nothing", async () => {
  const [from, to] = [await folder(data), await folder(data)];
  from.put("a.csv", "a");
  from.put("in/b.csv", "b");
  from.put("M\uFFFDller.csv", "valid, with the character that replaces others");
  from.putLatin1("in/M\xfcller.csv", "latin1");
  from.putLatin1("D\xfcsseldorf/c.csv", "c");
  from.putLatin1("\xfc.txt", "other");
  to.put("old.csv", "old");
  const mirror = await sync(data, {
    source: { connectionId: from.id, include: ["*.csv"] },
    destination: { connectionId: to.id },
    mode: "mirror",
  });
  const reason = "Not copied: its name is not valid UTF-8.";
  expect(await mirror.result()).toMatchObject({
    copied: 3,
    deleted: 0,
    failed: [
      { path: "D\uFFFDsseldorf/", reason },
      { path: "in/M\uFFFDller.csv", reason },
    ],
  });
  expect(to.all()).toMatchObject({ "a.csv": "a", "in/b.csv": "b", "old.csv": "old" });
  const selected = { source: { selectedItems: ["in"] }, mode: "copy" };
  expect(await mirror.result(selected)).toMatchObject({
    failed: [{ path: "in/M\uFFFDller.csv", reason }],
  });
  const below = { source: { path: "/in" }, destination: { path: "/b" }, mode: "copy" };
  expect(await mirror.result(below)).toMatchObject({
    copied: 1,
    failed: [{ path: "M\uFFFDller.csv", reason }],
  });
  const others = { source: { exclude: ["D*/**", "in/M*.csv"] } };
  expect(await mirror.result(others)).toMatchObject({ skipped: 3, deleted: 2, failed: [] });
  expect(Object.keys(to.all()).sort()).toEqual(["M\uFFFDller.csv", "a.csv", "in/b.csv"].sort());
});

test("lists show files whose names aren't valid UTF-8, and an extract that matches one fails", async () => {
  const from = await folder(data);
  from.put("in/a.csv", "id\n1\n");
  from.put("in/x/b.csv", "id\n2\n");
  from.putLatin1("in/M\xfcller.csv", "id\n3\n");
  from.putLatin1("in/D\xfcsseldorf/c.csv", "id\n4\n");
  const at = `${CONNECTIONS}/${from.id}/files`;
  const listed = (await data.owner("GET", `${at}?path=/in`)).body.items;
  expect(listed.map(({ name, kind }: { name: string; kind: string }) => `${kind} ${name}`)).toEqual([
    "folder D\uFFFDsseldorf",
    "folder x",
    "file M\uFFFDller.csv",
    "file a.csv",
  ]);
  const missed = await data.owner("GET", `${at}/content?path=${encodeURIComponent("/in/M\uFFFDller.csv")}`);
  expect([missed.status, missed.body.detail]).toEqual([
    404,
    'File or folder "/in/M\uFFFDller.csv" not found. If its name is not valid UTF-8, rename it.',
  ]);
  const extract = async (spec: string) =>
    (await data.extract(from.id, { dataset: "latin", resources: [{ spec, name: "t" }] })).run();
  expect(await extract("in/[a-z].csv")).toMatchObject({ status: "completed" });
  expect((await extract("in/*.csv")).error.message).toContain(
    'Couldn\'t read "in/M\uFFFDller.csv": its name is not valid UTF-8.',
  );
  expect((await extract("in/**/[a-z].csv")).error.message).toContain('Couldn\'t read "in/D\uFFFDsseldorf/"');
});

test("a mirror replaces a file by a folder and a folder by a file, once, and counts what it deletes", async () => {
  const [from, to] = [await folder(data), await folder(data)];
  from.put("a", "file");
  from.put("b/c/d.txt", "d");
  from.put("b/e.txt", "e");
  from.put("old.txt", "old");
  const mirror = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id, path: "/in" },
    mode: "mirror",
    maxDelete: 3,
  });
  expect(await mirror.result()).toMatchObject({ copied: 4, failed: [] });
  for (const path of ["a", "b", "old.txt"]) from.removeAll(path);
  from.put("a/x/y.txt", "y");
  from.put("b", "file");
  expect(await mirror.run()).toMatchObject({
    status: "failed",
    error: { code: "max_delete_exceeded", details: { deletes: 4, maxDelete: 3 } },
  });
  const copy = { mode: "copy" };
  const inCopyMode = await mirror.result(copy);
  expect(inCopyMode).toMatchObject({ copied: 0, deleted: 0 });
  expect(reasons(inCopyMode.failed)).toEqual({
    "a/x/y.txt": 'Not copied: "/in/a" is a file at the destination, not a folder. Delete it there.',
    b: 'Not copied: "/in/b" is a folder at the destination, not a file. Delete it there.',
  });
  expect(Object.keys(to.all("in"))).toEqual(["a", "b/c/d.txt", "b/e.txt", "old.txt"]);
  expect(await mirror.result({ maxDelete: 4 })).toMatchObject({ copied: 2, deleted: 4, failed: [] });
  expect(to.all("in")).toEqual({ "a/x/y.txt": "y", b: "file" });
  expect(await mirror.result()).toMatchObject({ copied: 0, skipped: 2, deleted: 0, failed: [] });

  from.removeAll("a");
  expect(await mirror.result()).toMatchObject({ deleted: 1 });
  from.put("a", "file again");
  expect((await mirror.result(copy)).failed).toEqual([
    { path: "a", reason: '"/in/a" is a folder. Delete it first.' },
  ]);
  expect(await mirror.result()).toMatchObject({ copied: 1, skipped: 1, failed: [] });
  expect(to.all("in")).toEqual({ a: "file again", b: "file" });
});

test("a mirror keeps files in the way that aren't part of it, and all of them after an error", async () => {
  const [from, to] = [await folder(data), await folder(data)];
  for (const path of ["a/mine.keep", "a/other.txt", "b/c.txt", "old.txt"]) to.put(path, path);
  from.put("a", "file");
  from.put("b", "file");
  const mirror = await sync(data, {
    source: { connectionId: from.id, exclude: ["*.keep"] },
    destination: { connectionId: to.id },
    mode: "mirror",
  });
  const before = to.all();
  const kept = await mirror.result();
  expect(kept).toMatchObject({ copied: 0, deleted: 0 });
  expect(reasons(kept.failed)).toEqual({
    a: 'Not copied: "/a" is a folder at the destination, not a file. Delete it there.',
    b: 'Not copied: "/b" is a folder at the destination, not a file. It will be deleted when nothing else fails.',
  });
  expect(to.all()).toEqual(before);
  from.remove("a");
  from.putLatin1("\xfc", "unreadable");
  expect(await mirror.result()).toMatchObject({ copied: 0, deleted: 0, failed: [{}, { path: "b" }] });
  expect(to.all()).toEqual(before);
  from.removeAll("");
  from.put("b", "file");
  expect(await mirror.result()).toMatchObject({ copied: 1, deleted: 3, failed: [] });
  expect(to.all()).toEqual({ "a/mine.keep": "a/mine.keep", b: "file" });
});

test("a bucket holds a file and a folder of the same name, so a mirror deletes the old one last", async () => {
  const [from, to] = [await folder(data), await bucket(data, s3)];
  from.put("a", "file");
  from.put("b/c", "c");
  const mirror = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id },
    mode: "mirror",
  });
  await mirror.result();
  for (const path of ["a", "b"]) from.removeAll(path);
  from.put("a/x", "x");
  from.put("b", "file");
  const seen = s3.seen.length;
  expect(await mirror.result()).toMatchObject({ copied: 2, deleted: 2, failed: [] });
  expect(writesSince(seen).map(({ method }) => method)).toEqual(["PUT", "PUT", "DELETE", "DELETE"]);
  expect(await to.all()).toEqual({ "a/x": "x", b: "file" });
});

test("a mirror of a missing root fails, and what it copied stays", async () => {
  const to = await folder(data);
  const local = await folder(data);
  local.put("a", "a");
  const store = await bucket(data, s3, { prefix: "in/" });
  await store.put("in/a", "a");
  const takeAway = [
    async () => rmSync(local.place, { recursive: true }),
    () => s3.remove(store.name, "in/a"),
  ];
  for (const [index, from] of [local, store].entries()) {
    const mirror = await sync(data, {
      source: { connectionId: from.id },
      destination: { connectionId: to.id, path: `/${index}` },
      mode: "mirror",
    });
    expect(await mirror.result()).toMatchObject({ copied: 1 });
    await takeAway[index]?.();
    expect(await mirror.run()).toMatchObject({ status: "failed", error: { code: "not_found" } });
    const selected = { source: { selectedItems: ["a"] } };
    expect(await mirror.run(selected)).not.toMatchObject({ result: { deleted: 1 } });
    expect(to.all(`${index}`)).toEqual({ a: "a" });
    expect(await mirror.result({ mode: "copy" })).toMatchObject({ copied: 0, deleted: 0, failed: [] });
  }
});

test("globs and selections determine which files are copied", async () => {
  const [from, to] = [await bucket(data, s3), await folder(data)];
  for (const key of ["in/a.csv", "in/a.txt", "in/deep/b.csv", "in/deep/tmp/c.csv", "other/d.csv"])
    await from.put(key, key);
  const taken = async (source: object) => {
    const path = `/${crypto.randomUUID()}`;
    const definition = {
      source: { connectionId: from.id, ...source },
      destination: { connectionId: to.id, path },
    };
    const { files } = await (await sync(data, definition)).result();
    return files.map((file: { path: string }) => file.path);
  };
  expect(await taken({ path: "/in" })).toEqual(["a.csv", "a.txt", "deep/b.csv", "deep/tmp/c.csv"]);
  expect(await taken({ path: "in/", include: ["*.csv"] })).toEqual(["a.csv", "deep/b.csv", "deep/tmp/c.csv"]);
  expect(await taken({ path: "/in", include: ["deep/**"], exclude: ["tmp/"] })).toEqual(["deep/b.csv"]);
  expect(await taken({ include: ["/in/*.csv", "other/*"] })).toEqual(["in/a.csv", "other/d.csv"]);
  expect(
    await taken({ path: "/in", selectedItems: ["/in/a.txt", { id: "/in/deep/tmp", name: "tmp" }, "a.csv"] }),
  ).toEqual(["a.csv", "a.txt", "deep/tmp/c.csv"]);
});

test("limits apply before anything is copied, at n and at n + 1", async () => {
  const [from, to] = [await folder(data), await folder(data)];
  from.put("a", "12345");
  from.put("b", "678");
  const { run, result } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id },
  });
  expect((await run({ maxFiles: 1 })).error).toMatchObject({
    code: "limit_exceeded",
    message: "Sync cancelled: 2 files exceed maxFiles (1). Nothing was copied.",
    details: { files: 2, maxFiles: 1 },
  });
  expect((await run({ maxBytes: 7 })).error).toMatchObject({
    code: "limit_exceeded",
    details: { bytes: 8, maxBytes: 7 },
  });
  expect(to.all()).toEqual({});
  expect(await result({ maxFiles: 2, maxBytes: 8 })).toMatchObject({ copied: 2, bytes: 8 });
  expect(await result({ maxFiles: 1, maxBytes: 1 })).toMatchObject({ copied: 0, skipped: 2 });
});

test("overwrite determines what happens to existing files", async () => {
  const [from, to] = [await folder(data), await folder(data)];
  from.put("a", "new");
  to.put("a", "old");
  const { result } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id },
  });
  expect(await result({ overwrite: "never" })).toMatchObject({ copied: 0, skipped: 1 });
  expect(to.all()).toEqual({ a: "old" });
  expect(await result({ overwrite: "always" })).toMatchObject({ copied: 1, skipped: 0 });
  expect(await result({ overwrite: "always" })).toMatchObject({ copied: 1, skipped: 0 });
  expect(await result()).toMatchObject({ copied: 0, skipped: 1 });
  expect(to.all()).toEqual({ a: "new" });
});

test("existing objects with the same hash are recognized by an action that never ran", async () => {
  const [from, to] = [await bucket(data, s3), await bucket(data, s3)];
  for (const key of ["a", "b"]) await from.put(key, `content of ${key}`);
  await to.put("a", "content of a");
  await to.put("b", "content of B");
  const { result } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id },
  });
  expect(await result()).toMatchObject({ copied: 1, skipped: 1, files: [{ path: "b" }] });
});

test("an object that changes while it is read is copied as it is then, or reported and not copied", async () => {
  const [from, to] = [await bucket(data, s3), await folder(data)];
  await from.put("once", "first");
  await from.put("restless", "0");
  const writing: Promise<void>[] = [];
  let count = 0;
  const asked = { once: 0, restless: 0 };
  s3.interfere(({ method, url }) => {
    const key = (["once", "restless"] as const).find((name) => method === "GET" && url.endsWith(`/${name}`));
    if (!key) return null;
    asked[key]++;
    if (key === "once" && asked.once > 1) return null;
    writing.push(from.put(key, `changed ${++count}`));
    return { status: 412, code: "PreconditionFailed" };
  });
  const { result } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id },
  });
  const done = await result();
  s3.interfere(() => null);
  await Promise.all(writing);
  expect(done).toMatchObject({ copied: 1, files: [{ path: "once" }] });
  expect(done.failed).toEqual([
    { path: "restless", reason: expect.stringContaining("was changed while it was read") },
  ]);
  expect(asked).toEqual({ once: 2, restless: 2 });
  expect(Object.keys(to.all())).toEqual(["once"]);
});

deepTest("a file that shrinks while it is read never arrives in part", async () => {
  await using other = await startS3();
  const [from, to] = [await folder(data), await bucket(data, other)];
  from.put("log", "x".repeat(40_000_000));
  let isBegun = false;
  other.interfere(({ method, url }) => {
    if (!isBegun && method === "POST" && url.includes("uploads")) {
      isBegun = true;
      from.put("log", "y".repeat(12_000_000));
    }
    return null;
  });
  const { result } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id },
  });
  expect(await result()).toMatchObject({ copied: 1, bytes: 12_000_000, failed: [] });
  const { bytes } = await to.get("log");
  expect([bytes.length, new Set(bytes)]).toEqual([12_000_000, new Set(["y".charCodeAt(0)])]);
});

deepTest("temporary failures are retried; if nothing can be written, the run fails", async () => {
  const [from, to] = [await bucket(data, s3), await bucket(data, s3)];
  for (const key of ["a", "b"]) await from.put(key, key);
  let failures = 0;
  s3.interfere(({ method, url }) =>
    method === "PUT" && url.endsWith("/a") && failures++ < 5 ? { status: 503, code: "SlowDown" } : null,
  );
  const { run, result } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id },
  });
  expect(await result()).toMatchObject({ copied: 2, failed: [] });
  s3.interfere(({ method }) => (method === "PUT" ? { status: 403, code: "AccessDenied" } : null));
  await from.put("c", "c");
  const ended = await run();
  s3.interfere(() => null);
  expect(ended).toMatchObject({ status: "failed", error: { code: "upstream" } });
  expect(ended.error.message).toMatch(
    /^None of 1 files could be copied\. These keys can't write to the bucket/,
  );
  expect(JSON.stringify(ended)).not.toContain("s3cret");
});

test("its references are checked when it is saved", async () => {
  const { owner } = data.app;
  const [from, drive] = [
    await folder(data),
    await connect(owner, {
      name: "Drive",
      provider: "google_drive",
      credentials: { clientId: "a", clientSecret: "b", refreshToken: "c" },
    }),
  ];
  const warehouse = await connect(owner, {
    name: "Warehouse",
    provider: "postgres",
    config: { host: "127.0.0.1", database: "shop" },
    credentials: { user: "ada" },
  });
  const { call } = await neighbour(data.app);
  const foreign = await connect(call, {
    name: "Theirs",
    provider: "local_files",
    config: {},
    credentials: {},
  });
  const faults = async (definition: object) =>
    faultsOf(await owner("POST", ACTIONS, { kind: "file_sync", name: "Bad", definition }));
  const source = { connectionId: from.id };
  const destination = { connectionId: from.id, path: "/out" };
  expect(await faults({ source })).toEqual(["body.definition.destination missing"]);
  expect(await faults({ source, destination, mode: "move", maxDelete: -1, dryRun: true })).toEqual([
    "body.definition.mode enum",
    "body.definition.maxDelete greater_than_equal",
    "body.definition.dryRun extra_forbidden",
  ]);
  const bad = "body.definition.source.connectionId";
  expect(await faults({ source: { connectionId: NOBODY }, destination })).toEqual([`${bad} not_found`]);
  expect(await faults({ source: { connectionId: foreign.id }, destination })).toEqual([`${bad} not_found`]);
  expect(await faults({ source: { connectionId: warehouse.id }, destination })).toEqual([
    `${bad} value_error`,
  ]);
  expect(await faults({ source, destination: { connectionId: drive.id } })).toEqual([
    "body.definition.destination.connectionId value_error",
  ]);
  expect(await faults({ source, destination: { connectionId: "lake", path: "/raw" } })).toEqual([
    "body.definition.destination.path value_error",
  ]);
  expect(await faults({ source: { ...source, include: ["{a,b}".repeat(9)] }, destination })).toEqual([
    "body.definition.source.include.0 value_error",
  ]);
  const action = await makeAction(owner, {
    kind: "file_sync",
    name: "Good",
    definition: { source, destination },
  });
  const patch = await owner("PATCH", `${ACTIONS}/${action.id}`, {
    definition: { source: { connectionId: foreign.id }, destination },
  });
  expect(faultsOf(patch)).toEqual([`${bad} not_found`]);
  const overridden = await owner("POST", `${ACTIONS}/${action.id}/run`, {
    definitionOverrides: { source: { connectionId: foreign.id } },
  });
  expect(faultsOf(overridden)).toEqual(["body.definitionOverrides.source.connectionId not_found"]);
  const step = {
    key: "sync",
    kind: "file_sync",
    definition: { source: { connectionId: foreign.id }, destination },
  };
  const flow = await owner("POST", "/api/v1/automations", {
    name: "Flow",
    triggerType: "manual",
    config: { steps: [step] },
  });
  expect(faultsOf(flow)).toEqual(["body.config.steps.0.definition.source.connectionId not_found"]);
  const removed = await owner("DELETE", `/api/v1/connections/${from.id}`);
  expect([removed.status, removed.body.code]).toEqual([409, "in_use"]);
  expect(removed.body.detail).toContain('"Good"');
});

test("a folder isn't copied into itself, and a missing location is reported", async () => {
  const place = await folder(data);
  place.put("a", "a");
  const at = (from: string, to: string, more: object = {}) =>
    sync(data, {
      source: { connectionId: place.id, path: from },
      destination: { connectionId: place.id, path: to },
      ...more,
    }).then(({ run }) => run());
  for (const [from, to, more] of [
    ["/", "/copy", {}],
    ["/x", "/x", {}],
    ["/x/y", "/x", { mode: "mirror" }],
  ] as const)
    expect((await at(from, to, more)).error).toMatchObject({
      code: "definition_invalid",
      message: expect.stringContaining("Source and destination overlap"),
    });
  expect((await at("/nowhere", "/copy")).error).toMatchObject({ code: "not_found" });
  expect((await at("/a", "/copy")).error).toMatchObject({ code: "bad_request" });
  await expect(at("/../..", "/copy")).rejects.toThrow(`A path can't contain \\"..\\"`);
  expect(place.all()).toEqual({ a: "a" });
  const store = await bucket(data, s3);
  const far = { source: { connectionId: store.id, path: "/none" }, destination: { connectionId: place.id } };
  expect((await (await sync(data, far)).run()).error).toMatchObject({ code: "not_found" });
});

test("the action's own connection is used if none is named, and templates can name others", async () => {
  const [own, to] = [await folder(data), await folder(data)];
  own.put("in/a", "a");
  const definition = {
    source: { path: "/in", include: "{{input.globs}}", selectedItems: "{{input.items}}" },
    destination: { connectionId: "{{input.to}}", path: "/" },
  };
  const { owner } = data.app;
  const flow = await makeAutomation(owner, {
    action: { kind: "file_sync", connectionId: own.id, definition },
  });
  const run = await flowToEnd(owner, flow.id, { input: { globs: ["a"], items: ["a"], to: to.id } });
  expect(run.status).toBe("completed");
  const plain = { source: { path: "/in" }, destination: { connectionId: to.id } };
  const { result } = await data.end("file_sync", plain, { connectionId: own.id });
  expect(result).toMatchObject({ failed: [] });
  expect(to.all()).toEqual({ a: "a" });
});

test("a run shows its progress, and a cancelled one leaves no partial file", async () => {
  await using other = await startS3();
  const [from, to] = [await folder(data), await bucket(data, other)];
  for (let n = 0; n < 30; n++) from.put(`small-${n}`, "x");
  from.put("large", "x".repeat(30_000_000));
  let arrived = 0;
  const stall = Promise.withResolvers<void>();
  other.interfere(({ method, url }) => {
    if (method === "PUT" && !url.includes("partNumber")) arrived++;
    if (url.includes("partNumber=2")) stall.resolve();
    return url.includes("partNumber=2") ? HELD : null;
  });
  const { start } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: to.id },
  });
  const { id } = await start();
  await stall.promise;
  await eventually(() => arrived === 30);
  const copies = ({ progress }: { progress: { phase: string } | null }) => progress?.phase === "copy";
  const { progress } = await until(data.app.owner, `${RUNS}/${id}`, copies);
  expect(progress).toMatchObject({ total: 31, unit: "files" });
  const cancelled = await data.app.owner("POST", `${RUNS}/${id}/cancel`);
  expect([cancelled.status, cancelled.body.status]).toEqual([200, "cancelled"]);
  other.interfere(() => null);
  await eventually(() =>
    other.seen.some(({ method, url }) => method === "DELETE" && url.includes("uploadId")),
  );
  expect(Object.keys(await to.all())).toHaveLength(30);
});

test("its record of copied files is deleted with the action", async () => {
  const [from, to] = [await folder(data), await folder(data)];
  from.put("a", "a");
  const definition = { source: { connectionId: from.id }, destination: { connectionId: to.id } };
  const [gone, kept] = [await sync(data, definition), await sync(data, definition)];
  await gone.result();
  await kept.result();
  const owners = async () => {
    const rows = await data.app.app.store.db.select({ ownerId: syncFiles.ownerId }).from(syncFiles);
    return [gone.id, kept.id].filter((id) => rows.some(({ ownerId }) => ownerId === id));
  };
  expect(await owners()).toEqual([gone.id, kept.id]);
  expect((await data.app.owner("DELETE", `${ACTIONS}/${gone.id}`)).status).toBe(204);
  for await (const _ of sweepManifests(data.app.app));
  expect(await owners()).toEqual([kept.id]);
});
