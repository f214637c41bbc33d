import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { startKlaviyo, type TestKlaviyo } from "../peers/klaviyo.ts";
import { CONNECTIONS, connect } from "../support/connections.ts";
import { campaign, event, instant, klaviyoConnection, many, named, profile } from "../support/klaviyo.ts";
import { deepTest } from "../support/scale.ts";
import { RUNS, runEnd, until } from "../support/work.ts";
import { startData } from "./place.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
let peer: TestKlaviyo;
beforeAll(async () => {
  data = await startData({ hurry: 50 });
});
afterAll(async () => data[Symbol.asyncDispose]());
beforeEach(async () => {
  peer = await startKlaviyo();
  return () => peer[Symbol.asyncDispose]();
});

let count = 0;
/** A connection to the peer, and a dataset for it. */
async function open() {
  const name = `letters${++count}`;
  return { id: (await connect(data.owner, klaviyoConnection(peer, {}, name))).id as string, dataset: name };
}

type Table = { table: string; rowsRead: number; rows: number };
const main = (result: { tables: Table[] }, name: string) => result.tables.find(({ table }) => table === name);

test("an account is connected, verified, browsed, read completely and queried", async () => {
  Object.assign(peer.store, {
    profiles: many(3, profile),
    events: many(6, event),
    campaigns: [campaign(1, "email", false), campaign(2, "sms", true)],
    flows: many(2, (n) => named("F", n)),
    lists: many(11, (n) => named("L", n)),
    segments: many(2, (n) => named("S", n)),
    metrics: [named("M", 1)],
  });
  const { id, dataset } = await open();
  const at = `${CONNECTIONS}/${id}`;
  expect((await data.owner("POST", `${at}/verify`)).body).toMatchObject({
    status: "active",
    verificationError: null,
  });
  const { tables } = (await data.owner("GET", `${at}/schema/tables`)).body;
  expect(tables).toContainEqual({ schema: "klaviyo", table: "events", spec: "events" });
  const columns = (await data.owner("GET", `${at}/schema/columns?schema=klaviyo&table=events`)).body;
  expect(columns.columns).toContainEqual({ name: "profile_id", dataType: "string", nullable: true });

  const resources = tables.map(({ spec }: { spec: string }) => ({ name: spec, primaryKey: ["id"] }));
  const extract = await data.extract(id, { dataset, resources });
  const result = await extract.result();
  expect(result).toMatchObject({ mode: "initial", warnings: [] });
  for (const [table, rows] of Object.entries({
    profiles: 3,
    events: 6,
    campaigns: 2,
    flows: 2,
    lists: 11,
    segments: 2,
    metrics: 1,
  })) {
    expect(main(result, table)).toMatchObject({ rowsRead: rows, rows });
  }
  const joined = await data.rows(
    `select p.email, p.location__city as city, sum(e.event_properties___value) as value
     from raw.${dataset}__events e join raw.${dataset}__profiles p on p.id = e.profile_id group by all order by 1`,
  );
  expect(joined).toEqual([
    { email: "p1@example.com", city: "Graz", value: 6 },
    { email: "p2@example.com", city: "Graz", value: 8 },
  ]);
});

test("what is wrong with a connection is reported when it is verified", async () => {
  const verify = async (more: object) => {
    const { id } = await connect(data.owner, { ...klaviyoConnection(peer, {}, `wrong ${++count}`), ...more });
    return (await data.owner("POST", `${CONNECTIONS}/${id}/verify`)).body;
  };
  expect(await verify({ credentials: { apiKey: "pk_some_wrong_key" } })).toMatchObject({
    status: "error",
    verificationError: expect.stringContaining("apiKey rejected (401)"),
  });
  peer.state.scopes = ["profiles:read"];
  expect((await verify({})).verificationError).toContain("missing scope accounts:read");
  peer.state.instead = () => ({ status: 429, headers: { "retry-after": "20" } });
  expect((await verify({})).verificationError).toContain("again in 20 s");
});

