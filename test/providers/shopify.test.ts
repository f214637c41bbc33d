import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { shopify } from "../../src/providers/shopify/shopify.ts";
import { type Asked, shopApp, startShopify, type TestShopify } from "../peers/shopify.ts";
import { pagesOf, request, rowsOf, toldLink } from "../support/extract.ts";
import { failure } from "../support/link.ts";
import { freePort } from "../support/postgres.ts";
import {
  customer,
  inventoryItem,
  LASTING,
  lineItem,
  location,
  many,
  minute,
  order,
  product,
  refund,
} from "../support/shopify.ts";

let peer: TestShopify;
beforeAll(async () => {
  peer = await startShopify({ maxQueryCost: 100_000 });
});
afterAll(async () => peer[Symbol.asyncDispose]());
const initial = () => ({ ...peer.state, without: new Set<string>() });
let fresh: ReturnType<typeof initial> | null = null;
beforeEach(() => {
  fresh ??= initial();
  Object.assign(peer.state, fresh, { without: new Set<string>() });
  peer.setPoints({ maximum: 100_000, restoreRate: 100_000 });
  for (const list of Object.values(peer.store)) list.length = 0;
  peer.asked.length = 0;
});

const to = (config: JsonObject = {}, token = peer.token) =>
  toldLink(
    { shopDomain: peer.shop, apiVersion: LASTING, baseUrl: peer.baseUrl, ...config },
    { accessToken: token },
  );
const numbers = (rows: JsonObject[]) => rows.map(({ id }) => id);
/** Sends these responses in order, then normal ones. */
const first = (...replies: ReturnType<typeof peer.state.instead>[]) => {
  peer.state.instead = () => replies.shift() ?? null;
};

describe("verify", () => {
  test("requests the shop and the token's scopes", async () => {
    await shopify.verify(to());
    expect(peer.asked.map(({ query }) => query)).toEqual([
      "{ shop { name myshopifyDomain plan { displayName } } }",
      "{ currentAppInstallation { accessScopes { handle } } }",
    ]);
  });

  test("distinguishes a wrong token, a wrong shop, a missing scope and throttling", async () => {
    const said = async (link: ReturnType<typeof to>) => (await failure(shopify.verify(link))).message;
    expect(await said(to({}, "shpat_wrong"))).toContain(`access token rejected by ${peer.shop} (401)`);
    expect(await said(to({ baseUrl: `${peer.baseUrl}/elsewhere` }))).toContain(
      `There is no shop ${peer.shop}`,
    );
    peer.state.scopes = ["read_themes"];
    expect(await said(to())).toContain("missing scope read_orders, read_customers");
    peer.state.scopes = fresh?.scopes ?? [];
    for (const [status, words] of [
      [301, "not the shop's own address"],
      [402, "frozen"],
      [403, `access token rejected by ${peer.shop} (403)`],
      [423, "locked"],
    ] as const) {
      first({ status, headers: { location: "https://elsewhere.example.com/" } });
      expect([status, await said(to())]).toEqual([status, expect.stringContaining(words)]);
    }
    peer.state.instead = () => ({ status: 429, headers: { "retry-after": "30" } });
    expect(await failure(shopify.verify(to()))).toMatchObject({
      code: "upstream",
      retryable: true,
      retryAfterSeconds: 30,
      message: expect.stringContaining("again in 30 s"),
    });
  });

  test("reports that nobody responds, that Shopify fails, and that something else responds, with few attempts", async () => {
    const nobody = to({ baseUrl: `http://127.0.0.1:${await freePort()}` });
    expect(await failure(shopify.verify(nobody))).toMatchObject({ code: "upstream", retryable: true });
    expect(nobody.clock.waits).toHaveLength(1);
    peer.state.instead = () => ({ status: 503 });
    expect((await failure(shopify.verify(to()))).message).toContain("busy or failing");
    peer.state.instead = () => ({ status: 200, body: "<html>Welcome</html>" });
    expect((await failure(shopify.verify(to()))).message).toContain("isn't Shopify's API");
  });

  test("treats the bare name of a shop as one of myshopify.com", async () => {
    const link = to({ shopDomain: "Acme" }, "shpat_wrong");
    expect((await failure(shopify.verify(link))).message).toContain("acme.myshopify.com");
  });
});

