import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { startShopify, type TestShopify } from "../peers/shopify.ts";
import { CONNECTIONS, connect } from "../support/connections.ts";
import { deepTest } from "../support/scale.ts";
import {
  customer,
  inventoryItem,
  lineItem,
  location,
  many,
  minute,
  money,
  order,
  product,
  refund,
  shopConnection,
} from "../support/shopify.ts";
import { RUNS, runEnd, until } from "../support/work.ts";
import { startData } from "./place.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
let peer: TestShopify;
beforeAll(async () => {
  data = await startData({ hurry: 20 });
});
afterAll(async () => data[Symbol.asyncDispose]());
beforeEach(async () => {
  peer = await startShopify();
  return () => peer[Symbol.asyncDispose]();
});

let count = 0;
/** A connection to the peer, and a dataset for it. */
async function open() {
  const name = `shop${++count}`;
  return { id: (await connect(data.owner, shopConnection(peer, {}, name))).id as string, dataset: name };
}

/** IDs and amounts of a table, in order. */
const stock = (dataset: string, table = "orders") =>
  data.rows(
    `select id, total_price_set__shop_money__amount as total from raw.${table === dataset ? dataset : `${dataset}__${table}`} order by id`,
  );

test("a shop is connected, verified, browsed, read completely and queried", async () => {
  peer.store.orders = [
    order(1, { lineItems: [lineItem(11), lineItem(12)], refunds: [refund(5, 30, 2)] }),
    order(2, { customer: null, totalPriceSet: money("1234567890123456.78") }),
  ];
  peer.store.customers = [customer(1)];
  peer.store.products = [product(1, 2)];
  peer.store.inventoryItems = [inventoryItem(1000, 2)];
  peer.store.locations = many(2, location);
  const { id, dataset } = await open();
  const at = `${CONNECTIONS}/${id}`;
  expect((await data.owner("POST", `${at}/verify`)).body).toMatchObject({
    status: "active",
    verificationError: null,
  });
  const { tables } = (await data.owner("GET", `${at}/schema/tables`)).body;
  expect(tables).toContainEqual({ schema: "shopify", table: "inventory_items", spec: "inventory_items" });
  const columns = (await data.owner("GET", `${at}/schema/columns?schema=shopify&table=customers`)).body;
  expect(columns.columns).toContainEqual({ name: "amount_spent", dataType: "MoneyV2", nullable: true });

  const resources = tables.map(({ spec }: { spec: string }) => ({ name: spec, primaryKey: ["id"] }));
  const extract = await data.extract(id, { dataset, resources });
  const result = await extract.result();
  expect(result).toMatchObject({ mode: "initial", warnings: [] });
  const counted = result.tables.map((each: { table: string; rowsRead: number; rows: number }) => [
    each.table,
    each.rowsRead,
    each.rows,
  ]);
  expect(counted).toEqual(
    expect.arrayContaining([
      ["orders", 2, 2],
      ["orders__line_items", 3, 3],
      ["customers", 1, 1],
      ["products", 1, 1],
      ["products__variants", 2, 2],
      ["inventory_items__inventory_levels", 2, 2],
      ["locations", 2, 2],
      ["refunds", 1, 1],
      ["refunds__refund_line_items", 2, 2],
    ]),
  );
  const joined = await data.rows(
    `select o.name, c.email, count(l.id) as lines, r.id as refund
     from raw.${dataset}__orders o
     join raw.${dataset}__orders__line_items l on l._dlt_parent_id = o._dlt_id
     left join raw.${dataset}__customers c on c.id = o.customer__id
     left join raw.${dataset}__refunds r on r.order_id = o.id
     group by all order by o.name`,
  );
  expect(joined).toEqual([
    { name: "#1", email: "c1@example.com", lines: 2, refund: 5 },
    { name: "#2", email: null, lines: 1, refund: null },
  ]);
  expect(await stock(dataset)).toEqual([
    { id: 1, total: "1.10" },
    { id: 2, total: "1234567890123456.78" },
  ]);
});

test("what is wrong with a connection is reported when it is verified", async () => {
  const verify = async (more: object) => {
    const { id } = await connect(data.owner, { ...shopConnection(peer, {}, `wrong ${++count}`), ...more });
    return (await data.owner("POST", `${CONNECTIONS}/${id}/verify`)).body;
  };
  expect(await verify({ credentials: { accessToken: "shpat_wrong_token" } })).toMatchObject({
    status: "error",
    verificationError: expect.stringContaining("access token rejected by acme.myshopify.com (401)"),
  });
  peer.state.scopes = [];
  expect((await verify({})).verificationError).toContain("missing scope");
  peer.state.instead = () => ({ status: 429, headers: { "retry-after": "20" } });
  expect((await verify({})).verificationError).toContain("again in 20 s");
});

