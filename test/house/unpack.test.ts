import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { deepTest } from "../support/scale.ts";

const project = join(import.meta.dir, "..", "..");
const platform = `${process.platform}-${process.arch}`;
const home = join(project, "node_modules", "@duckdb", `node-bindings-${platform}`);
const library = process.platform === "darwin" ? "libduckdb.dylib" : "libduckdb.so";

let scratch = "";
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "weir-unpack-"));
});
afterEach(() => rmSync(scratch, { recursive: true }));

/** Unpacks and loads DuckDB in a process with only `env`, as the executable does. */
function load(env: Record<string, string>) {
  const files = [library, "duckdb.node"].map((name) => {
    const bytes = readFileSync(join(home, name));
    const source = join(scratch, `${name}.zst`);
    writeFileSync(source, zstdCompressSync(bytes));
    return { name, source, size: bytes.length };
  });
  const script = `import { loadNative } from ${JSON.stringify(join(project, "scripts", "unpack.ts"))};
console.log(loadNative("duckdb-test", ${JSON.stringify(files)}).library_version());`;
  const child = Bun.spawnSync([process.execPath, "-e", script], { env, cwd: scratch });
  return { out: child.stdout.toString().trim(), err: child.stderr.toString(), ok: child.success };
}

test("the library is unpacked once, only for this user, and loads", () => {
  const cache = join(scratch, "cache");
  expect(load({ WEIR_CACHE_DIR: cache })).toMatchObject({ ok: true, out: expect.stringMatching(/^v\d/) });
  const laid = join(cache, "duckdb-test", library);
  const first = statSync(laid);
  expect(statSync(join(cache, "duckdb-test")).mode & 0o777).toBe(0o700);
  expect(load({ WEIR_CACHE_DIR: cache }).ok).toBe(true);
  expect(statSync(laid).ino).toBe(first.ino);
});

deepTest("a truncated library is unpacked again", () => {
  const cache = join(scratch, "cache");
  mkdirSync(join(cache, "duckdb-test"), { recursive: true, mode: 0o700 });
  writeFileSync(join(cache, "duckdb-test", library), "half");
  expect(load({ WEIR_CACHE_DIR: cache }).ok).toBe(true);
});

deepTest("a cache folder that can't be created is skipped for the next one", () => {
  writeFileSync(join(scratch, "file"), "");
  const user = join(scratch, "user");
  mkdirSync(user);
  expect(load({ XDG_CACHE_HOME: join(scratch, "file"), HOME: user }).ok).toBe(true);
  expect(statSync(join(user, ".cache", "weir", "duckdb-test", library)).size).toBeGreaterThan(0);
});

deepTest("without a home, the temp folder is used", () => {
  expect(load({ HOME: join(scratch, "gone"), TMPDIR: scratch }).ok).toBe(true);
  expect(statSync(join(scratch, `weir-${process.getuid?.()}`, "duckdb-test", library)).size).toBeGreaterThan(
    0,
  );
});

test("a folder that others can write to is rejected, and the error says what to set", () => {
  const cache = join(scratch, "cache");
  mkdirSync(cache);
  chmodSync(cache, 0o777);
  const { ok, err } = load({ WEIR_CACHE_DIR: cache });
  expect(ok).toBe(false);
  expect(err).toContain(`${cache} (other users can write to it)`);
  expect(err).toContain("Set WEIR_CACHE_DIR");
});
