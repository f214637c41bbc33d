import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openFolderLake } from "../../src/lake/folder.ts";
import { failure } from "../support/sql.ts";

function openTestLake() {
  const root = mkdtempSync(join(tmpdir(), "weir-lake-"));
  return {
    root,
    lake: openFolderLake(root),
    /** A finished file with `text`, outside of the lake. */
    file(text: string) {
      const path = join(root, `${text}.tmp`);
      writeFileSync(path, text);
      chmodSync(path, 0o644);
      return { path, rows: 1, bytes: text.length };
    },
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

const at = { organizationId: "org-1", layer: "raw", dataset: "shop", table: "orders", loadId: "load-1" };
const future = new Date("2999-01-01T00:00:00Z");

describe("a lake in a folder", () => {
  test("stores a file with the load's next number, readable only by its owner", async () => {
    using test = openTestLake();
    const first = await test.lake.add(at, test.file("one"));
    const second = await test.lake.add(at, test.file("two"));
    expect([first.path, second.path]).toEqual([
      "org-1/raw/shop/orders/load-1-1.parquet",
      "org-1/raw/shop/orders/load-1-2.parquet",
    ]);
    expect(first).toMatchObject({ rows: 1, bytes: 3, loadId: "load-1" });
    expect(first.id).not.toBe(second.id);
    const path = await test.lake.localPath(first);
    expect(await Bun.file(path).text()).toBe("one");
    expect([statSync(path).mode & 0o777, statSync(join(test.root, "org-1")).mode & 0o777]).toEqual([
      0o600, 0o700,
    ]);
    expect(readdirSync(test.root)).toEqual(["org-1"]);
  });

  test("never overwrites a file, even with many at once", async () => {
    using test = openTestLake();
    const texts = ["a", "b", "c", "d", "e"];
    const placed = await Promise.all(texts.map((text) => test.lake.add(at, test.file(text))));
    const found = await Promise.all(
      placed.map(async (file) => Bun.file(await test.lake.localPath(file)).text()),
    );
    expect(found).toEqual(texts);
  });

  test("rejects names and paths that would lead elsewhere", async () => {
    using test = openTestLake();
    for (const wrong of [
      { layer: ".." },
      { dataset: "a/b" },
      { table: "Orders" },
      { organizationId: "../x" },
      { loadId: "" },
      { dataset: "" },
    ]) {
      expect([wrong, (await failure(test.lake.add({ ...at, ...wrong }, test.file("x")))).code]).toEqual([
        wrong,
        "bad_request",
      ]);
    }
    for (const path of ["../secret", "/etc/passwd", "a/../../b", "a//b", "./a", "", "a/..\\b"]) {
      expect([path, (await failure(test.lake.localPath({ path }))).code]).toEqual([path, "bad_request"]);
      expect((await failure(test.lake.remove([path]))).code).toBe("bad_request");
    }
  });

  test("follows no symbolic link", async () => {
    using test = openTestLake();
    const outside = mkdtempSync(join(tmpdir(), "weir-outside-"));
    writeFileSync(join(outside, "secret.parquet"), "secret");
    mkdirSync(join(test.root, "org-1"));
    symlinkSync(outside, join(test.root, "org-1", "raw"));
    symlinkSync(join(outside, "secret.parquet"), join(test.root, "org-1", "link.parquet"));
    expect((await failure(test.lake.localPath({ path: "org-1/raw/secret.parquet" }))).code).toBe("not_found");
    expect((await failure(test.lake.localPath({ path: "org-1/link.parquet" }))).code).toBe("not_found");
    expect((await failure(test.lake.remove(["org-1/raw/secret.parquet"]))).code).toBe("not_found");
    expect((await failure(test.lake.add(at, test.file("x")))).code).toBe("not_found");
    expect(readdirSync(outside)).toEqual(["secret.parquet"]);
    expect(await Array.fromAsync(test.lake.list(future))).not.toContain("org-1/raw/secret.parquet");
    rmSync(outside, { recursive: true });
  });

  test("removes files with the folders that become empty, and ignores missing ones", async () => {
    using test = openTestLake();
    const { path } = await test.lake.add(at, test.file("one"));
    await test.lake.remove([path, path]);
    expect(existsSync(join(test.root, "org-1"))).toBe(false);
    const again = await test.lake.add(at, test.file("again"));
    expect(existsSync(join(test.root, again.path))).toBe(true);
  });

  test("lists what was last modified before a given time, and abandoned work", async () => {
    using test = openTestLake();
    const old = await test.lake.add(at, test.file("old"));
    await test.lake.add(at, test.file("young"));
    const left = await test.lake.workFolder("run-1");
    const busy = await test.lake.workFolder("run-2");
    const longAgo = new Date("2001-01-01T00:00:00Z");
    for (const name of [join(left.path, "a"), join(busy.path, "a"), join(busy.path, "b")])
      writeFileSync(name, "");
    for (const name of [join(test.root, old.path), join(left.path, "a"), join(busy.path, "a")])
      utimesSync(name, longAgo, longAgo);
    const found = await Array.fromAsync(test.lake.list(new Date("2002-01-01T00:00:00Z")));
    expect(found.sort()).toEqual([join(left.path, "a").slice(test.root.length + 1), old.path]);
    await test.lake.remove(found);
    expect(existsSync(left.path)).toBe(false);
    expect(existsSync(busy.path)).toBe(true);
    await busy.dispose();
    expect(existsSync(busy.path)).toBe(false);
  });
});
