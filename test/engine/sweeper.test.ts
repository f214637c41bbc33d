import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { eq, sql } from "drizzle-orm";
import { type Context, contextFor, write } from "../../src/context.ts";
import { sweeper } from "../../src/engine/sweeper.ts";
import { claimRuns } from "../../src/queue/claim.ts";
import { enqueueRun } from "../../src/queue/enqueue.ts";
import { lakeFiles } from "../../src/resources/datasets/table.ts";
import { actionRuns } from "../../src/resources/runs/table.ts";
import { sessions } from "../../src/resources/sessions/table.ts";
import { ensureSetupToken } from "../../src/resources/sign-in/setup.ts";
import { settings } from "../../src/store/settings.ts";
import { startApp } from "../support/app.ts";
import { loadTable } from "../support/lake.ts";
import { browser } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { roomFor } from "../support/work.ts";

type Running = Awaited<ReturnType<typeof startApp>>;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const contextOf = (weir: Running): Context =>
  contextFor(weir.app, {
    organizationId: weir.ids.organizationId,
    role: "member",
    actor: { type: "user", id: weir.ids.userId },
    correlationId: "test-chain",
  });

/** Ticks until there is nothing left to do. */
async function sweep(weir: Running, loop = sweeper(weir.app)) {
  while ((await loop.tick(new AbortController().signal)) === "more");
  expect(weir.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  return loop;
}

/** A run in progress. */
async function startRun(weir: Running): Promise<string> {
  const trigger = { method: "api", sourceType: "user", sourceId: null } as const;
  await write(contextOf(weir), (tx) => enqueueRun(tx, { kind: "dlt_extract", definition: {}, trigger }));
  const [run] = (await claimRuns(weir.app, roomFor(1))).runs;
  return run!.id;
}

const endRun = (weir: Running, id: string) =>
  weir.app.store.write(
    async (db) => void (await db.update(actionRuns).set({ status: "failed" }).where(eq(actionRuns.id, id))),
  );

/** Puts a file into a folder of the data directory, as interrupted work would. */
function leave(weir: Running, path: string): string {
  const file = join(weir.dataFolder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "left");
  return file;
}

const table = { layer: "raw", dataset: "shop", table: "orders", select: "SELECT 1 AS id" };

test("files that a commit removed are deleted after ten minutes, with their rows", async () => {
  await using weir = await startApp({ engine: false });
  const file = join(weir.dataFolder, "lake", await loadTable(contextOf(weir), table));
  const kept = join(
    weir.dataFolder,
    "lake",
    await loadTable(contextOf(weir), { ...table, dataset: "other" }),
  );
  expect((await weir.owner("DELETE", "/api/v1/datasets/raw/shop")).status).toBe(204);
  const loop = await sweep(weir);
  weir.clock.turn(9 * MINUTE);
  await sweep(weir, loop);
  expect(existsSync(file)).toBe(true);
  weir.clock.turn(2 * MINUTE);
  await sweep(weir, loop);
  expect([existsSync(file), existsSync(kept)]).toEqual([false, true]);
  expect(await weir.app.store.db.select().from(lakeFiles)).toHaveLength(1);
});

deepTest("files that a commit removed stay for a run that began before", async () => {
  await using weir = await startApp({ engine: false });
  const file = join(weir.dataFolder, "lake", await loadTable(contextOf(weir), table));
  const run = await startRun(weir);
  await weir.owner("DELETE", "/api/v1/datasets/raw/shop");
  weir.clock.turn(30 * MINUTE);
  const loop = await sweep(weir);
  expect(existsSync(file)).toBe(true);
  await endRun(weir, run);
  weir.clock.turn(2 * MINUTE);
  await sweep(weir, loop);
  expect(existsSync(file)).toBe(false);
});

deepTest("files without a row are deleted after an hour, but not those of a run in progress", async () => {
  await using weir = await startApp({ engine: false });
  const ctx = contextOf(weir);
  const committed = join(weir.dataFolder, "lake", await loadTable(ctx, table));
  const run = await startRun(weir);
  const folder = `lake/${weir.ids.organizationId}/raw/shop/orders`;
  const dead = weir.app.ids.uuid();
  const left = [
    leave(weir, `${folder}/${dead}-1.parquet`),
    leave(weir, `lake/.work/${dead}-${weir.app.ids.uuid()}/rows/part.parquet`),
    leave(weir, `artifacts/${weir.ids.organizationId}/${dead}.json`),
    leave(weir, "scratch/upload-1/part"),
    leave(weir, "scratch/sql/1-1/data"),
  ];
  const underWay = [
    leave(weir, `${folder}/${run}-1.parquet`),
    leave(weir, `lake/.work/${run}-${weir.app.ids.uuid()}/rows/part.parquet`),
  ];
  const artifact = { actionRunId: run, kind: "text", content: "x".repeat(300_000) };
  const { body } = await weir.owner("POST", "/api/v1/artifacts", artifact);
  const there = (files: string[]) => files.map((file) => existsSync(file));

  weir.clock.turn(59 * MINUTE);
  const loop = await sweep(weir);
  expect(there(left)).toEqual(left.map(() => true));
  weir.clock.turn(HOUR);
  await sweep(weir, loop);
  expect(there(left)).toEqual(left.map(() => false));
  expect(there([committed, ...underWay])).toEqual([true, true, true]);
  expect((await weir.owner("GET", `/api/v1/artifacts/${body.id}/content`)).text).toBe(artifact.content);

  await endRun(weir, run);
  weir.clock.turn(HOUR);
  await sweep(weir, loop);
  expect(there([committed, ...underWay])).toEqual([true, false, false]);
});

deepTest("DuckDB's library and the folders of live SQL processes are left alone", async () => {
  await using weir = await startApp({ engine: false });
  await weir.owner("POST", "/api/v1/query", { sql: "SELECT 1" });
  const cached = leave(weir, "scratch/cache/library.so");
  weir.clock.turn(2 * HOUR);
  await sweep(weir);
  expect(existsSync(cached)).toBe(true);
  expect((await weir.owner("POST", "/api/v1/query", { sql: "SELECT 1 AS x" })).body.rows).toEqual([{ x: 1 }]);
});

test("idempotency keys are deleted after a day, in as many batches as needed", async () => {
  await using weir = await startApp({ engine: false });
  const key = (n: number, createdAt: string) =>
    sql`INSERT INTO idempotency_keys VALUES (${weir.ids.organizationId}, 'ada', ${`key-${n}`}, '', 201, '{}', ${createdAt})`;
  const [old, fresh] = ["2020-01-01T00:00:00.000Z", weir.app.clock.now().toISOString()];
  await weir.app.store.write(async (db) => {
    for (let n = 0; n < 1_200; n++) await db.run(key(n, n % 2 === 0 ? old : fresh));
  });
  await sweep(weir);
  const left = await weir.app.store.db.all(
    sql`SELECT created_at, count(*) AS n FROM idempotency_keys GROUP BY created_at`,
  );
  expect(left).toEqual([{ created_at: fresh, n: 600 }]);
});

test("sessions and setup tokens are deleted a month after their end", async () => {
  await using weir = await startApp({ engine: false });
  const [ended, living] = [browser(weir.origin), browser(weir.origin)];
  expect((await ended.signIn()).status).toBe(200);
  expect((await ended.call("POST", "/api/v1/auth/logout")).status).toBe(204);
  expect((await living.signIn()).status).toBe(200);
  const left = async () =>
    (await weir.app.store.db.select().from(sessions)).map(({ revokedAt }) => revokedAt === null);
  weir.clock.turn(29 * DAY);
  const loop = await sweep(weir);
  expect((await left()).sort()).toEqual([false, true]);
  weir.clock.turn(2 * DAY);
  await sweep(weir, loop);
  expect(await left()).toEqual([true]);
  weir.clock.turn(90 * DAY);
  await sweep(weir, loop);
  expect(await left()).toEqual([]);
});

test("an unused setup token is deleted a month after its end", async () => {
  await using weir = await startApp({ owner: false, engine: false });
  await ensureSetupToken(weir.app);
  const kept = async () =>
    (await weir.app.store.db.select().from(settings).where(eq(settings.key, "setup_token"))).length;
  weir.clock.turn(30 * DAY);
  const loop = await sweep(weir);
  expect(await kept()).toBe(1);
  weir.clock.turn(2 * DAY);
  await sweep(weir, loop);
  expect(await kept()).toBe(0);
});