deepTest(
  "only changes are loaded, rows at the boundary once, and a merge leaves one row for each",
  async () => {
    peer.store.orders = many(30, (n) => order(n));
    const { id, dataset } = await open();
    const incremental = { cursorField: "updated_at" };
    const resources = [
      { name: "orders", primaryKey: ["id"], writeDisposition: "merge", incremental },
      { name: "log", spec: "orders", primaryKey: ["id"], incremental },
    ];
    const extract = await data.extract(id, { dataset, resources });
    expect(await extract.result()).toMatchObject({ mode: "initial", warnings: [] });
    expect((await extract.state()).orders).toMatchObject({
      cursorField: "updated_at",
      lastValue: minute(30),
    });

    const again = await extract.result();
    expect(again.mode).toBe("incremental");
    const main = (result: { tables: { table: string }[] }) =>
      result.tables.find(({ table }) => table === "orders");
    expect(main(again)).toMatchObject({ rowsRead: 1, rows: 0, deduplicated: 1 });

    const [, second] = peer.store.orders;
    Object.assign(second ?? {}, {
      updatedAt: minute(40),
      totalPriceSet: money("99.99"),
      lineItems: [lineItem(1), lineItem(2)],
    });
    peer.store.orders.push(order(31, { updatedAt: minute(30) }), order(32, { updatedAt: minute(40) }));
    const third = await extract.result();
    expect(main(third)).toMatchObject({ rowsRead: 4, inserted: 2, updated: 1, deduplicated: 1 });
    expect(await stock(dataset)).toEqual(many(32, (n) => ({ id: n, total: n === 2 ? "99.99" : `${n}.10` })));
    expect(await data.rows(`select count(*) n, count(distinct id) ids from raw.${dataset}__log`)).toEqual([
      { n: 33, ids: 32 },
    ]);
    const lines = `select l.id from raw.${dataset}__orders__line_items l join raw.${dataset}__orders o
    on l._dlt_parent_id = o._dlt_id where o.id = 2 order by l.id`;
    expect(await data.rows(lines)).toEqual([{ id: 1 }, { id: 2 }]);
  },
);

deepTest(
  "repeated rows, expired cursors, throttling and temporary failures don't change what arrives",
  async () => {
    peer.store.orders = many(120, (n) => order(n, { updatedAt: minute(Math.ceil(n / 3)) }));
    peer.setPoints({ maximum: 1_000, restoreRate: 20_000 });
    peer.state.isRepeating = true;
    let asks = 0;
    peer.state.instead = ({ name }) => {
      if (name !== "orders") return null;
      asks++;
      return asks % 5 === 0 ? { status: 502 } : asks % 7 === 0 ? "cut" : null;
    };
    let pages = 0;
    peer.state.afterPage = ({ name }) => {
      if (name === "orders" && ++pages % 4 === 0) peer.state.epoch++;
    };
    const { id, dataset } = await open();
    const incremental = { cursorField: "updated_at" };
    const resources = [
      { name: "whole", spec: "orders", writeDisposition: "replace" },
      { name: "orders", primaryKey: ["id"], incremental },
    ];
    const extract = await data.extract(id, { dataset, resources });
    const result = await extract.result();
    expect(
      result.tables.filter(({ table }: { table: string }) => /^(orders|whole)$/.test(table)),
    ).toMatchObject([
      { table: "whole", rowsRead: 120, rows: 120 },
      { table: "orders", rowsRead: 120, rows: 120 },
    ]);
    for (const table of ["whole", "orders"]) {
      const rows = await data.rows(`select id from raw.${dataset}__${table} order by id`);
      expect(rows).toEqual(many(120, (n) => ({ id: n })));
    }
  },
);

deepTest(
  "a lasting failure fails the run, leaves nothing, and the next attempt loads everything",
  async () => {
    peer.store.orders = many(60, (n) => order(n));
    let broken = true;
    peer.state.instead = ({ name, variables }) =>
      broken && name === "orders" && variables.after ? { status: 503 } : null;
    const { id, dataset } = await open();
    const extract = await data.extract(id, { dataset, resources: [{ name: "orders" }] });
    expect(await extract.run()).toMatchObject({
      status: "failed",
      error: { code: "upstream", retryable: true },
    });
    expect(await data.sums("raw", dataset, "orders")).toBeNull();
    const run = await extract.start({ retry: { maxAttempts: 2, backoffSeconds: [60] } });
    await until(data.owner, `${RUNS}/${run.id}`, ({ status }) => status === "waiting");
    broken = false;
    data.app.clock.turn(61_000);
    expect(await runEnd(data.owner, run.id)).toMatchObject({ status: "completed", retryCount: 1 });
    expect(await data.sums("raw", dataset, "orders")).toMatchObject({ rows: 60 });
  },
);

