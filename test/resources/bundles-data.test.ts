import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { dataOf } from "../data/place.ts";
import { driveUser, startDrive } from "../peers/google-drive.ts";
import { startShopify } from "../peers/shopify.ts";
import { startApp } from "../support/app.ts";
import { BUNDLES, install, ok } from "../support/bundles.ts";
import { connect } from "../support/connections.ts";
import { s3Keys, startS3 } from "../support/s3.ts";
import { deepTest } from "../support/scale.ts";
import { money, order, shopConnection } from "../support/shopify.ts";
import { AUTOMATIONS, flowToEnd, RUNS } from "../support/work.ts";

setDefaultTimeout(120_000);

/** The output of a step, as far as it is checked here. */
interface Told {
  tables: { table: string }[];
  files: { path: string }[];
}

let app: Awaited<ReturnType<typeof startApp>>;
let data: ReturnType<typeof dataOf>;
beforeAll(async () => {
  app = await startApp({ hurry: 10 });
  data = dataOf(app.owner);
});
afterAll(() => app[Symbol.asyncDispose]());

/** Runs an automation to its successful end, with just these steps skipped. Returns the output of its steps, by key. */
async function carryOut(automation = "", skipped: string[] = []): Promise<Record<string, Told>> {
  const run = await flowToEnd(app.owner, automation);
  const seen = run.steps.map(({ key, status }: { key: string; status: string }) => [key, status]);
  expect(seen).toEqual(
    seen.map(([key]: string[]) => [key, skipped.includes(key ?? "") ? "skipped" : "completed"]),
  );
  expect(run.status).toBe("completed");
  const results: Record<string, Told> = {};
  for (const { key, actionRunId } of run.steps)
    if (actionRunId) results[key] = ok(await app.owner("GET", `${RUNS}/${actionRunId}`)).result;
  return results;
}

deepTest(
  "commerce orders to a dashboard: sample orders first, then those of the connected shop",
  async () => {
    const sample = await install(app.owner, "commerce-dashboard");
    const offline = await carryOut(sample.ids.dashboard, ["orders"]);
    expect(offline.samples?.tables[0]).toMatchObject({ table: "orders", rowsRead: 48, inserted: 48 });
    expect(offline.board).toMatchObject({
      title: "Orders",
      warnings: [],
      panels: [{ rows: 12 }, { rows: 5 }, { rows: 12 }],
    });
    const [before] = await data.rows(
      "SELECT CAST(sum(orders) AS INTEGER) AS orders FROM marts.commerce_daily",
    );
    expect(before).toEqual({ orders: 46 });

    await using peer = await startShopify();
    peer.store.orders = [
      order(1, { currentTotalPriceSet: money("7.50") }),
      order(2, { test: true }),
      order(3, { currentTotalPriceSet: money("2.25") }),
    ];
    const connectionId = (await connect(app.owner, shopConnection(peer))).id;
    expect((await app.owner("DELETE", "/api/v1/datasets/raw/commerce")).status).toBe(204);
    const { ids } = await install(app.owner, "commerce-dashboard", { connectionId });
    const live = await carryOut(ids.dashboard, ["samples"]);
    expect(live.orders?.tables[0]).toMatchObject({ table: "orders", rowsRead: 3, inserted: 3 });
    expect(
      await data.rows("SELECT CAST(day AS VARCHAR) AS day, orders, revenue FROM marts.commerce_daily"),
    ).toEqual([{ day: "2026-05-01", orders: 2, revenue: 9.75 }]);
    peer.store.orders.push(order(4, { currentTotalPriceSet: money("1.00") }));
    expect((await carryOut(ids.dashboard, ["samples"])).orders?.tables[0]).toMatchObject({
      inserted: 1,
      updated: 0,
    });
    expect(await data.rows("SELECT revenue FROM marts.commerce_daily")).toEqual([{ revenue: 10.75 }]);
  },
);

deepTest("drive folder to dataset: a sample file first, then the connected folder", async () => {
  const sample = await install(app.owner, "drive-to-dataset", { dataset: "targets" });
  await carryOut(sample.ids.load, ["drive"]);
  expect(await data.rows("SELECT region, target FROM raw.targets ORDER BY region")).toEqual([
    { region: "north", target: "12000.0" },
    { region: "south", target: "9500.0" },
    { region: "west", target: "10250.5" },
  ]);

  await using drive = await startDrive();
  drive.put({
    id: "sheet-01",
    name: "May",
    mimeType: "application/vnd.google-apps.spreadsheet",
    parents: ["my-drive"],
    exports: { "text/csv": "region,target\r\neast,7\r\n" },
  });
  drive.put({
    id: "file-01",
    name: "june.csv",
    mimeType: "text/csv",
    parents: ["my-drive"],
    content: "region,target\nwest,8\n",
  });
  const config = { baseUrl: drive.baseUrl };
  const body = { name: "Drive", provider: "google_drive", config, credentials: driveUser };
  const connectionId = (await connect(app.owner, body)).id;
  const { ids } = await install(app.owner, "drive-to-dataset", { connectionId, dataset: "plans" });
  await carryOut(ids.load, ["samples"]);
  expect(await data.rows("SELECT region, target FROM raw.plans ORDER BY region")).toEqual([
    { region: "east", target: 7 },
    { region: "west", target: 8 },
  ]);
});

test("bucket to bucket: sample folders first, then the connected buckets; each file once", async () => {
  const sample = await install(app.owner, "bucket-to-bucket");
  const copied = async (automation = "") => Object.values(await carryOut(automation))[0];
  expect((await copied(sample.ids.sync))?.files.map(({ path }) => path).sort()).toEqual([
    "2026/04/orders.csv",
    "readme.txt",
  ]);
  expect(await copied(sample.ids.sync)).toMatchObject({ copied: 0, skipped: 2 });

  await using s3 = await startS3();
  const bucket = async (name: string) => {
    s3.createBucket(name);
    const config = { bucket: name, endpointUrl: s3.endpointUrl, forcePathStyle: true };
    return (await connect(app.owner, { name, provider: "s3", config, credentials: s3Keys })).id;
  };
  const inputs = {
    sourceConnectionId: await bucket("source"),
    sourcePath: "/",
    destinationConnectionId: await bucket("target"),
    destinationPath: "/backup",
    mode: "mirror",
  };
  await s3.put("source", "a/1.txt", "one");
  await s3.put("source", "2.txt", "two");
  const { ids } = await install(app.owner, "bucket-to-bucket", inputs);
  expect(await copied(ids.sync)).toMatchObject({ copied: 2, failed: [] });
  expect(await s3.all("target")).toEqual({ "backup/a/1.txt": "one", "backup/2.txt": "two" });
  await s3.remove("source", "2.txt");
  expect(await copied(ids.sync)).toMatchObject({ copied: 0, deleted: 1 });
  expect(await s3.all("target")).toEqual({ "backup/a/1.txt": "one" });
});

test("a connection of another organization is rejected before anything is created", async () => {
  const before = (await app.owner("GET", AUTOMATIONS)).body.total;
  for (const [connectionId, type] of [
    ["not an id", "uuid_parsing"],
    ["01900000-0000-7000-8000-00000000abcd", "not_found"],
  ] as const) {
    const reply = await app.owner("POST", `${BUNDLES}/commerce-dashboard/install`, {
      inputs: { connectionId },
    });
    expect([reply.status, JSON.stringify(reply.body.detail)]).toEqual([422, expect.stringContaining(type)]);
  }
  expect((await app.owner("GET", AUTOMATIONS)).body.total).toBe(before);
});
