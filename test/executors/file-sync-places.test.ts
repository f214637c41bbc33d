import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { contextFor } from "../../src/context.ts";
import { startData } from "../data/place.ts";
import { driveUser, FOLDER, startDrive } from "../peers/google-drive.ts";
import { connect } from "../support/connections.ts";
import { loadTable } from "../support/lake.ts";
import { startS3, type TestS3 } from "../support/s3.ts";
import { deepTest } from "../support/scale.ts";
import { bucket, folder, sync } from "../support/sync.ts";

setDefaultTimeout(120_000);

let s3: TestS3;
let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  [s3, data] = await Promise.all([startS3(), startData({ hurry: 50 })]);
}, 120_000);
afterAll(async () => {
  await data[Symbol.asyncDispose]();
  await s3[Symbol.asyncDispose]();
});

const contextOf = () =>
  contextFor(data.app.app, {
    organizationId: data.app.ids.organizationId,
    role: "owner",
    actor: { type: "user", id: data.app.ids.userId },
    correlationId: "sync-test",
  });

/** A Parquet file with the rows of a SELECT. */
async function parquet(select: string): Promise<Uint8Array> {
  const place = mkdtempSync(join(tmpdir(), "weir-parquet-"));
  const instance = await DuckDBInstance.create(":memory:");
  const duck = await instance.connect();
  await duck.run(`COPY (${select}) TO '${place}/a.parquet' (FORMAT parquet)`);
  duck.closeSync();
  instance.closeSync();
  const bytes = await Bun.file(join(place, "a.parquet")).bytes();
  rmSync(place, { recursive: true });
  return bytes;
}

test("files of a drive are copied by name, documents exported, once each", async () => {
  await using drive = await startDrive();
  drive.put(
    { id: "folder-1", name: "Sales", mimeType: FOLDER },
    { id: "file-0001", name: "may.csv", mimeType: "text/csv", parents: ["folder-1"], content: "id\n1\n" },
    {
      id: "file-0002",
      name: "may.csv",
      mimeType: "text/csv",
      parents: ["folder-1"],
      content: "id\n2\n",
      createdTime: "2026-01-02T00:00:00.000Z",
    },
    {
      id: "sheet-001",
      name: "June",
      mimeType: "application/vnd.google-apps.spreadsheet",
      parents: ["folder-1"],
      exports: { "text/csv": "id\n3\n" },
    },
    { id: "file-0003", name: "a/b.txt", mimeType: "text/plain", content: "slash" },
    { id: "gone", name: "old.txt", mimeType: "text/plain", content: "x", trashed: true },
    {
      id: "short-001",
      name: "Link",
      mimeType: "application/vnd.google-apps.shortcut",
      shortcutDetails: { targetId: "folder-1", targetMimeType: FOLDER },
    },
  );
  const { id } = await connect(data.owner, {
    name: "Drive",
    provider: "google_drive",
    config: { baseUrl: drive.baseUrl },
    credentials: driveUser,
  });
  const to = await folder(data);
  const { result } = await sync(data, { source: { connectionId: id }, destination: { connectionId: to.id } });
  expect(await result()).toMatchObject({ copied: 4, failed: [] });
  // A folder's items are listed once, by whichever path reaches them first.
  const names = ["June.csv", "may (file-000).csv", "may.csv"];
  expect(Object.keys(to.all())).toEqual([...names.map((name) => `Link/${name}`), "a\uff0fb.txt"]);
  expect(to.all()["Link/may (file-000).csv"]).toBe("id\n2\n");

  const asked = drive.asked.length;
  expect(await result()).toMatchObject({ copied: 0, skipped: 4 });
  expect(drive.asked.slice(asked).map(({ path }) => path)).toEqual(["/drive/v3/changes"]);
  drive.put({ id: "file-0003", name: "a/b.txt", mimeType: "text/plain", content: "SLASH" });
  drive.put({
    id: "sheet-001",
    name: "June",
    mimeType: "application/vnd.google-apps.spreadsheet",
    parents: ["folder-1"],
    modifiedTime: "2026-03-01T00:00:00.000Z",
    exports: { "text/csv": "id\n4\n" },
  });
  expect(await result()).toMatchObject({ copied: 2, skipped: 2 });
  expect([to.all()["Link/June.csv"], to.all()["a\uff0fb.txt"]]).toEqual(["id\n4\n", "SLASH"]);

  const chosen = await folder(data);
  const some = await sync(data, {
    source: {
      connectionId: id,
      path: "folder-1",
      selectedItems: ["sheet-001", "/folder-1/may.csv", "no-such-id"],
    },
    destination: { connectionId: chosen.id },
  });
  expect(await some.result()).toMatchObject({ copied: 2, failed: [{ path: "no-such-id" }] });
  expect(Object.keys(chosen.all())).toEqual(["June.csv", "may.csv"]);
});