test("a run that is cancelled within its pages stops requesting and leaves nothing", async () => {
  peer.store.orders = many(60, (n) => order(n));
  peer.state.instead = ({ name, variables }) => (name === "orders" && variables.after ? "silence" : null);
  const { id, dataset } = await open();
  const extract = await data.extract(id, {
    dataset,
    resources: [{ name: "orders", incremental: { cursorField: "updated_at" } }],
  });
  const run = await extract.start();
  while (!peer.of("orders").some(({ variables }) => variables.after)) await Bun.sleep(10);
  const asked = peer.asked.length;
  await data.owner("POST", `${RUNS}/${run.id}/cancel`);
  expect(await runEnd(data.owner, run.id)).toMatchObject({ status: "cancelled", result: null });
  expect(peer.asked).toHaveLength(asked);
  expect(await data.sums("raw", dataset, "orders")).toBeNull();
  expect(await extract.state()).toEqual({});
});

test("a large shop is loaded by a bulk operation, each object once, and later changes by pages", async () => {
  peer.store.customers = many(1_200, (n) => customer(n));
  const { id, dataset } = await open();
  const extract = await data.extract(id, {
    dataset,
    resources: [
      {
        name: "customers",
        primaryKey: ["id"],
        incremental: { cursorField: "updated_at" },
        columns: ["email", "numberOfOrders"],
      },
    ],
    batchSize: 250,
  });
  peer.bulk.state.cuts = [50];
  const run = await extract.run();
  expect(run).toMatchObject({ status: "completed", result: { rows: 1_200, warnings: [] } });
  expect(await data.logs(run.id)).toContainEqual(
    "customers: The rest of customers is read by a bulk operation of Shopify.",
  );
  const counted = `select count(*) n, count(distinct id) ids, max(id) as top from raw.${dataset}__customers`;
  expect(await data.rows(counted)).toEqual([{ n: 1_200, ids: 1_200, top: 1_200 }]);
  expect((await extract.state()).customers).toMatchObject({ lastValue: minute(1_200) });
  peer.store.customers.push(customer(1_201));
  expect(await extract.result()).toMatchObject({ rows: 1 });
  expect(peer.bulk.operations).toHaveLength(1);
});

deepTest("a bulk operation is resumed by the next run after its own was interrupted", async () => {
  peer.store.customers = many(1_200, (n) => customer(n));
  peer.bulk.state.looks = Number.POSITIVE_INFINITY;
  const { id, dataset } = await open();
  const extract = await data.extract(id, {
    dataset,
    resources: [{ name: "customers", columns: ["email"], writeDisposition: "replace" }],
    batchSize: 250,
  });
  const run = await extract.start();
  while (!peer.asked.some(({ name }) => name === "bulkOperation")) await Bun.sleep(10);
  await data.owner("POST", `${RUNS}/${run.id}/cancel`);
  expect((await runEnd(data.owner, run.id)).status).toBe("cancelled");
  peer.bulk.state.looks = 0;
  expect(await extract.result()).toMatchObject({ rows: 1_200 });
  expect(peer.bulk.operations).toHaveLength(1);
  expect(await extract.result()).toMatchObject({ rows: 1_200 });
  expect(peer.bulk.operations).toHaveLength(2);
});

deepTest(
  "a forbidden field is a warning of the run; a forbidden resource ends it and empties no table",
  async () => {
    peer.store.orders = many(3, (n) => order(n));
    peer.store.locations = [location(1)];
    const { id, dataset } = await open();
    const resources = [{ name: "orders", writeDisposition: "replace" }];
    const extract = await data.extract(id, { dataset, resources });
    await extract.result();
    peer.state.scopes = ["read_orders", "read_products"];
    const run = await extract.run();
    expect(run).toMatchObject({
      status: "completed",
      result: {
        warnings: [
          expect.stringContaining("orders: This access token lacks the scope read_all_orders"),
          expect.stringContaining(
            "orders: This access token can't read customer: missing scope read_customers",
          ),
        ],
      },
    });
    expect((await data.logs(run.id)).join("\n")).toContain("missing scope read_customers");
    peer.state.scopes = ["read_products"];
    const refused = await extract.run();
    expect(refused).toMatchObject({ status: "failed", error: { code: "upstream", retryable: false } });
    expect(refused.error.message).toContain("missing scope read_orders");
    expect(await data.sums("raw", dataset, "orders")).toMatchObject({ rows: 3 });
    expect(JSON.stringify([run, refused, await data.logs(refused.id)])).not.toContain(peer.token);
  },
);

test("a preview reads a page and writes nothing", async () => {
  peer.store.orders = many(60, (n) => order(n));
  const { id, dataset } = await open();
  const extract = await data.extract(id, {
    dataset,
    resources: [{ name: "orders" }],
    maxRows: 5,
    dryRun: true,
  });
  const { tables } = await extract.result();
  expect(tables[0]).toMatchObject({ table: "orders", rows: 5 });
  expect(tables[0].sample).toHaveLength(5);
  expect(peer.of("orders")).toHaveLength(1);
  expect(await data.sums("raw", dataset, "orders")).toBeNull();
});
