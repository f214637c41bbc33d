import { expect, test } from "bun:test";
import fc from "fast-check";
import type { ManifestEntry } from "../../src/executors/contract.ts";
import { filterOf } from "../../src/executors/file-sync/definition.ts";
import { nameReason, type Plan, planSync } from "../../src/executors/file-sync/plan.ts";
import type { TreeFile } from "../../src/providers/contract-tree.ts";

const NAMES = [
  "a",
  "b",
  "dir/a",
  "dir/b",
  "dir/deep/c",
  "A",
  "dir",
  "dir/deep",
  "dir/x.skip",
  "x.skip",
  "../up",
];

/** Two sides of files, whose contents are numbers, and a sync between them. */
class World {
  readonly source = new Map<string, number>();
  readonly target = new Map<string, number>();
  readonly manifest = new Map<string, ManifestEntry>();
  #writes = 0;
  readonly #versions = new Map<string, number>();

  constructor(readonly isFolderLike: boolean) {}

  write(path: string, content: number): void {
    this.target.set(path, content);
    this.#versions.set(path, ++this.#writes);
  }

  plan(runId: string, mirror: boolean): Plan {
    return planSync({
      files: [...this.source].map(([path, content]) => this.#file(path, content, `v${content}`)),
      present: new Map(
        [...this.target].map(([path, content]) => [
          path,
          this.#file(path, content, `w${this.#versions.get(path)}`),
        ]),
      ),
      manifest: this.manifest,
      runId,
      overwrite: "changed",
      mirror,
      isFolderLike: this.isFolderLike,
      renamesTwins: false,
      fault: () => null,
      hasDropped: () => false,
      isMeant: (path) => !path.endsWith(".skip"),
      unread: [],
      at: (path) => path,
    });
  }

  /** Executes a plan up to its first `copies` files; those after `kept` aren't recorded. */
  carryOut(plan: Plan, runId: string, { copies, kept }: { copies: number; kept: number }): void {
    for (const entry of plan.adopt) this.manifest.set(entry.path, entry);
    for (const path of plan.clear) this.target.delete(path);
    for (const [index, file] of plan.copy.slice(0, copies).entries()) {
      if (this.isFolderLike) expect(this.#obstacles(file.path)).toEqual([]);
      this.write(file.path, this.source.get(file.path) ?? -1);
      if (index < kept) this.manifest.set(file.path, this.#entry(file, runId));
    }
    if (copies < plan.copy.length || plan.failed.length > 0) return;
    for (const path of plan.remove) this.target.delete(path);
    for (const path of [...plan.clear, ...plan.remove, ...plan.forget]) this.manifest.delete(path);
  }

  /** Files because of which a folder can't hold a file at this path. */
  #obstacles = (path: string): string[] =>
    [...this.target.keys()].filter((each) => each.startsWith(`${path}/`) || path.startsWith(`${each}/`));

  #file = (path: string, content: number, version: string): TreeFile => ({
    id: path,
    path,
    size: 1,
    modifiedAt: null,
    version,
    // Every other content has a hash that both sides know.
    hash: content % 2 === 0 ? `h${content}` : null,
  });

  #entry = (file: TreeFile, runId: string): ManifestEntry => ({
    path: file.path,
    sourceVersion: file.version,
    targetVersion: `w${this.#versions.get(file.path)}`,
    size: 1,
    detail: null,
    runId,
  });
}

const step = fc.oneof(
  fc.record({
    kind: fc.constantFrom("change", "change", "drop", "foreign", "lose"),
    path: fc.constantFrom(...NAMES),
    content: fc.integer({ min: 0, max: 5 }),
  }),
  fc.record({
    kind: fc.constant("run"),
    mirror: fc.boolean(),
    copies: fc.integer({ min: 0, max: 12 }),
    unkept: fc.nat(3),
  }),
);

