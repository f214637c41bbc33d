import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { JsonObject } from "../../src/base/json.ts";
import type { Extraction, FileItem, Link } from "../../src/providers/contract.ts";
import { localFiles } from "../../src/providers/local-files/local-files.ts";
import { failure, link, textOf } from "../support/link.ts";

/** A connection for an organization's folder, next to a secret folder. */
function place(config: JsonObject = {}, overrides: Partial<Link> = {}) {
  const top = mkdtempSync(join(tmpdir(), "weir-local-"));
  const filesFolder = join(top, "acme");
  mkdirSync(filesFolder);
  mkdirSync(join(top, "other"));
  writeFileSync(join(top, "other", "secret.txt"), "secret");
  const connection = link(config, {}, { filesFolder, ...overrides });
  return {
    top,
    folder: filesFolder,
    connection,
    list: async (path: string, token?: string) =>
      (await localFiles.files?.list(connection, path, token)) ?? { items: [] },
    stat: async (path: string) => (await localFiles.files?.stat(connection, path)) as FileItem,
    read: async (path: string) =>
      textOf((await localFiles.files?.read(connection, path)) as ReadableStream<Uint8Array>),
    write: async (path: string, bytes: string | ReadableStream<Uint8Array>, maxBytes = 1e6) =>
      (await localFiles.files?.write?.(
        connection,
        path,
        typeof bytes === "string" ? (new Blob([bytes]).stream() as ReadableStream<Uint8Array>) : bytes,
        maxBytes,
      )) as FileItem,
    [Symbol.dispose]: () => rmSync(top, { recursive: true, force: true }),
  };
}

const hostilePaths = [
  "/../other/secret.txt",
  "/..",
  "/a/../../other/secret.txt",
  "/./x",
  "/a\\..\\b",
  "/a\0b",
  "/a\nb",
  `/${"x".repeat(256)}`,
  `/${"x/".repeat(600)}y`,
  "/.weir-parts/x",
];

