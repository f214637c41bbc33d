import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statfsSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SOURCE } from "../support/program.ts";
import { smallDisk } from "../support/small-disk.ts";
import { folder, sync } from "../support/sync.ts";
import { connectFolder, startData } from "./place.ts";

test("a full disk fails the load by name, leaves nothing of it, and everything continues once there is space", async () => {
  using disk = smallDisk("48m");
  if (!disk) return;
  await using data = await startData({ self: SOURCE, dataFolder: disk.path });
  const sql = (rows: number) =>
    `select i as id, md5(i::varchar) || md5((i + 1)::varchar) as noise from range(${rows}) t(i)`;
  const output = { layer: "marts", dataset: "noise" };
  const first = await data.transform({ sql: sql(1000), output });
  const run = await data.end("duckdb_transform", { sql: sql(3_000_000), output });
  expect(run).toMatchObject({ status: "failed", error: { code: "disk_full", retryable: true } });
  expect(run.error.message).not.toContain(disk.path);
  expect(await data.sums("marts", "noise")).toMatchObject({ rows: 1000, bytes: first.output.bytes });

  const isTidy = () => {
    const { bavail, bsize } = statfsSync(disk.path);
    return readdirSync(join(disk.path, "lake", ".work")).length === 0 && bavail * bsize > 20_000_000;
  };
  const tidied = async () => {
    while (!isTidy()) await Bun.sleep(20); // After the run is reported.
  };
  await tidied();

  const folder = await connectFolder(data.owner);
  const lines = Array.from(
    { length: 60_000 },
    (_, id) => `${id},${crypto.randomUUID()}${crypto.randomUUID()}${crypto.randomUUID()}`,
  );
  await data.upload(folder, "/a.csv", `id,noise\n${lines.join("\n")}\n`);
  const extract = await data.extract(folder, {
    dataset: "more",
    resources: [..."abcdefghijkl"].map((name) => ({ name, spec: "a.csv" })),
  });
  const extracted = await extract.run();
  expect(extracted).toMatchObject({ status: "failed", error: { code: "disk_full", retryable: true } });
  expect(extracted.error.message).not.toContain(disk.path);
  expect(await data.sums("raw", "more", "a")).toBeNull();
  await tidied();

  expect(await data.transform({ sql: sql(2000), output })).toMatchObject({ rows: 2000 });
  expect(await data.rows("select count(*) as n from marts.noise")).toEqual([{ n: 2000 }]);
}, 120_000);

test("a run that fills its work folder ends before the disk is full, and leaves nothing", async () => {
  const dataFolder = mkdtempSync(join(tmpdir(), "weir-work-"));
  using _ = { [Symbol.dispose]: () => rmSync(dataFolder, { recursive: true }) };
  await using data = await startData({ dataFolder, env: { WEIR_WORK_LIMIT: "1MB" } });
  const sql = (rows: number) => `select i as id, md5(i::varchar) as noise from range(${rows}) t(i)`;
  const output = { layer: "marts", dataset: "noise" };
  expect(await data.end("duckdb_transform", { sql: sql(2_000_000_000), output })).toMatchObject({
    status: "failed",
    error: {
      code: "work_folder_full",
      message:
        "The run used more than 1MB in its work directory. Let it process less at once, or raise WEIR_WORK_LIMIT.",
      retryable: false,
    },
  });
  // Cleaned up after the run is reported.
  while (readdirSync(join(dataFolder, "lake", ".work")).length > 0) await Bun.sleep(20);
  expect(await data.transform({ sql: sql(1000), output })).toMatchObject({ rows: 1000 });
}, 120_000);

test("a statement's temporary files leave space for others, and are reported as its own fault", async () => {
  using disk = smallDisk("64m");
  if (!disk) return;
  await using data = await startData({
    self: SOURCE,
    dataFolder: disk.path,
    env: { WEIR_SQL_MEMORY: "64MB" },
  });
  const sorted = "row_number() over (order by md5(i::varchar)) as n, md5((i + 1)::varchar) as m";
  const sql = `select max(n), max(m) from (select i, ${sorted} from range(2000000) t(i))`;
  expect(await data.end("duckdb_transform", { sql })).toMatchObject({
    status: "failed",
    error: {
      code: "sql_memory",
      message:
        "The SQL needed more memory than its limit, and then more space on disk than one statement may take.",
      retryable: false,
    },
  });
}, 120_000);

test("a file that finds no space, in a dataset or as an upload, is reported as a full disk", async () => {
  using disk = smallDisk("48m");
  if (!disk) return;
  await using data = await startData({ self: SOURCE, dataFolder: disk.path });
  const from = await folder(data);
  from.put("big.parquet", "");
  truncateSync(join(from.place, "big.parquet"), 60_000_000); // A sparse file, which takes no space until it is copied.
  const { run } = await sync(data, {
    source: { connectionId: from.id },
    destination: { connectionId: "lake", path: "/raw/big/big" },
  });
  const ended = await run();
  expect(ended).toMatchObject({ status: "failed", error: { code: "disk_full", retryable: true } });
  expect(ended.error.message).not.toContain(disk.path);
  const work = join(disk.path, "lake", ".work");
  while (readdirSync(work).length > 0) await Bun.sleep(20);
  const csv = { "content-type": "text/csv" };
  const reply = await data.owner("PUT", "/api/v1/datasets/raw/big/upload", new Uint8Array(60_000_000), csv);
  expect([reply.status, reply.body.code]).toEqual([503, "disk_full"]);
  expect(readdirSync(work)).toEqual([]);
}, 120_000);