deepTest(
  "only new events are loaded, those at the boundary once; changed profiles replace theirs",
  async () => {
    peer.store.events = many(20, event);
    peer.store.profiles = many(20, profile);
    const { id, dataset } = await open();
    const extract = await data.extract(id, {
      dataset,
      resources: [
        { name: "events", primaryKey: ["id"], incremental: { cursorField: "datetime" } },
        {
          name: "profiles",
          primaryKey: ["id"],
          writeDisposition: "merge",
          incremental: { cursorField: "updated" },
        },
      ],
    });
    expect(await extract.result()).toMatchObject({ mode: "initial", warnings: [] });
    const again = await extract.result();
    expect(main(again, "events")).toMatchObject({ rowsRead: 1, rows: 0, deduplicated: 1 });
    expect(main(again, "profiles")).toMatchObject({ rowsRead: 1, rows: 0, deduplicated: 1 });

    peer.store.events.push(event(21, { datetime: instant(20) }), event(22));
    Object.assign(peer.store.profiles[4]?.attributes ?? {}, { updated: instant(30), first_name: "New" });
    const third = await extract.result();
    expect(main(third, "events")).toMatchObject({ rowsRead: 3, rows: 2, deduplicated: 1 });
    expect(main(third, "profiles")).toMatchObject({ rowsRead: 2, inserted: 0, updated: 1, deduplicated: 1 });
    expect(await data.rows(`select count(*) n, count(distinct id) ids from raw.${dataset}__events`)).toEqual([
      { n: 22, ids: 22 },
    ]);
    expect(
      await data.rows(
        `select count(*) n, max(first_name) filter (id = 'P000005') as name from raw.${dataset}__profiles`,
      ),
    ).toEqual([{ n: 20, name: "New" }]);
  },
);

test("a backfill loads its range and keeps the cursor", async () => {
  peer.store.events = many(30, event);
  const { id, dataset } = await open();
  const incremental = { cursorField: "datetime", initialValue: instant(5), endValue: instant(15) };
  const extract = await data.extract(id, { dataset, resources: [{ name: "events", incremental }] });
  expect(await extract.result()).toMatchObject({
    mode: "backfill",
    tables: [{ table: "events", rowsRead: 10, rows: 10 }, {}],
  });
  expect(await extract.state()).toEqual({});
});

deepTest(
  "repeated items, expired cursors, limits and temporary failures don't change what arrives",
  async () => {
    peer.store.profiles = many(430, (n) => profile(n, { created: instant(Math.ceil(n / 5)) }));
    peer.state.isRepeating = true;
    peer.state.steady = 3;
    let asks = 0;
    peer.state.instead = ({ path }) => {
      if (path !== "profiles") return null;
      asks++;
      if (asks % 2 === 0) peer.newMinute();
      return asks % 4 === 0 ? { status: 502 } : null;
    };
    let pages = 0;
    peer.state.afterPage = () => {
      if (++pages % 3 === 0) peer.state.epoch++;
    };
    const { id, dataset } = await open();
    const extract = await data.extract(id, {
      dataset,
      resources: [{ name: "profiles", writeDisposition: "replace" }],
    });
    expect(main(await extract.result(), "profiles")).toMatchObject({ rowsRead: 430, rows: 430 });
    const rows = await data.rows(`select id from raw.${dataset}__profiles order by id`);
    expect(rows).toEqual(many(430, (n) => ({ id: profile(n).id })));
  },
);

test("numbers that a double can't hold keep all their digits", async () => {
  const { id, dataset } = await open();
  const body = `{"data":[{"type":"metric","id":"M1","attributes":{"name":"9007199254740993","integration":{"key":9007199254740993,"share":0.1234567890123456789}}}],"links":{"next":null}}`;
  peer.state.instead = () => ({ status: 200, body });
  const extract = await data.extract(id, { dataset, resources: [{ name: "metrics" }] });
  await extract.result();
  const sql = `select name, integration__key::text as key, integration__share as share from raw.${dataset}__metrics`;
  expect(await data.rows(sql)).toEqual([
    { name: "9007199254740993", key: "9007199254740993", share: "0.1234567890123456789" },
  ]);
});

