import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { contextFor } from "../../src/context.ts";
import { compactor } from "../../src/engine/compactor.ts";
import { openLocks } from "../../src/engine/locks.ts";
import { compactTable } from "../../src/resources/datasets/compact.ts";
import { syncFiles } from "../../src/resources/sync/table.ts";
import { startData } from "../data/place.ts";
import { loadTable } from "../support/lake.ts";
import { HELD, startS3, type TestS3 } from "../support/s3.ts";
import { deepTest, someOf } from "../support/scale.ts";
import { bucket, folder, sync } from "../support/sync.ts";
import { RUNS, until } from "../support/work.ts";

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

/** Parquet files with one row each, with these IDs. */
async function rowsOf(...ids: number[]): Promise<Uint8Array[]> {
  const place = mkdtempSync(join(data.app.dataFolder, "lake", ".work", "parquet-")); // A folder that SQL may write to.
  const sql = `SELECT unnest(${JSON.stringify(ids)}) AS id`;
  const { files } = await data.app.app.sql.materialize({ tables: [], sql }, place, { partitionBy: ["id"] });
  const found = await Promise.all(
    ids.map((id) => Bun.file(files.find(({ path }) => path.includes(`id=${id}/`))?.path ?? "").bytes()),
  );
  rmSync(place, { recursive: true });
  return found;
}

const rowOf = async (id: number) => (await rowsOf(id))[0] as Uint8Array;

const ids = async (table: string) =>
  (await data.rows(`SELECT id FROM raw.${table} ORDER BY id`)).map(({ id }) => id);

deepTest("a file placed by a run that was then cancelled replaces the old one in the next", async () => {
  const from = await bucket(data, s3);
  const put = async (name: string, id: number) => from.putRaw(`in/orders/${name}.parquet`, await rowOf(id));
  await put("one", 1);
  await put("two", 2);
  const { id, start, result } = await sync(data, {
    source: { connectionId: from.id, path: "/in" },
    destination: { connectionId: "lake", path: "/raw/broken_off" },
  });
  expect(await result()).toMatchObject({ copied: 2 });
  const placedAs = async () => {
    const rows = await data.app.app.store.db.select().from(syncFiles);
    return rows.find((row) => row.ownerId === id && row.path === "orders/one.parquet")?.targetVersion;
  };
  const first = await placedAs();

  await put("one", 10);
  await put("two", 20);
  s3.interfere(({ method, url }) => (method === "GET" && url.includes("two.parquet") ? HELD : null));
  const run = await start();
  while ((await placedAs()) === first) await Bun.sleep(20);
  expect((await data.owner("POST", `${RUNS}/${run.id}/cancel`)).status).toBe(200);
  await until(data.owner, `${RUNS}/${run.id}`, ({ status }) => status === "cancelled");
  expect(await ids("broken_off__orders")).toEqual([1, 2]);

  s3.interfere(() => null);
  expect(await result()).toMatchObject({ copied: 2, failed: [] });
  expect(await ids("broken_off__orders")).toEqual([10, 20]);
  expect(await result()).toMatchObject({ copied: 0, skipped: 2 });
});

deepTest(
  "files from a sync stay separate, however many there are, so that none is copied twice",
  async () => {
    const from = await folder(data);
    const files = await rowsOf(...Array(40).keys());
    for (const [n, bytes] of files.entries()) from.put(`orders/${n}.parquet`, bytes);
    const { result } = await sync(data, {
      source: { connectionId: from.id },
      destination: { connectionId: "lake", path: "/raw/crowd" },
    });
    expect(await result()).toMatchObject({ copied: 40 });
    const loop = compactor(data.app.app, openLocks());
    while ((await loop.tick(new AbortController().signal)) === "more");
    expect(await result()).toMatchObject({ copied: 0, skipped: 40 });
    from.put("orders/3.parquet", await rowOf(300));
    expect(await result()).toMatchObject({ copied: 1, skipped: 39 });
    const found = await ids("crowd__orders");
    expect([found.length, found.includes(3), found.includes(300)]).toEqual([40, false, true]);
  },
);

test("another action that copies the same files to the same dataset replaces them", async () => {
  const from = await folder(data);
  from.put("one.parquet", await rowOf(1));
  from.put("two.parquet", await rowOf(2));
  const definition = {
    source: { connectionId: from.id },
    destination: { connectionId: "lake", path: "/raw/again/again" },
  };
  expect(await (await sync(data, definition)).result()).toMatchObject({ copied: 2 });
  from.put("two.parquet", await rowOf(20));
  expect(await (await sync(data, definition)).result()).toMatchObject({ failed: [] });
  expect(await ids("again")).toEqual([1, 20]);
});

test("files more than one folder below a dataset are refused, since their table isn't clear", async () => {
  const from = await folder(data);
  const paths = ["a.parquet", "orders/b.parquet", "orders/eu/c.parquet", "orders/year=2026/m=1/d.parquet"];
  for (const [id, path] of paths.entries()) from.put(path, await rowOf(id));
  const { result } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: "lake", path: "/raw/deep" },
  });
  const reason =
    "Not copied: it is more than one folder below the dataset, where a folder is a table. To load such files into one table, set destination.path to /raw/deep/TABLE and source.path to its folder.";
  expect(await result()).toMatchObject({
    copied: 2,
    failed: [
      { path: "orders/eu/c.parquet", reason },
      { path: "orders/year=2026/m=1/d.parquet", reason },
    ],
  });
  expect([await ids("deep__a"), await ids("deep__orders")]).toEqual([[0], [1]]);
});