describe("an app of the Dev Dashboard", () => {
  const asApp = (credentials: Record<string, string> = shopApp, config: JsonObject = {}) =>
    toldLink({ shopDomain: peer.shop, apiVersion: LASTING, baseUrl: peer.baseUrl, ...config }, credentials);

  test("gets a token with its own credentials, and a new one after that has expired", async () => {
    const before = peer.issued();
    const link = asApp();
    await shopify.verify(link);
    expect(peer.issued()).toBe(before + 1);
    const now = Date.now() + 25 * 3_600_000;
    peer.state.now = () => now;
    peer.store.customers = [customer(1)];
    expect(await rowsOf(shopify, link, request("customers"))).toHaveLength(1);
    expect(peer.issued()).toBe(before + 2);
    peer.state.now = () => Date.now();
  });

  test("that Shopify doesn't know is reported as such", async () => {
    const wrong = asApp({ ...shopApp, clientSecret: "shpss_other" });
    expect((await failure(shopify.verify(wrong))).message).toContain("rejected clientId and clientSecret");
    expect((await failure(shopify.verify(asApp({})))).message).toContain(
      "accessToken, or clientId and clientSecret",
    );
  });

  test("warns about an API version that is about to expire", async () => {
    const link = asApp(shopApp, { apiVersion: "2024-01" });
    await shopify.verify(link);
    expect(link.warnings).toEqual([
      "Shopify ends version 2024-01 of its API about 2025-01-01. Set a later apiVersion.",
    ]);
  });
});

describe("schema", () => {
  test("has every resource as a table whose name is the spec", async () => {
    expect(await shopify.tables?.tables(to(), false)).toEqual(
      ["orders", "customers", "products", "inventory_items", "locations", "refunds"].map((name) => ({
        schema: "shopify",
        table: name,
        spec: name,
      })),
    );
    const columns = await shopify.tables?.columns(to(), "shopify", "orders");
    expect(columns?.slice(0, 4)).toEqual([
      { name: "id", dataType: "UnsignedInt64", nullable: false },
      { name: "admin_graphql_api_id", dataType: "ID", nullable: true },
      { name: "name", dataType: "String", nullable: true },
      { name: "email", dataType: "String", nullable: true },
    ]);
    for (const [schema, table] of [
      ["public", "orders"],
      ["shopify", "nothing"],
    ] as const) {
      const error = await failure(Promise.resolve(shopify.tables?.columns(to(), schema, table)));
      expect(error.code).toBe("not_found");
    }
  });

  test("names exactly the columns that arrive", async () => {
    peer.store.orders = [order(1, { refunds: [refund(1, 1)] })];
    peer.store.customers = [customer(1)];
    peer.store.products = [product(1)];
    peer.store.inventoryItems = [inventoryItem(1)];
    peer.store.locations = [location(1)];
    for (const { table } of (await shopify.tables?.tables(to(), false)) ?? []) {
      const columns = await shopify.tables?.columns(to(), "shopify", table);
      const [row] = await rowsOf(shopify, to(), request(table));
      expect([table, Object.keys(row ?? {}).sort()]).toEqual([
        table,
        (columns ?? []).map(({ name }) => name).sort(),
      ]);
    }
  });
});

