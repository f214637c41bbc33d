import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compactor } from "../../src/engine/compactor.ts";
import { openLocks } from "../../src/engine/locks.ts";
import { syncFiles } from "../../src/resources/sync/table.ts";
import { startData } from "../data/place.ts";
import { startS3, type TestS3 } from "../support/s3.ts";
import { bucket, folder, sync } from "../support/sync.ts";
import { RUNS, until } from "../support/work.ts";

setDefaultTimeout(30_000);

let s3: TestS3;
let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  [s3, data] = await Promise.all([startS3(), startData()]);
}, 60_000);
afterAll(async () => {
  await data[Symbol.asyncDispose]();
  await s3[Symbol.asyncDispose]();
});

/** Parquet files with a row each, of these ids. */
async function rowsOf(...ids: number[]): Promise<Uint8Array[]> {
  const place = mkdtempSync(join(tmpdir(), "weir-parquet-"));
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

test("a file that was placed by a run which was then cancelled takes the old one's place in the next", async () => {
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
  s3.interfere(({ method, url }) =>
    method === "GET" && url.includes("two.parquet") ? { status: 503, code: "SlowDown" } : null,
  );
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

test("files that came by a sync stay themselves, however many they are, so that none comes twice", async () => {
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
});

test("another action that brings the same files into the same dataset replaces them", async () => {
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
