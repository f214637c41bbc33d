import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { S3Client } from "bun";
import { contextFor } from "../../src/context.ts";
import { compactor } from "../../src/engine/compactor.ts";
import { openLocks } from "../../src/engine/locks.ts";
import { sweeper } from "../../src/engine/sweeper.ts";
import { compactTable } from "../../src/resources/datasets/compact.ts";
import type { Client } from "../support/app.ts";
import { checkTable, loadMetadata, type Metadata, readRows } from "../support/iceberg.ts";
import { startInstallation } from "../support/process.ts";
import { s3Keys, startS3 } from "../support/s3.ts";
import { deepTest, scaled } from "../support/scale.ts";
import { startData } from "./place.ts";

setDefaultTimeout(600_000);

const never = new AbortController().signal;
const HOUR = 60 * 60 * 1000;

const upload = async (call: Client, dataset: string, rows: object[], how = "append") => {
  const path = `/api/v1/datasets/raw/${dataset}/upload?format=jsonl&writeDisposition=${how}`;
  const text = rows.map((row) => JSON.stringify(row)).join("\n");
  const { status, body } = await call("PUT", path, text, { "content-type": "application/octet-stream" });
  expect([status, body]).toEqual([201, expect.anything()]);
};

test("equal counts and sums after merges, while loads, compaction and sweeps continue", async () => {
  await using data = await startData();
  const { app, ids } = data.app;
  const merges = scaled(3, 100);
  const load = () => loadMetadata(data.owner, ids.organizationId, "raw", "orders", "orders");
  const folder = join(data.app.dataFolder, "lake", ids.organizationId, "raw", "orders", "orders");
  const compacts = compactor(app, openLocks());
  const ctx = contextFor(app, {
    organizationId: ids.organizationId,
    role: "member",
    actor: { type: "system", id: "test" },
    correlationId: "test",
  });
  const here = { organizationId: ids.organizationId, layer: "raw", dataset: "orders", tableName: "orders" };
  const output = { layer: "raw", dataset: "orders", writeDisposition: "merge", primaryKey: ["id"] };
  const sums = "SELECT count(*) AS n, sum(n)::BIGINT AS total FROM raw.orders";
  for (let n = 0; n < merges; n++) {
    // Each replaces half of the previous one's rows, and adds new ones.
    const sql = `SELECT range + ${n * 10} AS id, range * ${n} AS n FROM range(20)`;
    const [, beside] = await Promise.all([
      data.transform({ sql, output }),
      upload(data.owner, "beside", [{ id: n }]).then(() =>
        loadMetadata(data.owner, ids.organizationId, "raw", "beside", "beside"),
      ),
    ]);
    expect(await readRows(beside.metadata)).toHaveLength(n + 1);
    if (n % 3 === 2) await compactTable(ctx, here, never);
    await compacts.tick(never);
    const { metadata } = await load();
    const rows = await readRows(metadata);
    const [{ n: count, total } = { n: 0, total: 0 }] = (await data.rows(sums)) as {
      n: number;
      total: number;
    }[];
    expect(rows.length).toBe(count);
    expect(rows.reduce((sum, row) => sum + Number(row.n), 0)).toBe(total);
    const sweeps = sweeper(app);
    while ((await sweeps.tick(never)) === "more");
  }
  const before = await load();
  await checkTable(before.metadata);
  expect(before.metadata.snapshots.length).toBeGreaterThan(merges / 2);

  // A day later, the past's files are deleted, and so is what the metadata said about them.
  data.app.clock.turn(48 * HOUR);
  const sweeps = sweeper(app);
  for (let round = 0; round < 2; round++) {
    while ((await sweeps.tick(never)) === "more");
    data.app.clock.turn(2 * HOUR);
  }
  const { metadata } = await load();
  await checkTable(metadata);
  expect(metadata.snapshots).toHaveLength(1);
  expect(metadata["current-snapshot-id"]).toBe(before.metadata["current-snapshot-id"]);
  const hint = readFileSync(join(folder, "metadata", "version-hint.text"), "utf8");
  const left = readdirSync(join(folder, "metadata")).filter((name) => name.endsWith(".metadata.json"));
  expect(left).toEqual([`${hint}.metadata.json`]);
  expect(data.app.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
});

deepTest("lists the last 500 snapshots of a table, with all of its rows", async () => {
  await using data = await startData();
  const loads = 503;
  for (let n = 0; n < loads; n++) await upload(data.owner, "many", [{ id: n }]);
  const { metadata } = await loadMetadata(data.owner, data.app.ids.organizationId, "raw", "many", "many");
  await checkTable(metadata);
  expect(metadata.snapshots).toHaveLength(500);
  expect(await readRows(metadata)).toHaveLength(loads);
});

test("types that changed over time are read as they are here", async () => {
  await using data = await startData();
  const output = { layer: "raw", dataset: "days", writeDisposition: "append" };
  const load = () => loadMetadata(data.owner, data.app.ids.organizationId, "raw", "days", "days");
  await data.transform({
    sql: "SELECT 1 AS id, TIMESTAMP '2026-01-02 03:00:00' AS at, 1.25::DECIMAL(18,2) AS n",
    output,
  });
  // A day among timestamps: SQL here casts it when reading, but other engines wouldn't.
  await data.transform({ sql: "SELECT 2 AS id, DATE '2026-01-03' AS at, 7 AS n", output });
  const { metadata } = await load();
  await checkTable(metadata);
  expect(
    metadata.schemas
      .at(-1)
      .fields.map(({ type }: { type: string }) => type)
      .slice(0, 3),
  ).toEqual(["int", "timestamp", "decimal(18, 2)"]);
  const rows = await readRows(metadata);
  expect(rows.map(({ id, at, n }) => [id, new Date(at).toISOString(), Number(n)]).sort()).toEqual([
    [1, "2026-01-02T03:00:00.000Z", 1.25],
    [2, "2026-01-03T00:00:00.000Z", 7],
  ]);
});

deepTest("a kill at any time leaves readable metadata, and nothing is lost", async () => {
  await using weir = await startInstallation();
  let rows = 0;
  for (let kill = 0; kill < scaled(2, 12); kill++) {
    const server = await weir.serve();
    const call = server.owner;
    for (let n = 0; n < 3; n++) await upload(call, "killed", [{ id: rows++ }]);
    await Bun.sleep(kill * 7);
    await server.end("SIGKILL");
  }
  const server = await weir.serve();
  const call = server.owner;
  const { metadata } = await loadMetadata(call, weir.organizationId, "raw", "killed", "killed");
  await checkTable(metadata);
  const loads = metadata.snapshots.filter((each: Metadata) => each.summary["weir.load-id"]);
  expect(loads).toHaveLength(rows); // In addition to those of compactions.
  const ids = (await readRows(metadata)).map(({ id }) => Number(id));
  expect(ids.sort((a, b) => a - b)).toEqual(Array.from({ length: rows }, (_, n) => n));
});

deepTest("in a bucket, everything has s3 URLs, and is complete", async () => {
  await using s3 = await startS3();
  s3.createBucket("lakes");
  const folder = mkdtempSync(join(tmpdir(), "weir-bucket-"));
  await using data = await startData({
    env: {
      WEIR_LAKE_URL: "s3://lakes/one",
      WEIR_LAKE_ENDPOINT: s3.endpointUrl,
      WEIR_LAKE_ACCESS_KEY_ID: s3Keys.accessKeyId,
      WEIR_LAKE_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
    },
  });
  for (const id of [1, 2]) await upload(data.owner, "far", [{ id }]);
  const { organizationId } = data.app.ids;
  const loaded = await loadMetadata(data.owner, organizationId, "raw", "far", "far");
  expect(loaded["metadata-location"]).toStartWith(`s3://lakes/one/${organizationId}/raw/far/far/metadata/`);
  expect(loaded.config).toMatchObject({ "s3.endpoint": s3.endpointUrl, "s3.path-style-access": "true" });
  expect(JSON.stringify(loaded)).not.toContain(s3Keys.secretAccessKey);
  const bucket = new S3Client({ ...s3Keys, bucket: "lakes", endpoint: s3.endpointUrl, region: "us-east-1" });
  for await (const path of data.app.app.lake.list(new Date("2999-01-01"))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    await Bun.write(join(folder, path), await bucket.file(`one/${path}`).arrayBuffer());
  }
  const locate = (address: string) => address.replace("s3://lakes/one", folder);
  expect(existsSync(locate(loaded["metadata-location"]))).toBe(true);
  expect(await checkTable(loaded.metadata, locate)).toEqual({ files: 3 });
  rmSync(folder, { recursive: true });
});