describe("extract", () => {
  test("returns objects as in REST: IDs as numbers, lists for connections, money as text", async () => {
    peer.store.orders = [order(7, { updatedAt: minute(9) })];
    const [row] = await rowsOf(shopify, to(), request("orders"));
    expect(row).toMatchObject({
      id: 7,
      admin_graphql_api_id: "gid://shopify/Order/7",
      name: "#7",
      created_at: minute(7),
      updated_at: minute(9),
      closed_at: null,
      tags: [],
      total_price_set: { shop_money: { amount: "7.10", currency_code: "EUR" } },
      customer: { id: 0, admin_graphql_api_id: "gid://shopify/Customer/0" },
      billing_address: null,
      shipping_address: { city: "Graz", country_code_v2: "AT" },
    });
    expect(row?.line_items).toEqual([
      {
        id: 70,
        admin_graphql_api_id: "gid://shopify/LineItem/70",
        name: "Thing 70",
        title: "Thing 70",
        variant_title: null,
        sku: "T-70",
        vendor: "Acme",
        quantity: 1,
        current_quantity: 1,
        requires_shipping: true,
        taxable: true,
        product: { id: 1, admin_graphql_api_id: "gid://shopify/Product/1" },
        variant: { id: 1, admin_graphql_api_id: "gid://shopify/ProductVariant/1" },
        original_unit_price_set: { shop_money: money10, presentment_money: money10 },
        discounted_total_set: { shop_money: money10, presentment_money: money10 },
        total_discount_set: {
          shop_money: { amount: "0.00", currency_code: "EUR" },
          presentment_money: { amount: "0.00", currency_code: "EUR" },
        },
      },
    ]);
  });

  test("follows the cursors through all pages, each object once, by ID", async () => {
    peer.store.orders = many(130, (n) => order(131 - n));
    expect(numbers(await rowsOf(shopify, to(), request("orders")))).toEqual(many(130, (n) => n));
    expect(peer.of("orders")).toHaveLength(6);
    expect(peer.of("orders").map(({ variables }) => variables.first)).toEqual(many(6, () => 25));
  });

  test("requests only the needed columns", async () => {
    peer.store.orders = [order(1)];
    const [row] = await rowsOf(shopify, to(), request("orders", { columns: ["name", "customer.id"] }));
    expect(row).toEqual({
      id: 1,
      admin_graphql_api_id: "gid://shopify/Order/1",
      name: "#1",
      updated_at: minute(1),
      customer: { id: 1, admin_graphql_api_id: "gid://shopify/Customer/1" },
    });
    const query = peer.of("orders")[0]?.query ?? "";
    expect(query).toContain("nodes { id name updatedAt customer { id } }");
  });

  test("reads on if a list below an object doesn't end with its page", async () => {
    const items = many(45, (n) => lineItem(n));
    peer.store.orders = [
      order(1, { lineItems: items }),
      order(2, { lineItems: many(250, (n) => lineItem(n)) }),
      order(3),
    ];
    const rows = await rowsOf(shopify, to(), request("orders"));
    expect(rows.map(({ line_items }) => numbers(line_items as JsonObject[]))).toEqual([
      many(45, (n) => n),
      many(250, (n) => n),
      [30],
    ]);
    expect(peer.of("more")).toHaveLength(4);
  });

  test("returns refunds as separate rows, all of them, with their order", async () => {
    peer.store.orders = [
      order(1, { refunds: many(7, (n) => refund(n, n, n === 3 ? 25 : 1)) }),
      order(2),
      order(3, { refunds: [refund(30, 5)] }),
    ];
    const rows = await rowsOf(shopify, to(), request("refunds"));
    expect(rows.map(({ id, order_id, order_name }) => [id, order_id, order_name])).toEqual([
      ...many(7, (n) => [n, 1, "#1"]),
      [30, 3, "#3"],
    ]);
    expect(rows.map(({ refund_line_items }) => (refund_line_items as JsonObject[]).length)).toEqual([
      1, 1, 25, 1, 1, 1, 1, 1,
    ]);
    expect(rows[0]).toMatchObject({ total_refunded_set: { shop_money: { amount: "1.00" } } });
  });

  test("finds refunds of a range by the last change of their orders, whose end says nothing", async () => {
    peer.store.orders = [
      order(1, { updatedAt: minute(5), refunds: [refund(1, 5)] }),
      order(2, { updatedAt: minute(90), refunds: [refund(2, 20), refund(3, 90)] }),
    ];
    const range = { field: "created_at", from: minute(10), to: minute(30) };
    expect(numbers(await rowsOf(shopify, to(), request("refunds", { range })))).toEqual([2, 3]);
    expect(peer.of("refunds")[0]?.variables.query).toBe(`updated_at:>='${minute(10)}'`);
  });

  test("reads stock at all its levels, and closed locations too", async () => {
    peer.store.inventoryItems = [inventoryItem(1, 23), inventoryItem(2)];
    peer.store.locations = many(3, location);
    const [item] = await rowsOf(shopify, to(), request("inventory_items"));
    const levels = item?.inventory_levels as JsonObject[];
    expect(levels).toHaveLength(23);
    expect(levels[22]).toMatchObject({
      id: "gid://shopify/InventoryLevel/122?inventory_item_id=1",
      location: { id: 23 },
      quantities: [
        { name: "available", quantity: 22 },
        { name: "on_hand", quantity: 23 },
      ],
    });
    const locations = await rowsOf(shopify, to(), request("locations"));
    expect(locations.map(({ is_active }) => is_active)).toEqual([true, false, true]);
  });

  test("filters and sorts by a date of the range, to the second", async () => {
    peer.store.orders = many(60, (n) => order(n));
    const range = { field: "updated_at", from: "2026-05-01T00:10:00.250Z", to: "2026-05-01T00:20:00.250Z" };
    const rows = await rowsOf(shopify, to(), request("orders", { range }));
    expect(numbers(rows)).toEqual(many(11, (n) => n + 9));
    expect(peer.of("orders")[0]).toMatchObject({
      query: expect.stringContaining("sortKey: UPDATED_AT"),
      variables: { query: `updated_at:>='${minute(10)}' AND updated_at:<'2026-05-01T00:20:01Z'` },
    });
    const unsorted = { field: "updated_at", from: minute(3), to: null };
    peer.store.inventoryItems = many(5, (n) => inventoryItem(n));
    expect(await rowsOf(shopify, to(), request("inventory_items", { range: unsorted }))).toHaveLength(3);
    const whole = { field: "closed_at", from: minute(50), to: null };
    expect(await rowsOf(shopify, to(), request("orders", { range: whole }))).toHaveLength(60);
  });

  test("stops requesting when there are enough rows", async () => {
    peer.store.orders = many(200, (n) => order(n));
    expect((await rowsOf(shopify, to(), request("orders", { maxRows: 30 }))).length).toBe(50);
    expect(peer.of("orders")).toHaveLength(2);
    expect(await rowsOf(shopify, to(), request("orders", { maxRows: 3 }))).toHaveLength(3);
  });

  test("names what the definition asks for and Shopify lacks", async () => {
    const wrong = async (spec: string, more: object = {}) =>
      (await failure(rowsOf(shopify, to(), request(spec, more)))).code;
    expect(await wrong("gifts")).toBe("not_found");
    expect(await wrong("orders", { where: { sql: "1 = 1", parameters: [] } })).toBe("definition_invalid");
    expect(await wrong("orders", { columns: ["nope"] })).toBe("definition_invalid");
    expect(await wrong("orders", { range: { field: "nope", from: null, to: null } })).toBe(
      "cursor_field_missing",
    );
    expect(await wrong("orders", { range: { field: "updated_at", from: "x' OR id:>0", to: null } })).toBe(
      "definition_invalid",
    );
    expect(peer.asked).toHaveLength(0);
  });
});

