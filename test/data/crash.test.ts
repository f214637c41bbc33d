import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { type Answer, type Client, client, startApp } from "../support/app.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { startInstallation } from "../support/process.ts";
import { scaled } from "../support/scale.ts";
import { ACTIONS } from "../support/work.ts";
import { connectPostgres, dataOf } from "./place.ts";

let pg: TestPostgres;
beforeAll(async () => {
  pg = await startPostgres();
}, 120_000);
afterAll(async () => {
  await pg[Symbol.asyncDispose]();
});

const ROUNDS = 2;
/** Each check is a process. */
const LOOK_MS = scaled(600, 10);
const DEATHS = scaled(1, 2);
const ROUND_ROWS = scaled(15_000, 60_000);
const RESOURCES = {
  appended: { name: "src", primaryKey: ["id"], incremental: { cursorField: "id" } },
  merged: { name: "src", primaryKey: ["id"], writeDisposition: "merge" },
  replaced: { name: "src", writeDisposition: "replace" },
};
const DATASETS = Object.keys(RESOURCES);

/** Polls the number of rows of each dataset until stopped. Returns all counts. */
function watch(owner: Client) {
  const seen = new Set<number>();
  let looks = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const sql = `select count(*) as n from raw.${DATASETS[looks++ % DATASETS.length]}__src`;
      // The server can be killed at any time: then there is no response.
      const reply: Answer | null = await owner("POST", "/api/v1/query", { sql }).catch(() => null);
      if (reply?.status === 200) seen.add(reply.body.rows[0].n);
      await Bun.sleep(LOOK_MS);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await watching;
      return seen;
    },
  };
}

test("killed at any time, an extract continues after the restart: rows are right, and no partial load is visible", async () => {
  await pg.sql.unsafe("create table src (id int primary key, v int, pad text)");
  await using installation = await startInstallation({ WEIR_LAKE_HISTORY_DAYS: "0" });
  let server = await installation.serve();
  const shop = await connectPostgres(server.owner, pg);
  const actions: string[] = [];
  for (const [dataset, resource] of Object.entries(RESOURCES))
    actions.push((await dataOf(server.owner).extract(shop, { dataset, resources: [resource] })).id);

  for (let round = 1; round <= ROUNDS; round++) {
    await pg.sql.unsafe(
      `update src set v = ${round}; insert into src select i, ${round}, repeat('x', 60) from generate_series(${(round - 1) * ROUND_ROWS + 1}, ${round * ROUND_ROWS}) i`,
    );
    const runs: string[] = [];
    for (const id of actions) runs.push((await server.owner("POST", `${ACTIONS}/${id}/run`)).body.id);
    const seen = new Set<number>();
    for (let deaths = 0; deaths < DEATHS; deaths++) {
      const reader = watch(server.owner);
      await Bun.sleep(100 + Math.random() * 700);
      await server.end("SIGKILL");
      for (const n of await reader.stop()) seen.add(n);
      server = await installation.serve();
    }
    const reader = watch(server.owner);
    const data = dataOf(server.owner);
    for (const id of runs) await data.good(id);
    for (const n of await reader.stop()) seen.add(n);
    expect([...seen].filter((n) => n !== (round - 1) * ROUND_ROWS && n !== round * ROUND_ROWS)).toEqual([]);

    const n = round * ROUND_ROWS;
    const sum = String((n * (n + 1)) / 2);
    const whole = "count(*)::int as n, count(distinct id)::int as ids, sum(id)::varchar as sum";
    for (const dataset of DATASETS) {
      expect([dataset, ...(await data.rows(`select ${whole} from raw.${dataset}__src`))]).toEqual([
        dataset,
        { n, ids: n, sum },
      ]);
      expect((await data.sums("raw", dataset, "src")).rows).toBe(n);
    }
    for (const dataset of ["merged", "replaced"])
      expect(await data.rows(`select distinct v from raw.${dataset}__src`)).toEqual([{ v: round }]);
  }

  expect((await server.owner("GET", "/api/v1/events/verify")).body.valid).toBe(true);
  await server.end("SIGKILL");
  // Leftovers of the kills are deleted once they are old, and nothing else.
  await using app = await startApp({
    dataFolder: installation.dataFolder,
    env: { WEIR_LAKE_HISTORY_DAYS: "0" },
    owner: false,
    hurry: 600,
  });
  const data = dataOf(client(app.origin, { authorization: `Bearer ${installation.token}` }));
  const isTidy = async () => {
    let named = 0;
    for (const dataset of DATASETS) named += (await data.sums("raw", dataset, "src")).files;
    return filesBelow(join(installation.dataFolder, "lake")) === named;
  };
  expect(await isTidy()).toBe(false);
  app.clock.turn(2 * 60 * 60 * 1000);
  const begun = performance.now();
  while (!(await isTidy())) {
    if (performance.now() - begun > 60_000) throw new Error("Files were left in the lake.");
    await Bun.sleep(50);
  }
  for (const dataset of DATASETS)
    expect(await data.rows(`select count(*)::int as n from raw.${dataset}__src`)).toEqual([
      { n: ROUNDS * ROUND_ROWS },
    ]);
}, 120_000);

/** Without Iceberg's metadata, which iceberg.test.ts checks. */
const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && basename(entry.parentPath) !== "metadata",
  ).length;