describe("local files", () => {
  test("verify creates the root, and rejects one that leads outside", async () => {
    using inside = place({ root: "/shop/in" });
    await localFiles.verify(inside.connection);
    expect(existsSync(join(inside.folder, "shop", "in"))).toBe(true);
    for (const root of ["../other", "/a/../../other", "a\0"]) {
      using outside = place({ root });
      expect((await failure(localFiles.verify(outside.connection))).code).toBe("bad_request");
    }
  });

  test("are written, listed, inspected and read", async () => {
    using at = place({ root: "shop" });
    const item = await at.write("/orders/2026/jan.csv", "id\n1\n");
    expect(item).toMatchObject({
      id: "/orders/2026/jan.csv",
      name: "jan.csv",
      kind: "file",
      mimeType: "text/csv",
      size: 5,
    });
    expect(readFileSync(join(at.folder, "shop/orders/2026/jan.csv"), "utf8")).toBe("id\n1\n");
    expect(await at.read(item.id)).toBe("id\n1\n");
    expect(await at.stat(item.id)).toEqual(item);
    expect(await at.stat("/orders/")).toMatchObject({ id: "/orders", kind: "folder", size: null });
    expect((await at.list("/orders")).items.map(({ id, kind }) => ({ id, kind }))).toEqual([
      { id: "/orders/2026", kind: "folder" },
    ]);
    await at.write("/orders/2026/jan.csv", "changed");
    expect(await at.read(item.id)).toBe("changed");
  });

  test("that don't exist aren't found, and a missing root is empty", async () => {
    using at = place({ root: "later" });
    expect((await at.list("/")).items).toEqual([]);
    for (const work of [at.list, at.stat, at.read])
      expect((await failure(work("/x"))).code).toBe("not_found");
    await at.write("/file", "x");
    for (const work of [at.list, at.stat, at.read])
      expect((await failure(work("/file/x"))).code).toBe("not_found");
    expect((await failure(at.list("/file"))).code).toBe("not_found");
  });

  test("accept no path that leaves the root", async () => {
    using at = place();
    for (const path of hostilePaths) {
      for (const work of [at.list, at.stat, at.read, (path: string) => at.write(path, "x")]) {
        expect(await failure(work(path))).toMatchObject({
          code: "bad_request",
          details: { rule: "outside_root" },
        });
      }
    }
    expect(readdirSync(at.top).sort()).toEqual(["acme", "other"]);
  });

  test("follow no symbolic link out of the root, and do follow one that stays inside", async () => {
    using at = place();
    await at.write("/real/a.txt", "inside");
    symlinkSync(join(at.top, "other"), join(at.folder, "out"));
    symlinkSync("../other/secret.txt", join(at.folder, "leak.txt"));
    symlinkSync("real/a.txt", join(at.folder, "alias.txt"));
    symlinkSync("real", join(at.folder, "loop"));
    for (const path of ["/out", "/out/secret.txt", "/leak.txt"]) {
      for (const work of [at.stat, at.read, at.list])
        expect((await failure(work(path))).code).toBe("forbidden");
    }
    expect((await failure(at.write("/out/new.txt", "x"))).code).toBe("forbidden");
    expect((await failure(at.write("/out/deep/new.txt", "x"))).code).toBe("forbidden");
    expect(readdirSync(join(at.top, "other"))).toEqual(["secret.txt"]);
    expect((await at.list("/")).items.map(({ name }) => name)).toEqual(["loop", "real", "alias.txt"]);
    expect(await at.read("/alias.txt")).toBe("inside");

    await at.write("/leak.txt", "mine");
    expect(readFileSync(join(at.top, "other", "secret.txt"), "utf8")).toBe("secret");
    expect(await at.read("/leak.txt")).toBe("mine");
  });

  test("don't open what isn't a file, nor overwrite a folder or write through a file", async () => {
    using at = place();
    await at.write("/folder/file", "x");
    Bun.spawnSync(["mkfifo", join(at.folder, "pipe")]);
    if (existsSync(join(at.folder, "pipe"))) {
      expect((await failure(at.read("/pipe"))).code).toBe("bad_request");
      expect((await at.list("/")).items.map(({ name }) => name)).toEqual(["folder"]);
    }
    expect((await failure(at.read("/folder"))).code).toBe("bad_request");
    expect((await failure(at.write("/folder", "x"))).code).toBe("conflict");
    expect((await failure(at.write("/folder/", "x"))).code).toBe("bad_request");
    expect((await failure(at.write("/folder/file/x", "x"))).code).toBe("conflict");
    expect((await failure(at.write("/", "x"))).code).toBe("bad_request");
  });

  test("beyond the limit, failed or aborted keep the old file and nothing next to it", async () => {
    const stop = new AbortController();
    using at = place({}, { signal: stop.signal });
    await at.write("/a.txt", "old");
    expect((await failure(at.write("/a.txt", "12345", 4))).code).toBe("payload_too_large");
    const broken = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new Uint8Array(10));
        controller.error(new Error("the sender went away"));
      },
    });
    expect(await at.write("/a.txt", broken).catch((error: Error) => error.message)).toBe(
      "the sender went away",
    );
    let begun = () => undefined as undefined;
    const started = new Promise<void>((resolve) => {
      begun = () => void resolve() as undefined;
    });
    const stalled = new ReadableStream<Uint8Array>({
      async pull(controller) {
        controller.enqueue(new Uint8Array(10));
        begun();
        await new Promise(() => undefined);
      },
    });
    const written = at.write("/a.txt", stalled).catch((error: Error) => error.message);
    await started;
    expect(readdirSync(join(at.folder, "a.txt").replace("/a.txt", "")).sort()).toEqual([
      ".weir-parts",
      "a.txt",
    ]);
    expect((await at.list("/")).items.map(({ name }) => name)).toEqual(["a.txt"]);
    stop.abort(new Error("enough"));
    expect(await written).toBe("enough");
    expect(readFileSync(join(at.folder, "a.txt"), "utf8")).toBe("old");
    expect(readdirSync(join(at.folder, ".weir-parts"))).toEqual([]);
  });

  test("lose parts that a stopped process left behind a day ago", async () => {
    using at = place();
    await at.write("/a.txt", "x");
    const parts = join(at.folder, ".weir-parts");
    for (const name of ["stale", "fresh"]) writeFileSync(join(parts, name), "x");
    utimesSync(join(parts, "stale"), 1, 1);
    await at.write("/b.txt", "x");
    expect(readdirSync(parts)).toEqual(["fresh"]);
  });

  test("are listed page by page, once each, folders first", async () => {
    using at = place();
    for (let i = 0; i < 1_500; i++) writeFileSync(join(at.folder, `f${i}.txt`), "");
    for (let i = 0; i < 700; i++) mkdirSync(join(at.folder, `z${i}`));
    const first = await at.list("/");
    const second = await at.list("/", first.nextPageToken);
    const third = await at.list("/", second.nextPageToken);
    expect([first, second, third].map(({ items }) => items.length)).toEqual([1_000, 1_000, 200]);
    expect(third.nextPageToken).toBeUndefined();
    const all = [first, second, third].flatMap(({ items }) => items);
    expect(new Set(all.map(({ id }) => id)).size).toBe(2_200);
    expect(all.slice(0, 700).every(({ kind }) => kind === "folder")).toBe(true);
    expect((await failure(at.list("/", "nonsense"))).code).toBe("bad_request");
  });
});

