import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readConfig } from "../../src/config.ts";
import { sweeper } from "../../src/engine/sweeper.ts";
import { startApp } from "../support/app.ts";
import { startInstallation } from "../support/process.ts";
import { s3Keys, startS3, type TestS3 } from "../support/s3.ts";
import { deepTest } from "../support/scale.ts";
import { created, until } from "../support/work.ts";
import { connectFolder, dataOf, startData } from "./place.ts";

setDefaultTimeout(120_000);

let s3: TestS3;
beforeAll(async () => {
  s3 = await startS3();
  s3.createBucket("lakes");
});
afterAll(() => s3[Symbol.asyncDispose]());

const settings = (prefix: string) => ({
  WEIR_LAKE_URL: `s3://lakes/${prefix}`,
  WEIR_LAKE_ENDPOINT: s3.endpointUrl,
  WEIR_LAKE_ACCESS_KEY_ID: s3Keys.accessKeyId,
  WEIR_LAKE_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
});

const rowsOf = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => JSON.stringify({ id: from + i, n: (from + i) * 2 })).join("\n");

const isFile = ({ method, url }: { method: string; url: string }) =>
  method === "PUT" && url.includes(".parquet");

test("extract, transform, query and delete on a bucket, with nothing left behind", async () => {
  await using data = await startData({ env: settings("whole") });
  const folder = await connectFolder(data.owner);
  await data.upload(folder, "/orders.jsonl", rowsOf(0, 100));
  const resources = [{ name: "orders", spec: "orders.jsonl", primaryKey: ["id"], writeDisposition: "merge" }];
  const extract = await data.extract(folder, { dataset: "shop", resources });
  expect(await extract.result()).toMatchObject({ rows: 100 });
  await data.upload(folder, "/orders.jsonl", rowsOf(90, 120));
  expect(await extract.result()).toMatchObject({ tables: [{ inserted: 20, updated: 10 }] });
  const output = { layer: "marts", dataset: "sums" };
  await data.transform({ sql: "SELECT sum(n) AS total FROM raw.shop__orders", output });
  expect(await data.rows("SELECT total FROM marts.sums")).toEqual([{ total: 14_280 }]);
  expect((await data.owner("GET", "/api/v1/datasets/raw/shop/preview?limit=3")).body.rows).toHaveLength(3);

  const lake = data.app.app.lake;
  const future = new Date("2999-01-01T00:00:00Z");
  expect((await Array.fromAsync(lake.list(future))).length).toBeGreaterThanOrEqual(2);
  for (const dataset of ["raw/shop", "marts/sums"])
    expect((await data.owner("DELETE", `/api/v1/datasets/${dataset}`)).status).toBe(204);
  data.app.clock.turn(25 * 60 * 60 * 1000);
  const sweep = sweeper(data.app.app);
  while ((await sweep.tick(new AbortController().signal)) === "more");
  expect(await Array.fromAsync(lake.list(future))).toEqual([]);
});

deepTest("a kill between upload and commit leaves nothing visible, and the leftovers are swept", async () => {
  await using installation = await startInstallation(settings("killed"));
  let server = await installation.serve();
  const data = dataOf(server.owner);
  const folder = await connectFolder(server.owner);
  await data.upload(folder, "/orders.jsonl", rowsOf(0, 50));
  const extract = await data.extract(folder, {
    dataset: "shop",
    resources: [{ name: "orders", spec: "orders.jsonl" }],
  });
  let isKilled = false;
  const uploaded = Promise.withResolvers<void>();
  s3.interfere((seen) => {
    if (isFile(seen) && !isKilled) {
      isKilled = true;
      void server.end("SIGKILL").then(() => uploaded.resolve());
    }
    return null;
  });
  const run = await extract.start();
  await uploaded.promise;
  s3.interfere(() => null);
  server = await installation.serve();
  await dataOf(server.owner).good(run.id);
  expect(await dataOf(server.owner).rows("SELECT count(*) AS n FROM raw.shop__orders")).toEqual([{ n: 50 }]);
  await server.end("SIGTERM");

  await using again = await startApp({
    dataFolder: installation.dataFolder,
    owner: false,
    engine: false,
    env: settings("killed"),
  });
  const future = new Date("2999-01-01T00:00:00Z");
  const left = async () =>
    (await Array.fromAsync(again.app.lake.list(future))).filter((path) =>
      /^(?!\.work\/).*\.parquet$/.test(path),
    );
  expect(await left()).toHaveLength(2);
  again.clock.turn(2 * 60 * 60 * 1000);
  const sweep = sweeper(again.app);
  while ((await sweep.tick(new AbortController().signal)) === "more");
  expect(await left()).toHaveLength(1);
});

