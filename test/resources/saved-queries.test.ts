import { afterAll, beforeAll, expect, test } from "bun:test";
import { contextFor } from "../../src/context.ts";
import { startApp } from "../support/app.ts";
import { loadTable } from "../support/lake.ts";
import { join, neighbour } from "../support/people.ts";
import { created, faultsOf } from "../support/work.ts";

const QUERIES = "/api/v1/queries";
const BY_DAY = {
  name: "Orders by day",
  sql: "SELECT day, count(*) AS orders FROM raw.orders WHERE day >= $since AND total > $least GROUP BY day ORDER BY day",
  parameters: { since: { type: "date", default: "2026-01-02" }, least: { type: "number" } },
  chart: { kind: "line", x: "day", y: ["orders"] },
};

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp({ engine: false });
  const actor = { type: "user", id: app.ids.userId } as const;
  const ctx = contextFor(app.app, {
    organizationId: app.ids.organizationId,
    role: "owner",
    actor,
    correlationId: "test-orders",
  });
  await loadTable(ctx, {
    layer: "raw",
    dataset: "orders",
    table: "orders",
    select: "SELECT DATE '2026-01-01' + CAST(i AS INTEGER) AS day, i * 1.5 AS total FROM range(4) AS t(i)",
  });
});
afterAll(() => app[Symbol.asyncDispose]());

const save = async (more: object = {}) => created(await app.owner("POST", QUERIES, { ...BY_DAY, ...more }));
const run = (id: string, body?: object) => app.owner("POST", `${QUERIES}/${id}/run`, body);

test("a saved query stores its SQL, parameters and chart, and is read, changed and deleted by its ID", async () => {
  const made = await save();
  expect(made).toMatchObject({
    ...BY_DAY,
    slug: "orders-by-day",
    description: null,
    parameters: { since: { type: "date", default: "2026-01-02" }, least: { type: "number", default: null } },
    createdBy: app.ids.userId,
  });
  expect((await save()).slug).toBe("orders-by-day-2");
  const at = `${QUERIES}/${made.id}`;
  const shown = await app.owner("GET", at);
  expect(shown.body).toEqual(made);
  const etag = shown.headers.get("etag") ?? "";
  const changed = await app.owner("PATCH", at, { description: "Daily", chart: null }, { "if-match": etag });
  expect(changed.body).toMatchObject({ description: "Daily", chart: null, sql: BY_DAY.sql });
  const again = await app.owner("PATCH", at, { description: "Daily" });
  expect(again.body.updatedAt).toBe(changed.body.updatedAt);
  const late = await app.owner("PATCH", at, { name: "Late" }, { "if-match": etag });
  expect([late.status, late.body.code]).toEqual([412, "changed_meanwhile"]);
  const taken = await app.owner("PATCH", at, { slug: "orders-by-day-2" });
  expect([taken.status, taken.body.code]).toEqual([409, "slug_taken"]);
  expect((await app.owner("DELETE", at)).status).toBe(204);
  expect((await app.owner("GET", at)).status).toBe(404);
  const { body } = await app.owner("GET", `/api/v1/events?entityType=query&entityId=${made.id}`);
  expect(body.items.map(({ type }: { type: string }) => type)).toEqual([
    "query.deleted",
    "query.updated",
    "query.created",
  ]);
});

test("the list is searched by name, and names the users in it", async () => {
  const { id } = await save({ name: "Revenue 100%" });
  const { body } = await app.owner("GET", `${QUERIES}?q=100%25&limit=1`);
  expect(body).toMatchObject({ hasNext: false, limit: 1, offset: 0, total: 1 });
  expect(body.queries.map((one: { id: string }) => one.id)).toEqual([id]);
  expect(body.users[app.ids.userId].firstName).toBe("Ada");
});

test("a run binds the given values, and the defaults of the rest", async () => {
  const { id } = await save();
  const reply = await run(id, { parameters: { least: 0 } });
  expect(reply.body).toMatchObject({ rowCount: 3, truncated: false });
  expect(reply.body.rows[0]).toEqual({ day: "2026-01-02", orders: 1 });
  expect((await run(id, { parameters: { least: "3.1", since: "2026-01-01" } })).body.rowCount).toBe(1);
  expect((await run(id, { parameters: { least: 0 }, limit: 1 })).body).toMatchObject({
    rowCount: 1,
    truncated: true,
  });
  const whole = { type: "integer" };
  const two = await save({ sql: "SELECT $a < $b AS less", parameters: { a: whole, b: whole } });
  expect((await run(two.id, { parameters: { a: "9", b: "10" } })).body.rows).toEqual([{ less: true }]);
  expect((await run(two.id, { parameters: { a: 9007199254740996, b: 1e16 } })).body.rows).toEqual([
    { less: true },
  ]);
  const number = { type: "number" };
  const fractions = await save({
    sql: "SELECT $a < $b AS less, 9.50::DECIMAL(10, 2) = $a AS same",
    parameters: { a: number, b: number },
  });
  expect((await run(fractions.id, { parameters: { a: "9.5", b: "10.5" } })).body.rows).toEqual([
    { less: true, same: true },
  ]);
  expect((await run(fractions.id, { parameters: { a: "9.504", b: "1" } })).body.rows).toEqual([
    { less: false, same: false },
  ]);
  const most = { sql: "SELECT $a > $b AS more, typeof($a) AS type, greatest($a, 9) AS top", parameters: {} };
  const wholes = await save({ ...most, parameters: { a: whole, b: whole } });
  const numbers = await save({ ...most, parameters: { a: number, b: number } });
  for (const [saved, a, type, top] of [
    [wholes, "9007199254740993", "BIGINT", "9007199254740993"],
    [wholes, "-18446744073709551617", "HUGEINT", 9],
    [numbers, "12345678901234567.89", "DECIMAL(19,2)", "12345678901234567.89"],
    [numbers, "10.50", "DOUBLE", 10.5],
  ] as const) {
    const { body } = await run(saved.id, { parameters: { a, b: "10000000000000001" } });
    expect(body.rows).toEqual([{ more: a.startsWith("1234"), type, top }]);
  }
  const long = await run(numbers.id, { parameters: { a: "1".repeat(40), b: 1 } });
  expect(faultsOf(long)).toEqual(["body.sql sql_error"]);
  const fixed = await save({ sql: "SELECT 1 AS x", parameters: {} });
  expect((await run(fixed.id, { parameters: null, limit: null })).body.rows).toEqual([{ x: 1 }]);
  // A value is never part of the SQL text.
  const text = await save({ sql: "SELECT $who AS who", parameters: { who: { type: "text" } } });
  const given = "x'; DROP TABLE raw.orders; --";
  expect((await run(text.id, { parameters: { who: given } })).body.rows).toEqual([{ who: given }]);
});

