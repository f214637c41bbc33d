import { expect, test } from "bun:test";
import { join } from "node:path";

const project = join(import.meta.dir, "..", "..");

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

interface Lockfile {
  workspaces: Record<string, Manifest>;
  /** name → [`name@version`, …] */
  packages: Record<string, [string, ...unknown[]]>;
}

const manifest = (await Bun.file(join(project, "package.json")).json()) as Manifest;
// The lockfile is JSON with trailing commas, which is what JSONC allows.
const lockfile = Bun.JSONC.parse(await Bun.file(join(project, "bun.lock")).text()) as Lockfile;

const asked = { ...manifest.dependencies, ...manifest.devDependencies };

/** Every version of a package in the lockfile, including those that other packages depend on. */
const lockedVersions = (name: string): string[] =>
  Object.values(lockfile.packages)
    .map(([locator]) => locator)
    .filter((locator) => locator.startsWith(`${name}@`))
    .map((locator) => locator.slice(name.length + 1));

test.each([
  ["elysia", "1.4.27"],
  ["drizzle-orm", "0.45.2"],
])("%s is at least %s in the lockfile, where known vulnerabilities are fixed", (name, floor) => {
  const versions = lockedVersions(name);
  expect(versions).not.toEqual([]);
  for (const version of versions) expect(Bun.semver.order(version, floor)).toBeGreaterThanOrEqual(0);
});

test("every dependency is pinned to one version, and that one is locked", () => {
  for (const [key, asking] of Object.entries(asked)) {
    // `npm:name@1.2.3` is another version of a package under an alias.
    const [, name, version] = /^npm:(.+)@(.+)$/.exec(asking) ?? ["", key, asking];
    expect(`${name} ${version}`).toMatch(/ \d+\.\d+\.\d+(-[\w.]+)?$/);
    expect(lockedVersions(name ?? "")).toContain(version);
  }
});

test("the lockfile matches this package.json", () => {
  const { dependencies, devDependencies } = lockfile.workspaces[""] ?? {};
  expect({ dependencies, devDependencies }).toEqual({
    dependencies: manifest.dependencies,
    devDependencies: manifest.devDependencies,
  });
});

test("the tests run on the Bun version that the project is pinned to", () => {
  expect(Bun.version).toBe(asked.bun ?? "");
});

test("an older Node gets a message about the required version, as documented", async () => {
  const node = Bun.which("node");
  const setup = join(project, "scripts", "setup.mjs");
  const floor = /const NODE_FLOOR = (\d+);/.exec(await Bun.file(setup).text())?.[1] ?? "";
  for (const name of ["README.md", "docs/install.md"])
    expect(await Bun.file(join(project, name)).text()).toContain(`Node ${floor} or newer`);
  if (node === null) return;
  const old = `Object.defineProperty(process.versions, "node", { value: "${Number(floor) - 1}.9.0" })`;
  const child = Bun.spawnSync([node, "--import", `data:text/javascript,${encodeURIComponent(old)}`, setup]);
  expect(child.exitCode).toBe(1);
  expect(child.stderr.toString()).toBe(
    `This is Node ${Number(floor) - 1}.9.0; Weir is set up with ${floor} or newer, or with Bun.\n`,
  );
});
