import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Context, contextFor } from "../../src/context.ts";
import { findCursor } from "../../src/resources/datasets/cursors.ts";
import { startApp } from "../support/app.ts";
import { loadTable } from "../support/lake.ts";
import { join as enrol } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";

type Running = Awaited<ReturnType<typeof startApp>>;

const contextOf = (weir: Running, organizationId = weir.ids.organizationId): Context =>
  contextFor(weir.app, {
    organizationId,
    role: "member",
    actor: { type: "user", id: weir.ids.userId },
    correlationId: "test-chain",
  });

let weir: Running;
beforeAll(async () => {
  weir = await startApp({ engine: false });
  const ctx = contextOf(weir);
  await loadTable(ctx, {
    layer: "raw",
    dataset: "shop",
    table: "orders",
    select: "SELECT i AS id, i * 1.5::DECIMAL(9,2) AS amount FROM range(5) t(i) ORDER BY i",
  });
  await loadTable(ctx, { layer: "raw", dataset: "shop", table: "customers", select: "SELECT 'Ada' AS name" });
  await loadTable(ctx, { layer: "marts", dataset: "sales", table: "sales", select: "SELECT 42 AS total" });
  await loadTable(ctx, { layer: "raw", dataset: "a_b", table: "single", select: "SELECT 1 AS x" });
});
afterAll(() => weir[Symbol.asyncDispose]());

describe("the list of datasets", () => {
  test("groups tables by dataset, with their columns and sizes", async () => {
    const { status, body } = await weir.owner("GET", "/api/v1/datasets");
    expect(status).toBe(200);
    expect(body).toMatchObject({ hasNext: false, limit: 50, offset: 0, total: 3 });
    expect(body.datasets.map((d: { layer: string; dataset: string }) => `${d.layer}.${d.dataset}`)).toEqual([
      "marts.sales",
      "raw.a_b",
      "raw.shop",
    ]);
    expect(body.datasets[2]).toEqual({
      layer: "raw",
      dataset: "shop",
      tables: [
        {
          name: "customers",
          rows: 1,
          bytes: expect.any(Number),
          files: 1,
          columns: [{ name: "name", dataType: "VARCHAR", nullable: true }],
        },
        {
          name: "orders",
          rows: 5,
          bytes: expect.any(Number),
          files: 1,
          columns: [
            { name: "id", dataType: "BIGINT", nullable: true },
            { name: "amount", dataType: expect.stringContaining("DECIMAL"), nullable: true },
          ],
        },
      ],
      updatedAt: expect.stringMatching(/Z$/),
    });
  });

  test.each([
    ["layer=marts", ["sales"]],
    ["q=SHO", ["shop"]],
    ["q=customers", ["shop"]],
    ["q=a_b", ["a_b"]],
    ["q=%25", []],
    ["layer=staging", []],
  ])("filters by %s", async (query, names) => {
    const { body } = await weir.owner("GET", `/api/v1/datasets?${query}`);
    expect(body.datasets.map((d: { dataset: string }) => d.dataset)).toEqual(names);
    expect(body.total).toBe(names.length);
  });

  test("pages", async () => {
    const { body } = await weir.owner("GET", "/api/v1/datasets?limit=2&offset=1");
    expect(body).toMatchObject({ hasNext: false, limit: 2, offset: 1, total: 3 });
    expect(body.datasets.map((d: { dataset: string }) => d.dataset)).toEqual(["a_b", "shop"]);
    expect((await weir.owner("GET", "/api/v1/datasets?limit=2")).body.hasNext).toBe(true);
  });
});

