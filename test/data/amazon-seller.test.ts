import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { sellerKeys, sellerOrder, startSeller } from "../peers/amazon-seller.ts";
import { CONNECTIONS, connect } from "../support/connections.ts";
import { deepTest } from "../support/scale.ts";
import { startData } from "./place.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
let seller: Awaited<ReturnType<typeof startSeller>>;
beforeAll(async () => {
  data = await startData({ hurry: 25 });
});
afterAll(() => data[Symbol.asyncDispose]());
beforeEach(async () => {
  seller = await startSeller();
  seller.state.rate = 20;
});
afterEach(() => seller[Symbol.asyncDispose]());

const open = async (name: string, config: object = {}) =>
  (
    await connect(data.owner, {
      name,
      provider: "amazon_seller",
      config: { ...seller.config, ...config },
      credentials: sellerKeys,
    })
  ).id as string;

const incremental = { cursorField: "lastUpdatedTime", initialValue: "2026-01-01T00:00:00Z" };

test("a seller is connected, verified, read incrementally, and queried", async () => {
  for (let n = 1; n <= 5; n++) seller.orders.push(sellerOrder(n, 2));
  seller.state.pageLimit = 2;
  const id = await open("Seller");
  const at = `${CONNECTIONS}/${id}`;
  expect((await data.owner("POST", `${at}/verify`)).body).toMatchObject({
    status: "active",
    verificationError: null,
  });
  const { tables } = (await data.owner("GET", `${at}/schema/tables`)).body;
  expect(tables).toContainEqual({ schema: "amazon_seller", table: "order_items", spec: "order_items" });

  const extract = await data.extract(id, {
    dataset: "seller",
    resources: [
      { name: "orders", primaryKey: ["orderId"], writeDisposition: "merge", incremental },
      { name: "order_items", primaryKey: ["orderItemId"], writeDisposition: "merge", incremental },
    ],
  });
  expect(await extract.result()).toMatchObject({ mode: "initial", warnings: [] });
  seller.orders[1] = sellerOrder(2, 1, { lastUpdatedTime: "2026-05-01T09:00:00Z" });
  seller.orders.push(sellerOrder(600));
  const second = await extract.result();
  const orders = second.tables.find(({ table }: { table: string }) => table === "orders");
  expect(orders).toMatchObject({
    rowsRead: 3,
    inserted: 1,
    updated: 1,
    deduplicated: 1,
    cursor: { end: "2026-05-01T10:00:00Z" },
  });
  expect(
    await data.rows("select count(*) as n, count(distinct order_id) as d from raw.seller__orders"),
  ).toEqual([{ n: 6, d: 6 }]);
  expect(
    await data.rows(
      "select order_item_id, product__seller_sku as sku from raw.seller__order_items where order_id like '%1' order by 1",
    ),
  ).toEqual([
    { order_item_id: "10", sku: "001" },
    { order_item_id: "11", sku: "001" },
  ]);
});

deepTest("a report is created and read with its zeros, and a quota only takes time", async () => {
  const type = "GET_MERCHANT_LISTINGS_ALL_DATA";
  seller.reports.set(type, {
    status: "DONE",
    content: "seller-sku\tprice\n007\t1.50\n008\t\n",
    isGzipped: true,
  });
  seller.state.burst = 2;
  const id = await open("Reports");
  const extract = await data.extract(id, {
    dataset: "listings",
    resources: [{ name: "listings", spec: `reports/${type}`, writeDisposition: "replace" }],
  });
  expect(await extract.result()).toMatchObject({ mode: "replace", rows: 2, warnings: [] });
  expect(await data.rows("select seller_sku, price from raw.listings order by 1")).toEqual([
    { seller_sku: "007", price: "1.50" },
    { seller_sku: "008", price: null },
  ]);
  seller.reports.set(type, { status: "CANCELLED" });
  const cancelled = await extract.result();
  expect(cancelled).toMatchObject({
    rows: 0,
    warnings: [expect.stringContaining("Amazon cancelled the report")],
  });
});

test("errors in a seller's credentials are reported", async () => {
  seller.state.isRevoked = true;
  const id = await open("Gone");
  expect((await data.owner("POST", `${CONNECTIONS}/${id}/verify`)).body).toMatchObject({
    status: "error",
    verificationError: expect.stringContaining("the refresh token: it has expired"),
  });
  const other = await open("Elsewhere", { marketplaceIds: ["A1VC38T7YXB528"] });
  expect((await data.owner("POST", `${CONNECTIONS}/${other}/verify`)).body).toMatchObject({
    status: "error",
    verificationError: expect.stringContaining("is in the region fe, not in na"),
  });
});