const money10 = { amount: "10.10", currency_code: "EUR" };

describe("special cases", () => {
  test("an object at both sides of a page boundary is returned once, and one that changed as it is now", async () => {
    peer.store.orders = many(60, (n) => order(n));
    peer.state.isRepeating = true;
    expect(numbers(await rowsOf(shopify, to(), request("orders")))).toEqual(many(60, (n) => n));
    let changed = false;
    peer.state.afterPage = ({ name }) => {
      if (name !== "orders" || changed) return;
      changed = true;
      Object.assign(peer.store.orders?.[4] ?? {}, { updatedAt: minute(99), note: "changed" });
    };
    const range = { field: "updated_at", from: null, to: null };
    const rows = await rowsOf(shopify, to(), request("orders", { range }));
    expect(numbers(rows)).toEqual([...many(60, (n) => n), 5]);
    expect(rows.at(-1)).toMatchObject({ note: "changed", updated_at: minute(99) });
  });

  test("what changes during a list in ID order is returned too, each state once", async () => {
    const now = (seconds: number) => `2026-06-01T00:00:0${seconds}Z`;
    const range = { field: "updated_at", from: minute(1), to: null };
    for (const asked of [
      request("inventory_items", { range }),
      request("orders", { range: { ...range, field: "closed_at" } }),
    ]) {
      const isOrders = asked.spec === "orders";
      peer.store.orders = many(60, (n) => order(n));
      peer.store.inventoryItems = many(60, (n) => inventoryItem(n));
      const list = (isOrders ? peer.store.orders : peer.store.inventoryItems) ?? [];
      let pages = 0;
      peer.state.afterPage = () => {
        if (++pages === 1) Object.assign(list[2] ?? {}, { updatedAt: now(1), closedAt: now(1) });
        if (pages === 1) Object.assign(list[58] ?? {}, { updatedAt: now(2), closedAt: now(2) });
        if (pages === 4) Object.assign(list[1] ?? {}, { updatedAt: now(4), closedAt: now(4) });
      };
      const rows = await rowsOf(shopify, to(), { ...asked, batchSize: 25 });
      const states = rows.map(({ id, updated_at }) => `${id} ${updated_at}`);
      expect(new Set(states).size).toBe(states.length);
      for (const state of [`3 ${now(1)}`, `59 ${now(2)}`, `2 ${now(4)}`]) expect(states).toContain(state);
      expect(rows).toHaveLength(62);
      peer.state.afterPage = () => undefined;
    }
  });

  test("an expired cursor costs nothing: the list continues from its last row", async () => {
    for (const range of [null, { field: "updated_at", from: minute(2), to: null }]) {
      peer.store.orders = many(90, (n) => order(n, { updatedAt: minute(Math.ceil(n / 10) * 10) }));
      let pages = 0;
      peer.state.afterPage = ({ name }) => {
        if (name === "orders" && ++pages % 2 === 0) peer.state.epoch++;
      };
      const link = to();
      expect(numbers(await rowsOf(shopify, link, request("orders", { range })))).toEqual(many(90, (n) => n));
      expect(link.clock.waits).toEqual([]);
    }
  });

  test("nulls among the objects are left out, and reported", async () => {
    peer.store.orders = many(30, (n) => order(n));
    peer.state.nulls = 1;
    const link = to();
    expect(await rowsOf(shopify, link, request("orders"))).toHaveLength(30);
    expect(link.warnings).toEqual(["Shopify returned 1 objects as null. They were omitted."]);
  });

  test("a list that repeats the same page endlessly is rejected", async () => {
    peer.store.locations = many(3, location);
    const body = JSON.stringify({
      data: { locations: { nodes: [], pageInfo: { hasNextPage: true, endCursor: "x" } } },
    });
    peer.state.instead = () => ({ status: 200, body });
    const error = await failure(rowsOf(shopify, to(), request("locations")));
    expect(error).toMatchObject({ code: "upstream", retryable: false });
    expect(error.message).toContain("same next page twice");
  });

  test("a search that Shopify ignores is reported", async () => {
    const search = [
      { path: ["locations"], query: "x:1", warnings: [{ field: "x", message: "Invalid search field" }] },
    ];
    const data = { locations: { nodes: [], pageInfo: { hasNextPage: false } } };
    first({ status: 200, body: JSON.stringify({ data, extensions: { search } }) });
    const link = to();
    await rowsOf(shopify, link, request("locations"));
    expect(link.warnings).toEqual(['Shopify passed over a part of the search "x:1".']);
  });

  test("edges are read if a proxy returns them instead of nodes", async () => {
    const edges = [{ node: { id: "gid://shopify/Location/1", name: "One" }, cursor: "c" }, null];
    const body = JSON.stringify({ data: { locations: { edges, pageInfo: { hasNextPage: false } } } });
    first({ status: 200, body });
    expect(await rowsOf(shopify, to(), request("locations"))).toMatchObject([{ id: 1, name: "One" }]);
  });
});

