import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect as connectTcp, createServer } from "node:net";
import { join } from "node:path";
import { CONNECTIONS, connect } from "../support/connections.ts";
import { freePort, startPostgres, type TestPostgres } from "../support/postgres.ts";
import { s3Keys, startS3, type TestS3 } from "../support/s3.ts";
import { deepTest } from "../support/scale.ts";
import { RUNS, runEnd } from "../support/work.ts";
import { connectPostgres, startData } from "./place.ts";

setDefaultTimeout(120_000);

let pg: TestPostgres;
let s3: TestS3;
let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  [pg, s3, data] = await Promise.all([startPostgres(), startS3(), startData()]);
  await pg.sql.unsafe("create table t as select i as id from generate_series(1, 3) i");
  s3.createBucket("there");
}, 120_000);
afterAll(async () => {
  await data[Symbol.asyncDispose]();
  await s3[Symbol.asyncDispose]();
  await pg[Symbol.asyncDispose]();
});

const failed = async (connectionId: string, resource: object = { name: "t" }, more: object = {}) => {
  const extract = await data.extract(connectionId, { dataset: "failed", resources: [resource], ...more });
  const { status, error } = await extract.run();
  expect(await data.sums("raw", "failed", "t")).toBeNull();
  return { status, code: error?.code, retryable: error?.retryable, message: error?.message };
};

test("a broken connection fails the run with the reason", async () => {
  const { host, port, database, user, password } = pg;
  const wrong = (name: string, config: object, credentials: object = { user, password }) =>
    connect(data.owner, {
      name,
      provider: "postgres",
      config: { host, port, database, ...config },
      credentials,
    });
  const cases = [
    ["password", await wrong("password", {}, { user, password: "wrong" }), "upstream", false, /password/],
    ["database", await wrong("database", { database: "nosuch" }), "upstream", false, /nosuch/],
    ["nobody", await wrong("nobody", { port: await freePort() }), "upstream", true, /127\.0\.0\.1/],
    [
      "no host",
      await wrong("no host", { host: "no.such.host.invalid" }),
      "upstream",
      null,
      /no\.such\.host\.invalid/,
    ],
    [
      "private",
      await wrong("private", { host: "10.1.2.3" }),
      "egress_blocked",
      false,
      /10\.1\.2\.3.*WEIR_EGRESS_ALLOW/s,
    ],
  ] as const;
  for (const [what, { id }, code, retryable, words] of cases) {
    const run = await failed(id);
    expect([what, run.status, run.code]).toEqual([what, "failed", code]);
    if (retryable !== null) expect([what, run.retryable]).toEqual([what, retryable]);
    expect(run.message).toMatch(words);
    expect(run.message).not.toContain("correct horse");
  }
});

deepTest("a missing bucket or wrong keys fail the run by name", async () => {
  const bucket = (name: string, config: object, credentials: object = s3Keys) =>
    connect(data.owner, {
      name,
      provider: "s3",
      config: { bucket: "there", endpointUrl: s3.endpointUrl, forcePathStyle: true, ...config },
      credentials,
    });
  const spec = { name: "t", spec: "*.csv" };
  for (const [made, words, retryable] of [
    [await bucket("no bucket", { bucket: "elsewhere" }), /elsewhere/, false],
    [await bucket("keys", {}, { ...s3Keys, secretAccessKey: "wrong" }), /secretAccessKey|secret/i, false],
    [await bucket("region", { region: "eu-west-1" }), /us-east-1/, false],
    [await bucket("nobody", { endpointUrl: `http://127.0.0.1:${await freePort()}` }), /127\.0\.0\.1/, true],
  ] as const) {
    const run = await failed(made.id, spec);
    expect(run).toMatchObject({ status: "failed", code: "upstream", retryable });
    expect(run.message).toMatch(words);
  }
  const empty = await failed((await bucket("empty", {})).id, spec);
  expect(empty).toMatchObject({ code: "not_found", retryable: false });
});

deepTest("what the definition names and the source lacks is reported by name", async () => {
  const shop = await connectPostgres(data.owner, pg);
  const cases = [
    [{ name: "t", spec: "nosuch" }, "not_found", /nosuch/],
    [{ name: "t", spec: "other.t" }, "not_found", /other/],
    [{ name: "t", columns: ["id", "nope"] }, "definition_invalid", /nope/],
    [{ name: "t", incremental: { cursorField: "nope" } }, "cursor_field_missing", /nope/],
    [{ name: "t", writeDisposition: "merge", primaryKey: ["nope"] }, "definition_invalid", /nope/],
    [{ name: "t", incremental: { cursorField: "id", initialValue: "word" } }, "definition_invalid", /word/],
    [{ name: "t", where: "id / 0 = 1" }, "definition_invalid", /zero/],
  ] as const;
  for (const [resource, code, words] of cases) {
    const run = await failed(shop, resource);
    expect([resource, run.status, run.code, run.retryable]).toEqual([resource, "failed", code, false]);
    expect(run.message).toMatch(words);
  }
});