test("a run that waits for a rate limit says until when", async () => {
  peer.store.profiles = many(3, profile);
  let isHeld = true;
  peer.state.instead = () => (isHeld ? { status: 429, headers: { "retry-after": "20" } } : null);
  const { id, dataset } = await open();
  const extract = await data.extract(id, { dataset, resources: [{ name: "profiles" }] });
  const run = await extract.start();
  const told = await until(data.owner, `${RUNS}/${run.id}`, ({ progress }) =>
    /rate limit/.test(progress?.message),
  );
  expect(told.progress.message).toMatch(/^Reading profiles; its rate limit lets it go on at 20\d\d-.*Z$/);
  isHeld = false;
  expect(await runEnd(data.owner, run.id)).toMatchObject({ status: "completed", result: { warnings: [] } });
});

deepTest(
  "a lasting failure fails the run, leaves nothing, and the next attempt loads everything",
  async () => {
    peer.store.profiles = many(130, profile);
    let broken = true;
    peer.state.instead = ({ parameters }) =>
      broken && parameters.has("page[cursor]") ? { status: 503 } : null;
    const { id, dataset } = await open();
    const extract = await data.extract(id, { dataset, resources: [{ name: "profiles" }] });
    expect(await extract.run()).toMatchObject({
      status: "failed",
      error: { code: "upstream", retryable: true },
    });
    expect(await data.sums("raw", dataset, "profiles")).toBeNull();
    const run = await extract.start({ retry: { maxAttempts: 2, backoffSeconds: [60] } });
    await until(data.owner, `${RUNS}/${run.id}`, ({ status }) => status === "waiting");
    broken = false;
    data.app.clock.turn(61_000);
    expect(await runEnd(data.owner, run.id)).toMatchObject({ status: "completed", retryCount: 1 });
    expect(await data.sums("raw", dataset, "profiles")).toMatchObject({ rows: 130 });
  },
);

test("a run that is cancelled within its pages stops requesting and leaves nothing", async () => {
  peer.store.profiles = many(230, profile);
  peer.state.instead = ({ parameters }) => (parameters.has("page[cursor]") ? "silence" : null);
  const { id, dataset } = await open();
  const extract = await data.extract(id, { dataset, resources: [{ name: "profiles" }] });
  const run = await extract.start();
  while (peer.of("profiles").length < 2) await Bun.sleep(10);
  await data.owner("POST", `${RUNS}/${run.id}/cancel`);
  expect(await runEnd(data.owner, run.id)).toMatchObject({ status: "cancelled", result: null });
  expect(peer.of("profiles")).toHaveLength(2);
  expect(await data.sums("raw", dataset, "profiles")).toBeNull();
});

test("a forbidden field is a warning of the run; a forbidden resource ends it and empties no table", async () => {
  peer.store.profiles = many(3, profile);
  peer.state.denied = ["predictive_analytics"];
  const { id, dataset } = await open();
  const resources = [
    { name: "profiles", writeDisposition: "replace", columns: ["email", "predictive_analytics"] },
  ];
  const extract = await data.extract(id, { dataset, resources });
  const run = await extract.run();
  expect(run).toMatchObject({
    status: "completed",
    result: { rows: 3, warnings: [expect.stringContaining("can't read predictive_analytics of profiles")] },
  });
  expect((await data.logs(run.id)).join("\n")).toContain("predictive_analytics");
  peer.state.scopes = ["accounts:read"];
  const refused = await extract.run();
  expect(refused).toMatchObject({ status: "failed", error: { code: "upstream", retryable: false } });
  expect(refused.error.message).toContain("missing scope profiles:read");
  expect(await data.sums("raw", dataset, "profiles")).toMatchObject({ rows: 3 });
  expect(JSON.stringify([run, refused, await data.logs(refused.id)])).not.toContain(peer.apiKey);
});