describe("rate limits", () => {
  const throttledReply = (requested: number, available: number, restoreRate: number) => ({
    status: 200,
    body: JSON.stringify({
      errors: [{ message: "Throttled", extensions: { code: "THROTTLED" } }],
      extensions: {
        cost: {
          requestedQueryCost: requested,
          actualQueryCost: null,
          throttleStatus: { maximumAvailable: 2000, currentlyAvailable: available, restoreRate },
        },
      },
    }),
  });

  test("a throttled query waits until its points are available, as often as necessary", async () => {
    peer.store.locations = [location(1)];
    first(...many(9, () => throttledReply(500, 100, 100)));
    const link = to();
    const told: (string | null)[] = [];
    link.waits = (until) => told.push(until);
    expect(await rowsOf(shopify, link, request("locations"))).toHaveLength(1);
    expect(link.clock.waits).toEqual(many(9, () => 4_000));
    expect(told.slice(0, 2)).toEqual(["2026-06-01T00:00:04.000Z", null]);
  });

  test("queries keep within the points in the last response, and all runs of a connection share them", async () => {
    peer.store.locations = [location(1)];
    const link = to();
    await rowsOf(shopify, link, request("locations"));
    const { cost } = JSON.parse(throttledReply(1000, 0, 50).body).extensions;
    const data = { locations: { nodes: [], pageInfo: { hasNextPage: false } } };
    first({ status: 200, body: JSON.stringify({ data, extensions: { cost } }) });
    await rowsOf(shopify, link, request("locations"));
    expect(link.clock.waits).toEqual([]);
    await rowsOf(shopify, { ...link }, request("locations")); // Another run of the same connection.
    expect(link.clock.waits).toEqual([400]); // 20 points at 50 per second.
    const other = to();
    await rowsOf(shopify, other, request("locations"));
    expect(other.clock.waits).toEqual([]);
  });

  test("429 with Retry-After is waited for, and a very long wait ends the run for later", async () => {
    peer.store.locations = [location(1)];
    first({ status: 429, headers: { "retry-after": "7" } });
    const link = to();
    expect(await rowsOf(shopify, link, request("locations"))).toHaveLength(1);
    expect(link.clock.waits).toEqual([7_000]);
    first({ status: 429, headers: { "retry-after": "7200" } });
    expect(await failure(rowsOf(shopify, to(), request("locations")))).toMatchObject({
      code: "upstream",
      retryable: true,
      retryAfterSeconds: 7200,
    });
  });

  test("a query that is too expensive is requested in smaller pages", async () => {
    await using small = await startShopify({ maxQueryCost: 1_000 });
    small.store.orders = many(40, (n) => order(n));
    const link = toldLink(
      { shopDomain: small.shop, apiVersion: LASTING, baseUrl: small.baseUrl },
      { accessToken: small.token },
    );
    expect(numbers(await rowsOf(shopify, link, request("orders")))).toEqual(many(40, (n) => n));
    const sizes = small.of("orders").map(({ variables }) => Number(variables.first));
    expect(sizes).toEqual([25, 16, 16, 16]);
  });
});