test("SQL gets each JSON number as a number, and each text as text", async () => {
  const post = (sql: string, parameters: string) =>
    app.owner("POST", "/api/v1/query", `{"sql":"${sql}","parameters":${parameters}}`, {
      "content-type": "application/json",
    });
  const types = "[typeof($a), typeof($b), typeof($c), typeof($d), typeof($e)] AS types";
  const reply = await post(
    `SELECT ${types}, $a > 10000000000000001 AS more, $d AS d, $f AS f`,
    `{"a":9007199254740993,"b":"9007199254740993","c":0.30000000000000000001,
      "d":[12345678901234567.89,2],"e":[9007199254740993,9007199254740995],"f":{"id":9007199254740993}}`,
  );
  expect(reply.body.rows).toEqual([
    {
      types: ["BIGINT", "VARCHAR", "DECIMAL(20,20)", "DECIMAL(19,2)[]", "BIGINT[]"],
      more: false,
      d: ["12345678901234567.89", "2.00"],
      f: '{"id":9007199254740993}',
    },
  ]);
  const long = await post("SELECT $a AS a", `{"a":${"1".repeat(40)}}`);
  expect([long.status, long.body.detail[0].msg]).toEqual([422, expect.stringContaining("38 digits")]);
});

test("a run reports parameters that are missing, unknown or of another type, and errors in the SQL", async () => {
  const { id } = await save();
  expect(faultsOf(await run(id))).toEqual(["body.parameters.least missing"]);
  expect(faultsOf(await run(id, { parameters: { least: 1, sinse: "2026-01-01" } }))).toEqual([
    "body.parameters.sinse extra_forbidden",
  ]);
  expect(faultsOf(await run(id, { parameters: { least: "many", since: "soon" } }))).toEqual([
    "body.parameters.since date_parsing",
    "body.parameters.least string_pattern_mismatch",
  ]);
  const broken = await save({ sql: "SELECT nothing FROM raw.orders", parameters: {} });
  const reply = await run(broken.id);
  expect(faultsOf(reply)).toEqual(["body.sql sql_error"]);
  expect(reply.body.detail[0].msg).toContain("nothing");
});

test("an invalid chart, name or default is rejected when it is saved", async () => {
  const post = async (more: object) => faultsOf(await app.owner("POST", QUERIES, { ...BY_DAY, ...more }));
  expect(await post({ chart: { kind: "bar", x: "day", colour: "red" } })).toEqual([
    "body.chart.colour extra_forbidden",
  ]);
  expect(await post({ chart: { mark: "bar", data: { url: "http://a.test" } } })).toContain(
    "body.chart.data value_error",
  );
  expect(await post({ parameters: { "no name": { type: "text" } } })).toEqual([
    "body.parameters.no name string_pattern_mismatch",
  ]);
  expect(await post({ parameters: { since: { type: "date", default: "soon" } } })).toEqual([
    "body.parameters.since.default date_parsing",
  ]);
  expect(await post({ parameters: { since: { type: "day" } } })).toEqual(["body.parameters.since.type enum"]);
  expect((await save({ chart: { mark: "bar", encoding: { x: { field: "day" } } } })).chart).toMatchObject({
    mark: "bar",
  });
});

test("viewers can run saved queries but not change them, and another organization's are invisible", async () => {
  const { id } = await save();
  const viewer = await join(app, "viewer");
  const reply = await viewer.call("POST", `${QUERIES}/${id}/run`, { parameters: { least: 0 } });
  expect([reply.status, reply.body.rowCount]).toEqual([200, 3]);
  expect((await viewer.call("POST", QUERIES, BY_DAY)).status).toBe(403);
  const other = await neighbour(app);
  expect((await other.call("GET", `${QUERIES}/${id}`)).status).toBe(404);
  expect((await other.call("POST", `${QUERIES}/${id}/run`)).status).toBe(404);
  expect((await other.call("GET", QUERIES)).body.total).toBe(0);
});