test("whatever happens on both sides, the next complete run leaves the source's files, and a second one has nothing to do", () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 30 }),
      fc.boolean(),
      fc.boolean(),
      (steps, isFolderLike, mirror) => {
        const world = new World(isFolderLike);
        let runs = 0;
        for (const each of steps) {
          if (!("path" in each)) {
            const runId = `run-${++runs}`;
            const plan = world.plan(runId, each.mirror);
            const { copies } = each;
            world.carryOut(plan, runId, { copies, kept: Math.max(0, copies - each.unkept) });
          } else if (each.kind === "change") world.source.set(each.path, each.content);
          else if (each.kind === "drop") world.source.delete(each.path);
          else if (each.kind === "foreign") world.write(each.path, each.content);
          else world.target.delete(each.path);
        }
        const before = new Map(world.target);
        const plan = world.plan("last", mirror);
        const refused = new Set(plan.failed.map(({ path }) => path));
        expect([...refused].every((path) => world.source.has(path))).toBe(true);
        expect(plan.copy.length + plan.skipped + plan.done.length + plan.failed.length).toBe(
          world.source.size,
        );
        world.carryOut(plan, "last", { copies: Number.POSITIVE_INFINITY, kept: Number.POSITIVE_INFINITY });
        for (const [path, content] of world.source) {
          if (refused.has(path)) expect(world.target.get(path)).toBe(before.get(path) as number);
          else expect([path, world.target.get(path)]).toEqual([path, content]);
        }
        for (const [path, content] of before) {
          if (world.source.has(path)) continue;
          const isKept = !mirror || refused.size > 0 || path.endsWith(".skip");
          expect([path, world.target.get(path)]).toEqual([path, isKept ? content : undefined]);
        }
        const again = world.plan("after", mirror);
        expect([again.copy, again.adopt, again.done]).toEqual([[], [], []]);
        if (refused.size === 0) expect([again.clear, again.remove]).toEqual([[], []]);
        expect(again.failed).toEqual(plan.failed);
      },
    ),
    { numRuns: 2_000, seed: 20_26 },
  );
});

test("an interrupted run counts what it copied before, and copies only the rest", () => {
  const world = new World(false);
  for (let n = 0; n < 10; n++) world.source.set(`file-${n}`, 2 * n + 1);
  world.carryOut(world.plan("run", false), "run", { copies: 7, kept: 6 });
  const plan = world.plan("run", false);
  expect([plan.done.length, plan.copy.map(({ path }) => path), plan.skipped]).toEqual([
    6,
    ["file-6", "file-7", "file-8", "file-9"],
    0,
  ]);
  expect(world.plan("another", false)).toMatchObject({ done: [], skipped: 6 });
});

test("of names that a folder treats as one, the existing one stays", () => {
  const world = new World(true);
  world.source.set("b", 1);
  world.carryOut(world.plan("one", false), "one", { copies: 1, kept: 1 });
  world.source.set("B", 3);
  world.source.set("caf\u00e9", 5);
  world.source.set("cafe\u0301", 7);
  const { copy, failed, skipped } = world.plan("two", false);
  expect([copy.map(({ path }) => path), failed.map(({ path }) => path), skipped]).toEqual([
    ["cafe\u0301"],
    ["B", "caf\u00e9"],
    1,
  ]);
});

test("no name is written that leads elsewhere", () => {
  const bad = ["", "/a", "a/", "..", "../a", "a/..", "a/../b", "./a", "a/./b", "a\0b", "\ud800"];
  for (const path of bad)
    expect([path, nameReason(path, () => null)]).toEqual([path, expect.stringMatching(/^Not copied: /)]);
  for (const path of ["a", "a/b", "...", "a..b/c", ".hidden", "a//b"])
    expect(nameReason(path, () => null)).toBeNull();
  expect(nameReason("a", () => "the moon is full")).toBe("Not copied: the moon is full.");
});

test("patterns without a slash match the name, others the path", () => {
  const matching = (source: { include?: string[]; exclude?: string[] }) =>
    ["a.csv", "dir/a.csv", "dir/deep/b.txt", "tmp/c", "x/tmp/d"].filter(filterOf(source));
  expect(matching({ include: ["*.csv"] })).toEqual(["a.csv", "dir/a.csv"]);
  expect(matching({ include: ["/*.csv"] })).toEqual(["a.csv"]);
  expect(matching({ include: ["dir/*"] })).toEqual(["dir/a.csv"]);
  expect(matching({ exclude: ["tmp/", "b.txt"] })).toEqual(["a.csv", "dir/a.csv"]);
  expect(matching({ include: ["**"], exclude: ["**/deep/**"] })).toEqual([
    "a.csv",
    "dir/a.csv",
    "tmp/c",
    "x/tmp/d",
  ]);
});