deepTest(
  "a mirror of a drive whose root folder is in the trash fails, and what it copied stays",
  async () => {
    await using drive = await startDrive();
    const root = { id: "folder-1", name: "Sales", mimeType: FOLDER };
    const file = {
      id: "file-0001",
      name: "a.txt",
      mimeType: "text/plain",
      parents: ["folder-1"],
      content: "a",
    };
    drive.put(root, file);
    const { id } = await connect(data.owner, {
      name: "Drive",
      provider: "google_drive",
      config: { baseUrl: drive.baseUrl, rootFolderId: "folder-1" },
      credentials: driveUser,
    });
    const to = await folder(data);
    const mirror = await sync(data, {
      source: { connectionId: id },
      destination: { connectionId: to.id },
      mode: "mirror",
    });
    expect(await mirror.result()).toMatchObject({ copied: 1 });
    drive.put({ ...root, trashed: true }, { ...file, trashed: true });
    expect(await mirror.run()).toMatchObject({ status: "failed", error: { code: "not_found" } });
    expect(to.all()).toEqual({ "a.txt": "a" });
  },
);

deepTest(
  "a file of a drive that changes while it is read is reported, as is a form without bytes",
  async () => {
    await using drive = await startDrive();
    drive.put(
      { id: "file-0001", name: "restless.txt", mimeType: "text/plain", content: "0" },
      { id: "file-0002", name: "calm.txt", mimeType: "text/plain", content: "calm" },
      { id: "form-0001", name: "Form", mimeType: "application/vnd.google-apps.form" },
    );
    let n = 0;
    drive.state.instead = ({ path, query }) => {
      if (path.endsWith("/file-0001") && query.get("alt") === "media")
        drive.put({ id: "file-0001", name: "restless.txt", mimeType: "text/plain", content: `${++n}` });
      return null;
    };
    const { id } = await connect(data.owner, {
      name: "Restless",
      provider: "google_drive",
      config: { baseUrl: drive.baseUrl },
      credentials: driveUser,
    });
    const to = await folder(data);
    const { result } = await sync(data, {
      source: { connectionId: id },
      destination: { connectionId: to.id },
    });
    const { copied, failed } = await result();
    expect([copied, failed.map(({ path }: { path: string }) => path).sort()]).toEqual([
      1,
      ["Form", "restless.txt"],
    ]);
    expect(to.all()).toEqual({ "calm.txt": "calm" });
  },
);

deepTest("tables of the lake are copied as their Parquet files", async () => {
  await loadTable(contextOf(), {
    layer: "marts",
    dataset: "shop",
    table: "orders",
    select: "SELECT 1 AS id",
  });
  await loadTable(contextOf(), {
    layer: "marts",
    dataset: "shop",
    table: "orders",
    select: "SELECT 2 AS id",
  });
  await loadTable(contextOf(), { layer: "marts", dataset: "crm", table: "crm", select: "SELECT 3 AS id" });
  const to = await bucket(data, s3);
  const { result } = await sync(data, {
    source: { connectionId: "lake", path: "/marts" },
    destination: { connectionId: to.id, path: "/out" },
  });
  expect(await result()).toMatchObject({ copied: 3, failed: [] });
  const keys = Object.keys(await to.all());
  expect(keys.map((key) => key.split("/").slice(0, 3).join("/")).sort()).toEqual([
    "out/crm/crm",
    "out/shop/orders",
    "out/shop/orders",
  ]);
  for (const key of keys) {
    const { bytes } = await to.get(key);
    expect(Buffer.from(bytes.slice(0, 4)).toString()).toBe("PAR1");
  }
  expect(await result()).toMatchObject({ copied: 0, skipped: 3 });
  const one = { source: { path: "/marts/shop/orders" }, destination: { path: "/one" } };
  const { files } = await result(one);
  expect(files).toHaveLength(2);
  const none = await (
    await sync(data, {
      source: { connectionId: "lake", path: "/none" },
      destination: { connectionId: to.id },
    })
  ).run();
  expect(none.error.code).toBe("not_found");
});