deepTest(
  "while the bucket fails, runs are retried, and fail with a retryable error after the last attempt",
  async () => {
    await using data = await startData({ env: settings("failing"), hurry: 50 });
    const folder = await connectFolder(data.owner);
    await data.upload(folder, "/orders.jsonl", rowsOf(0, 10));
    let refused = 0;
    s3.interfere((seen) => (isFile(seen) && ++refused <= 4 ? { status: 503, code: "SlowDown" } : null));
    const definition = {
      dataset: "shop",
      resources: [{ name: "orders", spec: "orders.jsonl" }],
      retry: { maxAttempts: 3 },
    };
    const extract = await data.extract(folder, definition);
    const run = await extract.start();
    const end = await until(
      data.owner,
      `/api/v1/action-runs/${run.id}`,
      ({ status }) => status === "completed",
    );
    expect(end.retryCount).toBe(1);
    expect(end.result).toMatchObject({ rows: 10 });

    s3.interfere(({ method }) => (method === "PUT" ? { status: 503, code: "SlowDown" } : null));
    const failing = created(
      await data.owner("POST", `/api/v1/actions/${extract.id}/run`, {
        definitionOverrides: { retry: { maxAttempts: 1 } },
      }),
    );
    const failed = await until(
      data.owner,
      `/api/v1/action-runs/${failing.id}`,
      ({ status }) => status === "failed",
    );
    expect(failed.error).toMatchObject({
      code: "unavailable",
      retryable: true,
      message: "The lake's bucket lakes can't be used: The object store is busy or failing (SlowDown).",
    });
    s3.interfere(() => null);
  },
);

/** Returns the error that a server with these settings fails to start with. */
async function startFailure(env: Record<string, string>): Promise<string> {
  const started = startApp({ env, engine: false, owner: false });
  return started.then(
    async (app) => {
      await app[Symbol.asyncDispose]();
      return "started";
    },
    (error: Error) => `${error.name}: ${error.message}`,
  );
}

deepTest("an unusable bucket stops the start with a sentence", async () => {
  const bad = { ...settings("bad"), WEIR_LAKE_URL: "s3://nowhere/x" };
  expect(await startFailure(bad)).toBe(
    "ConfigError: WEIR_LAKE_URL: The lake's bucket nowhere can't be used: There is no bucket nowhere at this address.",
  );
  const keys = { ...settings("bad"), WEIR_LAKE_ACCESS_KEY_ID: "WRONG" };
  expect(await startFailure(keys)).toBe(
    "ConfigError: WEIR_LAKE_URL: The lake's bucket lakes can't be used: The object store doesn't know this accessKeyId.",
  );
  {
    await using _ = await startApp({ env: settings("taken"), engine: false, owner: false });
  }
  expect(await startFailure(settings("taken"))).toContain(
    "ConfigError: WEIR_LAKE_URL: The lake in the bucket lakes belongs to another installation",
  );
});

test.each([
  [
    { WEIR_LAKE_URL: "http://x" },
    'Invalid WEIR_LAKE_URL: "http://x". Use s3://BUCKET/PREFIX, with 3 to 63 characters in the bucket\'s name.',
  ],
  [
    { WEIR_LAKE_URL: "s3://ok/../x" },
    'Invalid WEIR_LAKE_URL: "s3://ok/../x". Use s3://BUCKET/PREFIX, with 3 to 63 characters in the bucket\'s name.',
  ],
  [
    { WEIR_LAKE_URL: "s3://lakes" },
    "WEIR_LAKE_URL requires the keys of the bucket. Set WEIR_LAKE_ACCESS_KEY_ID.",
  ],
  [
    { WEIR_LAKE_ENDPOINT: "http://x" },
    "WEIR_LAKE_ENDPOINT is set without WEIR_LAKE_URL. Set it to s3://BUCKET/PREFIX.",
  ],
])("settings %j are rejected", (env, message) => {
  expect(() => readConfig({}, env, {})).toThrow(message);
});

test("Amazon's names of the settings apply only if a bucket is set", () => {
  const amazon = { AWS_ACCESS_KEY_ID: "k", AWS_SECRET_ACCESS_KEY: "s", AWS_REGION: "eu-west-1" };
  const { config, secrets } = readConfig({}, { ...amazon, WEIR_LAKE_URL: "s3://lakes/a/" }, {});
  expect(config).toMatchObject({ lakeUrl: "s3://lakes/a", lakeRegion: "eu-west-1", lakeEndpoint: null });
  expect(secrets).toMatchObject({ lakeAccessKeyId: "k", lakeSecretAccessKey: "s" });
  expect(readConfig({}, amazon, {}).secrets.lakeAccessKeyId).toBeNull();
});
