import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectFolder, startData } from "./place.ts";

/** A small disk of its own; null where this machine does not let us have one. */
function smallDisk(size: string) {
  const path = mkdtempSync(join(tmpdir(), "weir-disk-"));
  const done = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path]);
  if (done.exitCode !== 0) {
    rmSync(path, { recursive: true });
    return null;
  }
  return {
    path,
    [Symbol.dispose]() {
      Bun.spawnSync(["umount", "-l", path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

test("a full disk fails the load with its name, leaves nothing of it, and all goes on when there is room", async () => {
  using disk = smallDisk("48m");
  if (!disk) return;
  await using data = await startData({ dataFolder: disk.path });
  const sql = (rows: number) =>
    `select i as id, md5(i::varchar) || md5((i + 1)::varchar) as noise from range(${rows}) t(i)`;
  const output = { layer: "marts", dataset: "noise" };
  const first = await data.transform({ sql: sql(1000), output });
  const run = await data.end("duckdb_transform", { sql: sql(3_000_000), output });
  expect(run).toMatchObject({ status: "failed", error: { code: "disk_full", retryable: true } });
  expect(run.error.message).not.toContain(disk.path);
  expect(await data.sums("marts", "noise")).toMatchObject({ rows: 1000, bytes: first.output.bytes });

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
  while (readdirSync(join(disk.path, "lake", ".work")).length > 0) await Bun.sleep(20); // tidied after the run is told

  expect(await data.transform({ sql: sql(2000), output })).toMatchObject({ rows: 2000 });
  expect(await data.rows("select count(*) as n from marts.noise")).toEqual([{ n: 2000 }]);
}, 60_000);