test("each row of a synced table has an ID of its own, and a _dlt_id of its file only if that identifies it", async () => {
  const from = await bucket(data, s3);
  const put = async (name: string, select: string) =>
    from.putRaw(`in/${name}.parquet`, await parquet(select));
  const { result, run } = await sync(data, {
    source: { connectionId: from.id, path: "/in" },
    destination: { connectionId: "lake", path: "/raw/identified" },
  });
  const given = (table: string) =>
    data.rows(
      `SELECT n, _dlt_id_2::VARCHAR AS given, _dlt_id LIKE '%-%-%' AS own FROM raw.identified__${table} ORDER BY n`,
    );
  const all = async (table: string) =>
    (
      await data.rows(
        `SELECT count(*) AS n, count(DISTINCT _dlt_id) AS ids, any_value(typeof(_dlt_id)) AS type FROM raw.identified__${table}`,
      )
    )[0];
  await put("numbers/a", "SELECT n, n AS _dlt_id FROM range(2) t(n)");
  await put("twice/a", "SELECT n, 'x' AS _dlt_id FROM range(2) t(n)");
  await put("gaps/a", "SELECT n, CASE n WHEN 0 THEN 'x' END AS _dlt_id FROM range(2) t(n)");
  await put("good/a", "SELECT n, 'x' || n AS _dlt_id FROM range(2) t(n)");
  await put("good/b", "SELECT n + 2 AS n, 'x' || n AS _dlt_id FROM range(2) t(n)");
  await put("other/a", "SELECT n, 'x' || n AS _dlt_id FROM range(2) t(n)");
  const first = await run();
  expect([first.status, first.result.failed]).toEqual(["completed", []]);
  const warning = 'Column "_dlt_id" is called _dlt_id_2, because each row has its own _dlt_id.';
  expect(await data.logs(first.id)).toContain(warning);
  for (const table of ["numbers", "twice", "gaps"])
    expect(await all(table)).toEqual({ n: 2, ids: 2, type: "VARCHAR" });
  expect(await given("numbers")).toEqual([
    { n: 0, given: "0", own: true },
    { n: 1, given: "1", own: true },
  ]);
  expect((await given("twice")).map((row) => row.given)).toEqual(["x", "x"]);
  expect((await given("gaps")).map((row) => row.given)).toEqual(["x", null]);
  expect(await all("good")).toEqual({ n: 4, ids: 4, type: "VARCHAR" });
  expect((await given("good")).filter(({ own }) => own)).toHaveLength(2);
  expect(await data.rows("SELECT _dlt_id FROM raw.identified__other ORDER BY n")).toEqual([
    { _dlt_id: "x0" },
    { _dlt_id: "x1" },
  ]);

  await put("numbers/b", "SELECT n + 2 AS n, n + 7 AS _dlt_id FROM range(2) t(n)");
  expect(await result()).toMatchObject({ copied: 1, skipped: 6, failed: [] });
  expect((await given("numbers")).map((row) => row.given)).toEqual(["0", "1", "7", "8"]);
});

deepTest(
  "Parquet files are loaded into a dataset, all at once, replaced and removed as at the source",
  async () => {
    const from = await bucket(data, s3);
    await from.putRaw("in/orders/one.parquet", await parquet("SELECT 1 AS id, 'a' AS name"));
    await from.putRaw("in/orders/two.parquet", await parquet("SELECT 2::BIGINT AS id, 5 AS amount"));
    await from.putRaw(
      "in/people.parquet",
      await parquet("SELECT 'ada' AS name, 'mine' AS _dlt_id, 'l' AS _dlt_load_id"),
    );
    await from.putRaw("in/orders/broken.parquet", "PAR1 no");
    await from.putRaw("in/orders/readme.txt", "text");
    const { result, run } = await sync(data, {
      source: { connectionId: from.id, path: "/in" },
      destination: { connectionId: "lake", path: "/raw/arrivals" },
      mode: "mirror",
    });
    const first = await run();
    expect(first.status).toBe("completed");
    expect(first.result).toMatchObject({ copied: 3, deleted: 0 });
    expect(
      Object.fromEntries(
        first.result.failed.map(({ path, reason }: { path: string; reason: string }) => [path, reason]),
      ),
    ).toEqual({
      "orders/broken.parquet": "It is not a complete Parquet file.",
      "orders/readme.txt": "Not copied: the lake takes Parquet files, whose names end in .parquet.",
    });
    const orders = () => data.rows("SELECT id, name, amount FROM raw.arrivals__orders ORDER BY id");
    expect(await orders()).toEqual([
      { id: 1, name: "a", amount: null },
      { id: 2, name: null, amount: 5 },
    ]);
    expect(await data.rows("SELECT _dlt_id FROM raw.arrivals__people")).toEqual([{ _dlt_id: "mine" }]);
    const [stamped] = await data.rows(
      "SELECT count(DISTINCT _dlt_id) AS n, min(_dlt_load_id) AS load FROM raw.arrivals__orders",
    );
    expect(stamped).toEqual({ n: 2, load: first.id });

    const quiet = { source: { exclude: ["broken*", "*.txt"] } };
    expect(await result(quiet)).toMatchObject({ copied: 0, skipped: 3, deleted: 0, failed: [] });
    await from.putRaw("in/orders/one.parquet", await parquet("SELECT 10 AS id, 'b' AS name"));
    await s3.remove(from.name, "in/orders/two.parquet");
    expect(await result(quiet)).toMatchObject({ copied: 1, skipped: 1, deleted: 1 });
    expect(await orders()).toEqual([{ id: 10, name: "b", amount: null }]);
    expect(await data.sums("raw", "arrivals", "orders")).toMatchObject({ rows: 1, files: 1 });
    await from.putRaw("in/orders/odd.parquet", await parquet("SELECT [1] AS id"));
    expect(await result(quiet)).toMatchObject({
      copied: 0,
      failed: [{ path: "orders/odd.parquet", reason: expect.stringContaining("Its column id") }],
    });
    expect(await orders()).toEqual([{ id: 10, name: "b", amount: null }]);
  },
);