test("values of folder names that the files lack are named in the log when a sync loads them", async () => {
  const from = await folder(data);
  from.put("year=2026/ID=1/a.parquet", await rowOf(1));
  from.put("year=2027/id=2/b.parquet", await rowOf(2));
  const { run } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: "lake", path: "/raw/hive/orders" },
  });
  const ended = await run();
  expect(ended.result).toMatchObject({ copied: 2, failed: [] });
  const { items } = (await data.owner("GET", `${RUNS}/${ended.id}/logs`)).body;
  const warnings = items.filter(({ level }: { level: string }) => level === "warn");
  expect(warnings.map(({ message }: { message: string }) => message)).toEqual([
    expect.stringMatching(
      /^The values in folder names such as "year=202[67]" aren't loaded, and the files have no column year\. To keep them, add the column to the files\.$/,
    ),
  ]);
});

const contextOf = () =>
  contextFor(data.app.app, {
    organizationId: data.app.ids.organizationId,
    role: "owner",
    actor: { type: "user", id: data.app.ids.userId },
    correlationId: "sync-test",
  });

/** Loads IDs starting with `first` into a table, one file each. */
async function fill(layer: string, dataset: string, table: string, first: number, count: number) {
  for (let id = first; id < first + count; id++)
    await loadTable(contextOf(), { layer, dataset, table, select: `SELECT ${id} AS id` });
}

const putTogether = (layer: string, dataset: string, tableName: string) =>
  compactTable(
    contextOf(),
    { organizationId: data.app.ids.organizationId, layer, dataset, tableName },
    new AbortController().signal,
  );

/** The IDs in all Parquet files of a folder on this machine. */
async function idsIn(from: string): Promise<number[]> {
  const place = join(data.app.dataFolder, "lake", ".work", "looked-at"); // SQL can't read anything outside of the lake.
  rmSync(place, { recursive: true, force: true });
  cpSync(from, place, { recursive: true });
  const session = await data.app.app.sql.session({ folders: [place] });
  try {
    const rows = await session.run(`SELECT id FROM read_parquet('${place}/**/*.parquet') ORDER BY id`);
    return rows.map(({ id }) => Number(id));
  } finally {
    await session.close();
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);

deepTest.each(someOf(1, ["copy", "mirror"]))(
  "for a table with compacted files, a %s has each row once",
  async (mode) => {
    const [to, dataset] = [await folder(data), `compacted_${mode}`];
    await fill("marts", dataset, "orders", 0, 10);
    await fill("marts", dataset, "people", 1_000, 1);
    const { result } = await sync(data, {
      source: { connectionId: "lake", path: `/marts/${dataset}` },
      destination: { connectionId: to.id, path: "/out" },
      mode,
      maxDelete: 1,
    });
    expect(await result()).toMatchObject({ copied: 11, deleted: 0 });
    to.put("out/orders/mine.parquet", await rowOf(5_000));
    const { before, after } = await putTogether("marts", dataset, "orders");
    await fill("marts", dataset, "orders", 10, 1);
    expect([before > 2, after]).toEqual([true, 1]);
    const mine = mode === "copy" ? [5_000] : [];
    expect(await result()).toMatchObject({ copied: 2, deleted: before + 1 - mine.length, failed: [] });
    expect(await idsIn(join(to.place, "out/orders"))).toEqual([...upTo(11), ...mine]);
    expect(await idsIn(join(to.place, "out/people"))).toEqual([1_000]);
    expect(await result()).toMatchObject({ copied: 0, deleted: 0 });
  },
);

deepTest(
  "for a rewritten table, a copy keeps nothing older; for a deleted one, it keeps everything",
  async () => {
    const to = await folder(data);
    const write = (id: number) =>
      data.transform({ sql: `SELECT ${id} AS id`, output: { layer: "anew", dataset: "orders" } });
    await write(1);
    await fill("anew", "people", "people", 10, 1);
    const { result } = await sync(data, {
      source: { connectionId: "lake", path: "/anew" },
      destination: { connectionId: to.id },
    });
    expect(await result()).toMatchObject({ copied: 2 });
    await write(2);
    for (const source of [{ include: ["people/**"] }, { selectedItems: ["people"] }])
      expect(await result({ source })).toMatchObject({ copied: 0, skipped: 1, deleted: 0 });
    expect(await result()).toMatchObject({ copied: 1, skipped: 1, deleted: 1 });
    expect(await idsIn(to.place)).toEqual([2, 10]);
    expect((await data.owner("DELETE", "/api/v1/datasets/anew/orders")).status).toBe(204);
    expect(await result()).toMatchObject({ copied: 0, deleted: 0 });
    expect(await idsIn(to.place)).toEqual([2, 10]);
  },
);

deepTest("files copied from one dataset to another are replaced with those they came from", async () => {
  await fill("marts", "inside", "orders", 0, 10);
  const { result } = await sync(data, {
    source: { connectionId: "lake", path: "/marts/inside" },
    destination: { connectionId: "lake", path: "/raw/copied_inside" },
  });
  expect(await result()).toMatchObject({ copied: 10 });
  const { before } = await putTogether("marts", "inside", "orders");
  expect(await result()).toMatchObject({ copied: 1, deleted: before });
  expect(await ids("copied_inside__orders")).toEqual(upTo(10));
});