test("a disabled connection and a missing one are reported", async () => {
  const shop = await connectPostgres(data.owner, pg);
  const extract = await data.extract(shop, { dataset: "disabled", resources: [{ name: "t" }] });
  expect((await data.owner("POST", `${CONNECTIONS}/${shop}/disable`)).status).toBe(200);
  expect(await extract.run()).toMatchObject({
    status: "failed",
    error: { code: "connection_disabled", retryable: false },
  });
  expect((await data.owner("POST", `${CONNECTIONS}/${shop}/reactivate`)).status).toBe(200);
  expect(await extract.run()).toMatchObject({ status: "completed" });
  const none = await data.end("dlt_extract", { dataset: "none", resources: [{ name: "t" }] });
  expect(none).toMatchObject({ status: "failed", error: { code: "definition_invalid", retryable: false } });
});

/** Files of the lake, including those in progress. */
const lakeFiles = () =>
  readdirSync(join(data.app.dataFolder, "lake"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

deepTest(
  "an extract that is cancelled or timed out stops, at its source too, and leaves nothing",
  async () => {
    await pg.sql.unsafe(
      "create view slow as select i as id, pg_sleep(0.01)::text as nap from generate_series(1, 100000) i",
    );
    const shop = await connectPostgres(data.owner, pg);
    const extract = await data.extract(shop, { dataset: "slow", resources: [{ name: "slow" }] });
    const run = await extract.start();
    const busy = () =>
      pg.sql.unsafe(
        "select count(*)::int as n from pg_stat_activity where query like 'COPY%slow%' and state = 'active'",
      );
    while ((await busy())[0]?.n !== 1) await Bun.sleep(20);
    await data.owner("POST", `${RUNS}/${run.id}/cancel`);
    expect(await runEnd(data.owner, run.id)).toMatchObject({ status: "cancelled", result: null });
    while ((await busy())[0]?.n !== 0) await Bun.sleep(20);
    const late = await extract.run({ timeoutSeconds: 1 });
    expect(late).toMatchObject({ status: "failed", error: { code: "timeout", retryable: true } });
    expect(await data.sums("raw", "slow")).toBeNull();
    expect(await extract.state()).toEqual({});
    // Cleaned up after the run is reported.
    while (lakeFiles().some((path) => /slow|\.work/.test(path))) await Bun.sleep(20);
  },
);

test("a source that goes silent or breaks off fails the run, which can be retried", async () => {
  let broken = 0;
  const sever = createServer((socket) => {
    const onward = connectTcp(pg.port, "127.0.0.1");
    socket.on("error", () => onward.destroy());
    onward.on("error", () => socket.destroy());
    socket.pipe(onward);
    let seen = 0;
    onward.on("data", (chunk: Buffer) => {
      seen += chunk.length;
      if (seen > 300_000 && broken < 1) {
        broken++;
        socket.destroy();
        onward.destroy();
      } else socket.write(chunk);
    });
    onward.on("end", () => socket.end());
  });
  await new Promise<void>((resolve) => sever.listen(0, "127.0.0.1", resolve));
  const address = sever.address();
  const port = typeof address === "object" && address ? address.port : 0;
  await pg.sql.unsafe(
    "create table wide as select i as id, repeat(md5(i::text), 4) as t from generate_series(1, 10000) i",
  );
  const through = await connectPostgres(data.owner, { ...pg, port });
  const extract = await data.extract(through, { dataset: "severed", resources: [{ name: "wide" }] });
  const run = await extract.run();
  expect(run).toMatchObject({ status: "failed", error: { code: "upstream", retryable: true } });
  expect(await data.sums("raw", "severed", "wide")).toBeNull();
  broken = 0;
  const retried = await extract.run({ retry: { maxAttempts: 2, backoffSeconds: [0] } });
  expect(retried).toMatchObject({ status: "completed", retryCount: 1, result: { rows: 10_000 } });
  expect(await data.rows("select count(*) n, count(distinct id) ids from raw.severed__wide")).toEqual([
    { n: 10_000, ids: 10_000 },
  ]);
  sever.close();
});