describe("extract", () => {
  const extract = async (at: ReturnType<typeof place>, spec: string) => {
    const request = { spec, columns: null, where: null, range: null, maxRows: null, batchSize: null };
    const extraction = (await localFiles.extract?.(at.connection, request)) as Extract<
      Extraction,
      { kind: "files" }
    >;
    const files: string[] = [];
    for await (const { name, format, open } of extraction.files)
      files.push(`${name} ${format} ${await textOf(await open())}`);
    return files;
  };

  test("returns what a pattern matches, in name order, and nothing outside", async () => {
    using at = place({ root: "data" });
    const names = [
      "a.csv",
      "a/1.json",
      "a/b/2.ndjson",
      "a/b/x.txt",
      "b.parquet",
      "B.CSV",
      "c/[1].csv",
      "a-1.csv",
      "é.csv",
    ];
    for (const name of names) await at.write(`/${name}`, name);
    symlinkSync(at.top, join(at.folder, "data", "up"));
    symlinkSync("../../other/secret.txt", join(at.folder, "data", "leak.csv"));
    const meant = async (spec: string) => (await extract(at, spec)).map((text) => text.split(" ")[0]);
    expect(await extract(at, "**/*.{json,ndjson}")).toEqual([
      "a/1.json json a/1.json",
      "a/b/2.ndjson jsonl a/b/2.ndjson",
    ]);
    expect(await meant("**")).toEqual([
      "B.CSV",
      "a-1.csv",
      "a.csv",
      "a/1.json",
      "a/b/2.ndjson",
      "b.parquet",
      "c/[1].csv",
      "é.csv",
    ]);
    expect(await meant("*.csv")).toEqual(["a-1.csv", "a.csv", "é.csv"]);
    expect(await meant("a/")).toEqual(["a/1.json", "a/b/2.ndjson"]);
    expect(await meant("[!a]/*.csv")).toEqual(["c/[1].csv"]);
    expect(await meant("c/\\[1\\].csv")).toEqual(["c/[1].csv"]);
    expect(await meant("?.csv")).toEqual(["a.csv", "é.csv"]);
    expect(await meant("a/**/2.ndjson")).toEqual(["a/b/2.ndjson"]);
    for (const spec of ["up/**", "leak.csv", "../**", "x/../../**", "/etc/*.json"]) {
      expect((await failure(extract(at, spec))).code).toBe("not_found");
    }
    expect((await failure(extract(at, "passwd"))).code).toBe("definition_invalid");
  });

  test("decompresses gzip, leaves what only claims to be gzip, and reports a broken one", async () => {
    using at = place();
    writeFileSync(join(at.folder, "1.csv.gz"), Buffer.concat([gzipSync("one,"), gzipSync("two")]));
    writeFileSync(join(at.folder, "2.csv.gz"), "plain");
    writeFileSync(join(at.folder, "3.csv.gz"), "");
    expect(await extract(at, "*.gz")).toEqual([
      "1.csv.gz csv one,two",
      "2.csv.gz csv plain",
      "3.csv.gz csv ",
    ]);
    writeFileSync(join(at.folder, "4.csv.gz"), gzipSync("x".repeat(100_000)).subarray(0, 60));
    expect(await failure(extract(at, "4.csv.gz"))).toMatchObject({ code: "upstream" });
  });

  test("matches a pattern full of asterisks quickly", async () => {
    using at = place();
    await at.write(`/${"a".repeat(240)}.csv`, "x");
    const error = await failure(extract(at, `${"*a".repeat(100)}*b.csv`));
    expect(error.code).toBe("not_found");
    expect((await failure(extract(at, "{a,b}".repeat(10)))).code).toBe("definition_invalid");
  });
});