describe("failures", () => {
  test("are retried if Shopify fails occasionally, and end the run if it doesn't stop", async () => {
    peer.store.locations = [location(1)];
    const internal = {
      errors: [{ message: "Internal error.", extensions: { code: "INTERNAL_SERVER_ERROR" } }],
    };
    first(
      { status: 502 },
      "cut",
      { status: 200, body: JSON.stringify(internal) },
      { status: 200, body: '{"da' },
    );
    const link = to();
    expect(await rowsOf(shopify, link, request("locations"))).toHaveLength(1);
    expect(link.clock.waits.map((ms) => Math.round(Math.log2(ms / 1_000)) + 0)).toEqual([0, 1, 2, 3]);
    peer.state.instead = () => ({ status: 503 });
    peer.asked.length = 0;
    expect(await failure(rowsOf(shopify, to(), request("locations")))).toMatchObject({
      code: "upstream",
      retryable: true,
    });
    expect(peer.asked).toHaveLength(5);
  });

  test("that no other attempt can fix are reported immediately", async () => {
    const refused = { errors: [{ message: "syntax error, unexpected end of file" }] };
    peer.state.instead = () => ({ status: 200, body: JSON.stringify(refused) });
    const error = await failure(rowsOf(shopify, to(), request("locations")));
    expect(error).toMatchObject({ code: "upstream", retryable: false });
    expect(error.message).toContain("syntax error, unexpected end of file");
    expect(peer.asked).toHaveLength(1);
  });

  test("a cancellation ends the paging, between pages and while a response is awaited", async () => {
    peer.store.orders = many(100, (n) => order(n));
    const stop = new AbortController();
    const link = { ...to(), signal: stop.signal };
    const pages = (await pagesOf(shopify, link, request("orders")))[Symbol.asyncIterator]();
    await pages.next();
    peer.state.instead = () => "silence";
    const next = pages.next();
    while (peer.of("orders").length < 2) await Bun.sleep(5);
    stop.abort(new Error("stopped here"));
    await expect(next).rejects.toThrow("stopped here");
    expect(peer.of("orders")).toHaveLength(2);
  });
});

