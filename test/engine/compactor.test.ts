import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Context, contextFor, write } from "../../src/context.ts";
import { compactor } from "../../src/engine/compactor.ts";
import { openLocks } from "../../src/engine/locks.ts";
import { sweeper } from "../../src/engine/sweeper.ts";
import type { LakeFile, TableChange } from "../../src/lake/contract.ts";
import { commitLoad } from "../../src/resources/datasets/commit.ts";
import { compactTable } from "../../src/resources/datasets/compact.ts";
import { readTables } from "../../src/resources/datasets/tables.ts";
import { startApp } from "../support/app.ts";
import { deepTest } from "../support/scale.ts";
import { failure } from "../support/sql.ts";

type Running = Awaited<ReturnType<typeof startApp>>;

const SHOP = { layer: "raw", dataset: "shop", table: "orders" };
let weir: Running;
let ctx: Context;
beforeAll(async () => {
  weir = await startApp({ engine: false });
  ctx = contextFor(weir.app, {
    organizationId: weir.ids.organizationId,
    role: "member",
    actor: { type: "user", id: weir.ids.userId },
    correlationId: "test-chain",
  });
});
afterAll(() => weir[Symbol.asyncDispose]());

/** Appends a load of `count` files, each with one row. `part` puts each in a separate partition. */
async function load(dataset: string, count: number, change: Partial<TableChange> = {}, isParted = false) {
  const loadId = ctx.ids.uuid();
  const work = await ctx.lake.workFolder(loadId);
  const into = join(work.path, "rows");
  mkdirSync(into);
  const select = `SELECT i AS id, i // 2 AS half FROM range(${count}) t(i)`;
  const { files, columns } = await ctx.sql.materialize({ tables: [], sql: select }, into, {
    partitionBy: ["id"],
  });
  const at = { organizationId: ctx.organizationId, layer: "raw", dataset, table: "orders", loadId };
  const add: LakeFile[] = [];
  for (const [n, file] of files.entries())
    add.push(await ctx.lake.add(at, { ...file, part: isParted ? `half=${n % 20}` : null }));
  await work.dispose();
  const before = await tableOf(dataset);
  const whole = {
    table: "orders",
    columns,
    add,
    remove: [],
    baseVersion: before?.version ?? null,
    ...change,
  };
  await write(ctx, (tx) =>
    commitLoad(tx, loadId, "", { loadId, layer: "raw", dataset, tables: [whole as TableChange] }),
  );
  return loadId;
}

const tableOf = async (dataset: string) =>
  (await readTables(ctx.db, { organizationId: ctx.organizationId, ...SHOP, dataset }))[0];
const tick = (loop = compactor(weir.app, openLocks())) => loop.tick(new AbortController().signal);
const counted = async (dataset: string) =>
  (
    await weir.owner("POST", "/api/v1/query", {
      sql: `SELECT count(*) AS n, sum(id) AS ids FROM raw.${dataset}__orders`,
    })
  ).body.rows[0];

test("many small files become few, with the same rows, and the table shows it", async () => {
  await load("many", 32);
  expect(await tick()).toBe("idle");
  expect((await tableOf("many"))?.files).toHaveLength(32);
  await load("many", 10);
  const before = await counted("many");
  expect(await tick()).toBe("more");
  expect(await tick()).toBe("idle");
  const after = await tableOf("many");
  expect(after?.files.length).toBe(1);
  expect(after?.rows).toBe(42);
  expect(after?.version).toBe(2);
  expect(await counted("many")).toEqual(before);
  const { body } = await weir.owner("GET", "/api/v1/datasets?q=many");
  expect(body.datasets[0].tables[0]).toMatchObject({ rows: 42, files: 1, bytes: after?.bytes });
});

deepTest("rows of two partitions stay in separate files", async () => {
  await load("parts", 80, {}, true);
  expect(await tick()).toBe("more");
  expect(await tick()).toBe("idle");
  const files = (await tableOf("parts"))?.files ?? [];
  expect(files.map(({ part, rows }) => [part, rows]).sort()).toEqual(
    Array.from({ length: 20 }, (_, n) => [`half=${n}`, 4]).sort(),
  );
});

deepTest("a load that only adds rows isn't affected by a concurrent compaction", async () => {
  await load("append", 40);
  const { version = 0 } = (await tableOf("append")) ?? {};
  expect(await tick()).toBe("more");
  await load("append", 2, { baseVersion: version });
  expect(await counted("append")).toMatchObject({ n: 42 });
});

test("a load that rewrites a compacted file gets dataset_changed", async () => {
  await load("merge", 40);
  const table = await tableOf("merge");
  const [first] = table?.files ?? [];
  expect(await tick()).toBe("more");
  const rewrite = load("merge", 1, { baseVersion: table?.version ?? 0, remove: [first?.id ?? ""] });
  expect((await failure(rewrite)).code).toBe("dataset_changed");
  expect(await counted("merge")).toMatchObject({ n: 40 });
});

deepTest("files that a load removed in the meantime aren't restored by a compaction", async () => {
  await load("gone", 40);
  const table = await tableOf("gone");
  const slow = {
    ...ctx,
    lake: {
      ...ctx.lake,
      add: async (...given: Parameters<typeof ctx.lake.add>) => {
        await load("gone", 1, { baseVersion: table?.version ?? 0, remove: [table?.files[0]?.id ?? ""] });
        return ctx.lake.add(...given);
      },
    },
  };
  const compact = compactTable(
    slow,
    { organizationId: ctx.organizationId, layer: "raw", dataset: "gone", tableName: "orders" },
    new AbortController().signal,
  );
  expect((await failure(compact)).code).toBe("dataset_changed");
  expect(await counted("gone")).toMatchObject({ n: 40 });
});

deepTest("a table whose dataset is being written isn't compacted until that load has ended", async () => {
  while ((await tick()) === "more");
  await load("busy", 40);
  const locks = openLocks();
  const release = await locks.take(`${ctx.organizationId}/raw/busy`);
  const loop = compactor(weir.app, locks);
  expect(await tick(loop)).toBe("idle");
  expect((await tableOf("busy"))?.files).toHaveLength(40);
  release();
  expect(await tick(loop)).toBe("more");
  await (await locks.take(`${ctx.organizationId}/raw/busy`))();
  expect((await tableOf("busy"))?.files).toHaveLength(1);
});

test("what an interrupted attempt has written is invisible, and swept", async () => {
  await load("broken", 40);
  const placed: string[] = [];
  const broken = {
    ...ctx,
    lake: {
      ...ctx.lake,
      add: async (...given: Parameters<typeof ctx.lake.add>) => {
        placed.push((await ctx.lake.add(...given)).path);
        throw new Error("the process ends here");
      },
    },
  };
  const here = { organizationId: ctx.organizationId, layer: "raw", dataset: "broken", tableName: "orders" };
  await failure(compactTable(broken, here, new AbortController().signal));
  expect(placed).toHaveLength(1);
  expect((await tableOf("broken"))?.files).toHaveLength(40);
  expect(await counted("broken")).toMatchObject({ n: 40 });
  const left = join(weir.dataFolder, "lake", placed[0] ?? "");
  expect(existsSync(left)).toBe(true);
  weir.clock.turn(2 * 60 * 60 * 1000);
  const loop = sweeper(weir.app);
  while ((await loop.tick(new AbortController().signal)) === "more");
  expect(existsSync(left)).toBe(false);
  expect(await counted("broken")).toMatchObject({ n: 40 });
});