describe("a preview", () => {
  const preview = (path: string) => weir.owner("GET", `/api/v1/datasets/${path}`);

  test("shows the table with the dataset's name, or the only one", async () => {
    expect((await preview("marts/sales/preview")).body).toEqual({
      columns: [{ name: "total", dataType: "INTEGER", nullable: true }],
      rows: [{ total: 42 }],
    });
    expect((await preview("raw/a_b/preview")).body.rows).toEqual([{ x: 1 }]);
  });

  test("shows at most the requested number of rows, of the named table", async () => {
    const { body } = await preview("raw/shop/preview?table=orders&limit=2");
    expect(body.rows).toEqual(
      [
        { id: 0, amount: "0.00" },
        { id: 1, amount: "1.50" },
      ].map((row) => ({ ...row, amount: expect.stringMatching(/^\d+\.\d+$/) })),
    );
  });

  test("requires a name if there are several tables", async () => {
    const { status, body } = await preview("raw/shop/preview");
    expect(status).toBe(422);
    expect(body.detail).toEqual([
      { loc: ["query", "table"], msg: expect.stringContaining("customers, orders"), type: "missing" },
    ]);
  });

  test("is 404 for an unknown dataset or table, and 422 for an invalid name", async () => {
    expect((await preview("raw/nothing/preview")).status).toBe(404);
    expect((await preview("raw/shop/preview?table=nothing")).status).toBe(404);
    expect((await preview("raw/..%2f..%2fetc/preview")).status).toBe(422);
    expect((await preview("raw/shop/preview?limit=1001")).status).toBe(422);
  });
});

test("deleting a dataset hides its tables, is recorded, and keeps cursors and, for a while, files", async () => {
  await using own = await startApp({ engine: false });
  const ctx = contextOf(own);
  const cursor = { cursorField: "id", lastValue: 5, boundary: [] };
  const path = await loadTable(ctx, {
    layer: "raw",
    dataset: "shop",
    table: "orders",
    select: "SELECT 1 AS id",
    cursors: { orders: cursor },
    ownerId: "the-action",
  });
  await loadTable(ctx, { layer: "raw", dataset: "shop2", table: "orders", select: "SELECT 1 AS id" });

  expect((await own.owner("DELETE", "/api/v1/datasets/raw/shop")).status).toBe(204);
  expect((await own.owner("GET", "/api/v1/datasets")).body.datasets).toMatchObject([{ dataset: "shop2" }]);
  const asked = await own.owner("POST", "/api/v1/query", { sql: "SELECT * FROM raw.shop__orders" });
  expect(asked.status).toBe(422);
  expect(await findCursor(ctx, "the-action", "orders")).toEqual(cursor);
  expect(existsSync(join(own.dataFolder, "lake", path))).toBe(true);
  const { items } = (await own.owner("GET", "/api/v1/events?type=dataset.deleted")).body;
  expect(items).toMatchObject([
    {
      entity: { type: "dataset", id: "raw.shop" },
      data: { layer: "raw", dataset: "shop", tables: ["orders"], rows: 1 },
    },
  ]);
  expect((await own.owner("DELETE", "/api/v1/datasets/raw/shop")).status).toBe(404);

  await loadTable(ctx, { layer: "raw", dataset: "shop", table: "orders", select: "SELECT 7 AS id" });
  expect((await own.owner("GET", "/api/v1/datasets/raw/shop/preview")).body.rows).toEqual([{ id: 7 }]);
});