describe("without permission", () => {
  test("a field becomes an empty column, and is reported once", async () => {
    peer.store.orders = many(30, (n) => order(n));
    peer.state.scopes = ["read_orders", "read_all_orders", "read_products"];
    const link = to();
    const rows = await rowsOf(shopify, link, request("orders"));
    expect(rows).toHaveLength(30);
    expect(rows.every(({ customer }) => customer == null)).toBe(true);
    expect(rows[0]?.line_items).toHaveLength(1);
    expect(link.warnings).toEqual([
      "This access token can't read customer: missing scope read_customers. The column stays empty.",
    ]);
    expect(peer.of("orders")[1]?.query).not.toContain("customer {");
  });

  test("a resource ends the run with the missing scope", async () => {
    peer.state.scopes = ["read_products"];
    for (const [spec, scope] of [
      ["orders", "read_orders"],
      ["refunds", "read_orders"],
      ["customers", "read_customers"],
      ["inventory_items", "read_inventory"],
      ["locations", "read_locations"],
    ] as const) {
      const error = await failure(rowsOf(shopify, to(), request(spec)));
      expect(error).toMatchObject({ code: "upstream", retryable: false, details: { missingScope: scope } });
      expect(error.message).toContain(`missing scope ${scope}`);
    }
  });

  test("orders of more than sixty days ago are reported if the token can't see them", async () => {
    peer.state.scopes = ["read_orders", "read_customers", "read_products"];
    const recent = to();
    const range = (from: string | null) => ({ field: "updated_at", from, to: null });
    await rowsOf(shopify, recent, request("orders", { range: range("2026-05-20T00:00:00Z") }));
    expect(recent.warnings).toEqual([]);
    for (const from of [null, "2026-01-01T00:00:00Z"]) {
      const link = to();
      await rowsOf(shopify, link, request("orders", { range: range(from) }));
      expect(link.warnings).toEqual([expect.stringContaining("read_all_orders")]);
    }
  });
});

describe("versions", () => {
  test("are requested by apiVersion", async () => {
    const versions: string[] = [];
    const link = to({ apiVersion: "2026-07" });
    link.warn = (text) => versions.push(text);
    await rowsOf(shopify, link, request("locations"));
    expect(versions).toEqual([]);
    peer.state.headers = { "x-shopify-api-version": "2027-01" };
    await rowsOf(shopify, link, request("locations"));
    expect(versions).toEqual([expect.stringMatching(/version 2027-01, .* supports 2026-07/)]);
  });

  test("that are deprecated are reported", async () => {
    peer.state.headers = { "x-shopify-api-deprecated-reason": "https://shopify.dev/changelog/x" };
    const link = to();
    await rowsOf(shopify, link, request("locations"));
    expect(link.warnings).toEqual([expect.stringContaining("https://shopify.dev/changelog/x")]);
  });

  test("without a field return the rest, and say so", async () => {
    peer.store.customers = [customer(1)];
    peer.state.without.add("Customer.verifiedEmail");
    const link = to();
    const [row] = await rowsOf(shopify, link, request("customers"));
    expect(row).toMatchObject({ id: 1, amount_spent: { amount: "12.30" }, number_of_orders: "3" });
    expect(link.warnings).toEqual([
      "This version of Shopify's API has no Customer.verifiedEmail. The column stays empty.",
    ]);
  });
});

test("only requests to the shop's own address have the token", async () => {
  const seen: Asked[] = [];
  peer.state.instead = (asked) => {
    seen.push(asked);
    return { status: 307, headers: { location: `${peer.baseUrl}/admin/api/2026-01/graphql.json` } };
  };
  await failure(rowsOf(shopify, to(), request("locations")));
  expect(seen).toHaveLength(1);
});
