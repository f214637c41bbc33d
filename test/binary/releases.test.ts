import { expect, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { platformOf } from "../../src/base/program-file.ts";
import { byNumbers, newestNeeded } from "../support/elf.ts";
import { isDeep } from "../support/scale.ts";
import { BUILD_LIMIT_MS, bareMachine, build, copyOfProject, executable, ROOT } from "./executable.ts";

const isLinux = process.platform === "linux";

const hashOf = async (path: string) =>
  new Bun.CryptoHasher("sha256").update(await Bun.file(path).bytes()).digest("hex");

/** Hard links of the same files, so that no path leads out of the copy. */
function linkFiles(from: string, to: string): void {
  const linked = Bun.spawnSync(["cp", "-al", from, to], { stderr: "ignore" });
  if (linked.success) return;
  rmSync(to, { recursive: true, force: true }); // On another file system, it created only the folders.
  expect(Bun.spawnSync(["cp", "-a", from, to]).exitCode).toBe(0);
}

test.skipIf(!isLinux || !isDeep)(
  "the same source produces the same bytes, in another folder and at another time",
  async () => {
    await using machine = bareMachine();
    const program = executable();
    const [about] = (await machine.run(["version", "--json"], { program })).lines();
    using project = copyOfProject(linkFiles);
    const other = join(project.folder, "out/of/the/way/other-name");
    const commit: Record<string, string> = about.commit === null ? {} : { WEIR_COMMIT: about.commit };
    build(project.folder, other, { env: { ...commit, TZ: "Asia/Tokyo", LC_ALL: "C" } });
    expect(await hashOf(other)).toBe(await hashOf(program));
  },
  BUILD_LIMIT_MS,
);

test("the executable contains no path of the build machine", async () => {
  expect(Buffer.from(await Bun.file(executable()).bytes()).includes(join(ROOT, "node_modules"))).toBe(false);
});

test("the executable prints the licenses of everything that it includes", async () => {
  await using machine = bareMachine();
  const listed = (await machine.run(["licenses", "--json"])).lines()[0] as Record<
    "name" | "version" | "license",
    string
  >[];
  expect(listed.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["weir", "bun", "elysia", "react-dom"]),
  );
  const { out, code } = await machine.run(["licenses"]);
  expect(code).toBe(0);
  for (const { name, version, license } of listed)
    expect(out).toContain(`\n${name} ${version}: ${license}\n`);
  expect(out).toContain("JavaScriptCore and parts of WebKit");
});

test("from source, there are no licenses to print", () => {
  const child = Bun.spawnSync([process.execPath, "src/main.ts", "licenses"], { cwd: ROOT });
  expect(child.exitCode).toBe(1);
  expect(child.stderr.toString()).toContain("running from source");
});

test.skipIf(!isLinux)("the executable requires no newer C library than documented", async () => {
  const promise =
    /glibc (\d+\.\d+) or newer/.exec(readFileSync(join(ROOT, "docs/install.md"), "utf8"))?.[1] ?? "";
  const native = join(ROOT, `node_modules/@duckdb/node-bindings-linux-${process.arch}`);
  for (const path of [executable(), join(native, "libduckdb.so"), join(native, "duckdb.node")]) {
    const floor = newestNeeded(path, "GLIBC") ?? "";
    expect(floor).toMatch(/^2\.\d+$/);
    expect(byNumbers(floor, promise)).toBeLessThanOrEqual(0);
  }
  expect(platformOf(executable())).toBe(`linux-${process.arch}`);
});

test("an unknown target is rejected, with the names of the known ones", () => {
  const child = Bun.spawnSync([process.execPath, "scripts/build.ts", "--target", "beos-ppc"], { cwd: ROOT });
  expect(child.exitCode).toBe(1);
  expect(child.stderr.toString()).toContain(
    "name linux-x64, linux-arm64, darwin-x64, darwin-arm64, windows-x64",
  );
});