describe("SQL over the lake", () => {
  const query = (body: object) => weir.owner("POST", "/api/v1/query", body);

  test.each([[{}], [{ parameters: null }], [{ parameters: null, limit: null }]])(
    "null means the same as an omitted field: %j",
    async (more) => {
      const { status, body } = await query({ sql: "SELECT 1 AS x", ...more });
      expect([status, body.rows]).toEqual([200, [{ x: 1 }]]);
    },
  );

  test("responds with columns and rows", async () => {
    const { status, body } = await query({
      sql: "SELECT name, (SELECT count(*) FROM raw.shop__orders WHERE id >= $least) AS orders FROM raw.shop__customers",
      parameters: { least: 2 },
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      columns: [
        { name: "name", dataType: "VARCHAR", nullable: true },
        { name: "orders", dataType: "BIGINT", nullable: true },
      ],
      rows: [{ name: "Ada", orders: 3 }],
      rowCount: 1,
      truncated: false,
      durationSeconds: expect.any(Number),
    });
  });

  test("stops at the limit and says so", async () => {
    const { body } = await query({ sql: "SELECT * FROM range(10)", limit: 3 });
    expect(body).toMatchObject({ rowCount: 3, truncated: true });
    expect((await query({ sql: "SELECT * FROM range(1001)" })).body).toMatchObject({
      rowCount: 1000,
      truncated: true,
    });
  });

  deepTest("reports an error in DuckDB's own words", async () => {
    const { status, body } = await query({ sql: "SELECT nome FROM raw.shop__customers" });
    expect(status).toBe(422);
    expect(body.detail).toEqual([
      { loc: ["body", "sql"], msg: expect.stringContaining("nome"), type: "sql_error" },
    ]);
  });

  test.each([
    [{}, ["body", "sql"]],
    [{ sql: "" }, ["body", "sql"]],
    [{ sql: "SELECT 1", limit: 10_001 }, ["body", "limit"]],
    [{ sql: "SELECT 1", parameters: [] }, ["body", "parameters"]],
    [{ sql: "SELECT 1", dialect: "mysql" }, ["body", "dialect"]],
  ])("rejects %j", async (body, loc) => {
    const reply = await query(body);
    expect(reply.status).toBe(422);
    expect(reply.body.detail[0].loc).toEqual(loc);
  });

  test("never writes: what a statement creates is gone with it", async () => {
    const made = await query({ sql: "CREATE TABLE mine AS SELECT 1 AS x; SELECT * FROM mine" });
    expect([made.status, made.body.rows]).toEqual([200, [{ x: 1 }]]);
    expect((await query({ sql: "SELECT * FROM mine" })).status).toBe(422);
    await query({ sql: "DELETE FROM raw.shop__customers; SELECT 1" });
    expect((await query({ sql: "SELECT name FROM raw.shop__customers" })).body.rows).toEqual([
      { name: "Ada" },
    ]);
  });

  test("ends when the client disconnects", async () => {
    const gone = new AbortController();
    const endless = { sql: "SELECT count(*) FROM range(1000000000000) a, range(1000000) b" };
    const asked = [1, 2, 3, 4].map(() =>
      fetch(`${weir.origin}/api/v1/query`, {
        method: "POST",
        headers: { authorization: `Bearer ${weir.token}`, "content-type": "application/json" },
        body: JSON.stringify(endless),
        signal: gone.signal,
      }).then(
        () => "answered",
        () => "gone",
      ),
    );
    const waiting = query({ sql: "SELECT 1 AS x" }); // All slots are taken until the endless ones end.
    await Bun.sleep(300);
    gone.abort();
    expect(await Promise.all(asked)).toEqual(["gone", "gone", "gone", "gone"]);
    expect((await waiting).body.rows).toEqual([{ x: 1 }]);
  });

  test("sees only the tables of its own organization", async () => {
    const { body: beta } = await weir.owner("POST", "/api/v1/organizations", { name: "Beta" });
    const inBeta = { "x-organization-id": beta.id };
    const asked = await weir.owner(
      "POST",
      "/api/v1/query",
      { sql: "SELECT * FROM raw.shop__customers" },
      inBeta,
    );
    expect(asked.status).toBe(422);
    expect((await weir.owner("GET", "/api/v1/datasets", undefined, inBeta)).body.total).toBe(0);
    expect((await weir.owner("GET", "/api/v1/datasets/marts/sales/preview", undefined, inBeta)).status).toBe(
      404,
    );
    expect((await weir.owner("DELETE", "/api/v1/datasets/marts/sales", undefined, inBeta)).status).toBe(404);
  });
});

test("viewers can read and query, but not delete", async () => {
  const { call: viewer } = await enrol(weir, "viewer");
  expect((await viewer("GET", "/api/v1/datasets")).status).toBe(200);
  expect((await viewer("POST", "/api/v1/query", { sql: "SELECT 1 AS x" })).status).toBe(200);
  expect((await viewer("DELETE", "/api/v1/datasets/marts/sales")).status).toBe(403);
  expect((await weir.anonymous("GET", "/api/v1/datasets")).status).toBe(401);
});
