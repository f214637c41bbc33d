import { describe, expect, test } from "bun:test";
import { amazonSeller } from "../../src/providers/amazon-seller/amazon-seller.ts";
import type { Extraction, Link } from "../../src/providers/contract.ts";
import { sellerKeys, sellerOrder, startSeller } from "../peers/amazon-seller.ts";
import { request, rowsOf, toldLink } from "../support/extract.ts";
import { failure, textOf } from "../support/link.ts";
import { freePort } from "../support/postgres.ts";

type Seller = Awaited<ReturnType<typeof startSeller>>;

const linkTo = (seller: Seller, config: object = {}, overrides: Partial<Link> = {}) =>
  toldLink({ ...seller.config, ...config }, sellerKeys, overrides);

const rows = (link: Link, spec: string, more: object = {}) => rowsOf(amazonSeller, link, request(spec, more));
const since = (field: string, from: string | null, to: string | null = null) => ({
  range: { field, from, to },
});
const calls = (seller: Seller, path: string) => seller.asked.filter((each) => each.path === path);

describe("verify", () => {
  test("requests a token and the seller's marketplaces", async () => {
    await using seller = await startSeller();
    await amazonSeller.verify(linkTo(seller));
    expect(seller.asked.map(({ path }) => path)).toEqual([
      "/auth/o2/token",
      "/sellers/v1/marketplaceParticipations",
    ]);
    expect(seller.asked[1]?.headers["x-amz-access-token"]).toStartWith("Atza|1-");
  });

  test("distinguishes errors", async () => {
    await using seller = await startSeller();
    const message = async (config: object, credentials: object = {}) =>
      (
        await failure(
          amazonSeller.verify(toldLink({ ...seller.config, ...config }, { ...sellerKeys, ...credentials })),
        )
      ).message;
    expect(await message({}, { clientSecret: "other" })).toContain("rejected clientId and clientSecret");
    expect(await message({}, { refreshToken: "old" })).toContain(
      "has expired or the seller revoked the app's access",
    );
    expect(await message({ marketplaceIds: ["A1PA6795UKMFR9"] })).toBe(
      "The marketplace A1PA6795UKMFR9 is in the region eu, not in na. Create a connection for each region.",
    );
    expect(await message({ marketplaceIds: ["ATVPDKIKX0DER", "A1AM78C64UM0Y8"] })).toBe(
      "The seller takes no part in A1AM78C64UM0Y8; it does in ATVPDKIKX0DER.",
    );
    seller.state.denied = ["/sellers"];
    expect(await message({})).toContain(
      "aren't allowed to call getMarketplaceParticipations: the app lacks a role",
    );
    const base = `http://127.0.0.1:${await freePort()}`;
    const error = await failure(amazonSeller.verify(linkTo(seller, { baseUrl: base })));
    expect(error).toMatchObject({ code: "upstream", retryable: true });
  });

  test("gets a new token only if Amazon rejects the stored one", async () => {
    await using seller = await startSeller();
    seller.orders.push(sellerOrder(1));
    let kept: string | null = "Atza|of-yesterday";
    const tokens = {
      read: async () => kept,
      async keep(token: string) {
        kept = token;
      },
    };
    expect(await rows(linkTo(seller, {}, { tokens }), "orders")).toHaveLength(1);
    expect(kept).toStartWith("Atza|1-");
    expect(await rows(linkTo(seller, {}, { tokens }), "orders")).toHaveLength(1);
    expect(seller.state.issued).toBe(1);
  });
});

describe("resources", () => {
  test("are listed with what an extract accepts, and with their columns", async () => {
    await using seller = await startSeller();
    const link = linkTo(seller);
    expect(await amazonSeller.tables?.tables(link, false)).toEqual(
      ["inventory", "order_items", "orders", "reports"].map((table) => ({
        schema: "amazon_seller",
        table,
        spec: table,
      })),
    );
    const columns = await amazonSeller.tables?.columns(link, "amazon_seller", "orders");
    expect(columns?.slice(0, 3)).toEqual([
      { name: "orderId", dataType: "string", nullable: false },
      { name: "orderAliases", dataType: "array", nullable: true },
      { name: "createdTime", dataType: "datetime", nullable: false },
    ]);
    const old = await amazonSeller.tables?.columns(
      linkTo(seller, { apiVersion: "v0" }),
      "amazon_seller",
      "orders",
    );
    expect(old?.[0]?.name).toBe("AmazonOrderId");
    expect(
      (await failure(amazonSeller.tables?.columns(link, "amazon_seller", "x") ?? Promise.resolve())).code,
    ).toBe("not_found");
    expect((await failure(rows(link, "refunds"))).code).toBe("not_found");
    expect((await failure(rows(link, "orders", { where: { sql: "1", parameters: [] } }))).code).toBe(
      "definition_invalid",
    );
  });
});

describe("orders", () => {
  test("are read page by page, up to two minutes ago, without personal data", async () => {
    await using seller = await startSeller();
    for (let n = 1; n <= 25; n++) seller.orders.push(sellerOrder(n));
    seller.orders.push(sellerOrder(99, 1, { lastUpdatedTime: "2026-05-31T23:59:00Z" }));
    seller.state.pageLimit = 10;
    const found = await rows(linkTo(seller), "orders");
    expect(found.map(({ orderId }) => orderId)).toEqual(
      seller.orders.slice(0, 25).map(({ orderId }) => orderId) as never,
    );
    expect(found[0]).not.toHaveProperty("buyer");
    const [first, second] = calls(seller, "/orders/2026-01-01/orders");
    expect(first?.query.get("lastUpdatedBefore")).toBe("2026-05-31T23:58:00.000Z");
    expect(first?.query.get("lastUpdatedAfter")).toBe("2024-06-02T00:00:00.000Z");
    expect(first?.query.get("marketplaceIds")).toBe("ATVPDKIKX0DER");
    expect(second?.query.get("paginationToken")).not.toBeNull();
  });

  test("are read by the time of update or of creation, from the cursor on", async () => {
    await using seller = await startSeller();
    for (let n = 1; n <= 5; n++) seller.orders.push(sellerOrder(n));
    const ids = async (more: object) =>
      (await rows(linkTo(seller), "orders", more)).map(({ orderId }) => String(orderId).slice(-1));
    expect(await ids(since("lastUpdatedTime", "2026-05-01T00:03:00Z"))).toEqual(["3", "4", "5"]);
    expect(await ids(since("createdTime", "2026-05-01T00:02:00Z", "2026-05-01T00:04:00Z"))).toEqual([
      "2",
      "3",
      "4",
    ]);
    expect(await ids(since("lastUpdatedTime", "2026-05-31T23:59:00Z"))).toEqual([]);
    expect((await failure(rows(linkTo(seller), "orders", since("orderId", null)))).message).toContain(
      "orders can be read by lastUpdatedTime or createdTime",
    );
    expect((await failure(rows(linkTo(seller), "orders", since("lastUpdatedTime", "soon")))).code).toBe(
      "definition_invalid",
    );
  });

  test("have personal data on request; if Amazon leaves it out, that is reported and costs no order", async () => {
    await using seller = await startSeller();
    seller.orders.push(sellerOrder(1), sellerOrder(2));
    const without = linkTo(seller, { includePii: true });
    expect(await rows(without, "orders")).toHaveLength(2);
    expect(without.warnings).toEqual([expect.stringContaining("restricted_data_absent")]);
    seller.state.mayReadPersons = true;
    const link = linkTo(seller, { includePii: true });
    expect((await rows(link, "orders"))[0]).toMatchObject({ buyer: { buyerName: "Person 1" } });
    expect(link.warnings).toEqual([]);
  });

  test("return their items, each with its order", async () => {
    await using seller = await startSeller();
    seller.orders.push(sellerOrder(1, 2), sellerOrder(2, 0), sellerOrder(3, 1));
    const items = await rows(linkTo(seller), "order_items");
    expect(items).toHaveLength(3);
    expect(items[1]).toEqual({
      orderId: "111-0000000-0000001",
      lastUpdatedTime: "2026-05-01T00:01:00Z",
      orderItemId: "11",
      quantityOrdered: 2,
      product: { asin: "B01", sellerSku: "001" },
    });
  });

  test("of version v0 have a warning, and their items are read order by order", async () => {
    await using seller = await startSeller();
    seller.orders.push(sellerOrder(1, 3), sellerOrder(2, 1));
    seller.state.pageLimit = 1;
    const link = linkTo(seller, { apiVersion: "v0" });
    expect((await rows(link, "orders")).map(({ AmazonOrderId }) => AmazonOrderId)).toHaveLength(2);
    expect(link.warnings).toEqual([expect.stringContaining("27 March 2027")]);
    const items = await rows(linkTo(seller, { apiVersion: "v0" }), "order_items");
    expect(
      items.map(({ AmazonOrderId, OrderItemId }) => `${String(AmazonOrderId).slice(-1)} ${OrderItemId}`),
    ).toEqual(["1 10", "1 11", "1 12", "2 20"]);
  });

  test("whose page token has expired end the work as retryable", async () => {
    await using seller = await startSeller();
    seller.orders.push(sellerOrder(1), sellerOrder(2));
    seller.state.pageLimit = 1;
    seller.state.instead = ({ query }) => {
      if (query.has("paginationToken")) seller.state.epoch++;
      return null;
    };
    expect(await failure(rows(linkTo(seller), "orders"))).toMatchObject({
      code: "upstream",
      retryable: true,
    });
  });
});

describe("quotas", () => {
  test("are waited for at the rate in the header, each operation separately", async () => {
    await using seller = await startSeller();
    for (let n = 1; n <= 6; n++) seller.orders.push(sellerOrder(n));
    seller.state.pageLimit = 1;
    seller.state.burst = 4;
    seller.state.rate = 0.25;
    const told: (string | null)[] = [];
    const link = linkTo(seller, {}, { waits: (until) => void told.push(until) });
    expect(await rows(link, "orders")).toHaveLength(6);
    expect(link.clock.waits).toEqual([4_000]);
    expect(told).toEqual(["2026-06-01T00:00:04.000Z", null]);
    expect(await rows(link, "inventory")).toEqual([]);
    expect(link.clock.waits).toHaveLength(1);
  });

  test("are kept by waiting before Amazon objects, and shared by the runs of a connection", async () => {
    await using seller = await startSeller();
    for (let n = 1; n <= 14; n++) seller.orders.push(sellerOrder(n));
    seller.state.pageLimit = 1;
    seller.state.rate = 0.1;
    const connectionId = crypto.randomUUID();
    const link = linkTo(seller, {}, { connectionId });
    await rows(link, "orders");
    expect(link.clock.waits).toEqual([]);
    await rows(link, "orders");
    expect(link.clock.waits).toHaveLength(8);
    expect(link.clock.waits[7]).toBeCloseTo(10_000, -2);
    expect(calls(seller, "/orders/2026-01-01/orders")).toHaveLength(28);
  });

  test("a broken gateway and a closed connection are retried; a missing role isn't", async () => {
    await using seller = await startSeller();
    seller.orders.push(sellerOrder(1));
    let bad = 2;
    seller.state.instead = ({ path }) =>
      path.startsWith("/orders") && bad-- > 0 ? (bad === 1 ? "cut" : { status: 502, body: "<html>" }) : null;
    expect(await rows(linkTo(seller), "orders")).toHaveLength(1);
    seller.state.denied = ["/orders"];
    const before = seller.asked.length;
    expect((await failure(rows(linkTo(seller), "orders"))).message).toContain(
      "aren't allowed to call searchOrders",
    );
    expect(seller.asked.length - before).toBe(2);
  });
});

describe("inventory", () => {
  test("is read for each marketplace, only changed rows if there is a cursor", async () => {
    await using seller = await startSeller();
    const [us, ca] = ["ATVPDKIKX0DER", "A2EUQ1WTGCTBG2"];
    for (let n = 1; n <= 3; n++) {
      seller.inventory.push({
        marketplace: us,
        sellerSku: `00${n}`,
        totalQuantity: n,
        lastUpdatedTime: `2026-05-0${n}T00:00:00Z`,
      });
    }
    seller.inventory.push({
      marketplace: ca,
      sellerSku: "001",
      totalQuantity: 9,
      lastUpdatedTime: "2026-05-01T00:00:00Z",
    });
    seller.state.pageLimit = 2;
    const link = linkTo(seller, { marketplaceIds: [us, ca] });
    const found = await rows(link, "inventory");
    expect(found.map(({ marketplaceId, sellerSku }) => `${marketplaceId} ${sellerSku}`)).toEqual([
      `${us} 001`,
      `${us} 002`,
      `${us} 003`,
      `${ca} 001`,
    ]);
    expect(await rows(link, "inventory", since("lastUpdatedTime", "2026-05-03T00:00:00Z"))).toHaveLength(1);
  });

  test("that changes in a marketplace or on a page that was read is read too", async () => {
    await using seller = await startSeller();
    const [us, ca] = ["ATVPDKIKX0DER", "A2EUQ1WTGCTBG2"];
    const stock = (marketplace: string, sellerSku: string) => {
      const row = { marketplace, sellerSku, totalQuantity: 1, lastUpdatedTime: "2026-05-01T00:00:00Z" };
      seller.inventory.push(row);
      return row;
    };
    const [first, , , last] = [stock(us, "001"), stock(us, "002"), stock(us, "003"), stock(ca, "001")];
    seller.state.pageLimit = 2;
    let pages = 0;
    seller.state.instead = ({ path }) => {
      if (path !== "/fba/inventory/v1/summaries" || ++pages !== 2) return null;
      Object.assign(first ?? {}, { totalQuantity: 0, lastUpdatedTime: "2026-06-01T00:00:01Z" });
      Object.assign(last ?? {}, { totalQuantity: 0, lastUpdatedTime: "2026-06-01T00:00:02Z" });
      return null;
    };
    const link = linkTo(seller, { marketplaceIds: [us, ca] });
    const found = await rows(link, "inventory", since("lastUpdatedTime", "2026-05-01T00:00:00Z"));
    expect(
      found.map(({ marketplaceId, sellerSku, totalQuantity }) => [marketplaceId, sellerSku, totalQuantity]),
    ).toEqual([
      [us, "001", 1],
      [us, "002", 1],
      [us, "003", 1],
      [ca, "001", 0],
      [us, "001", 0],
    ]);
  });
});

describe("reports", () => {
  const TYPE = "GET_MERCHANT_LISTINGS_ALL_DATA";
  const TABLE = 'sku\tname\tprice\r\n007\tA 24" screen\t1.50\r\n008\tCaf\u00e9\t\r\n';

  test("are requested, awaited and read, compressed or not, in Amazon's character sets", async () => {
    await using seller = await startSeller();
    const expected = [
      { sku: "007", name: 'A 24" screen', price: "1.50" },
      { sku: "008", name: "Caf\u00e9", price: null },
    ];
    seller.reports.set(TYPE, { status: "DONE", content: TABLE, isGzipped: true });
    const link = linkTo(seller);
    expect(await rows(link, `reports/${TYPE}`)).toEqual(expected);
    expect(link.clock.waits).toEqual([250, 500]);
    expect(seller.made[0]?.body).toEqual({ reportType: TYPE, marketplaceIds: ["ATVPDKIKX0DER"] });
    seller.reports.set(TYPE, {
      status: "DONE",
      content: Buffer.from(TABLE, "latin1"),
      contentType: "text/plain; charset=Cp1252",
    });
    expect(await rows(link, TYPE)).toEqual(expected);
    seller.reports.set(TYPE, { status: "DONE", content: Buffer.from(TABLE, "latin1") });
    expect(await failure(rows(link, TYPE))).toMatchObject({
      code: "upstream",
      retryable: false,
      message: `The report ${TYPE} has bytes that are no UTF-8.`,
    });
  });

  test("for a period have its days; JSON ones are returned unchanged", async () => {
    await using seller = await startSeller();
    const type = "GET_SALES_AND_TRAFFIC_REPORT";
    seller.reports.set(type, {
      status: "DONE",
      content: '{"salesAndTrafficByDate":[{"date":"2026-05-01"}]}',
      looks: 0,
    });
    const extraction = (await amazonSeller.extract?.(
      linkTo(seller),
      request(`reports/${type}`, since("date", "2026-05-01T00:00:00Z")),
    )) as Extraction & { kind: "files" };
    for await (const file of extraction.files) {
      expect([file.name, file.format]).toEqual([`${type}.json`, "json"]);
      expect(await textOf(await file.open())).toBe('{"salesAndTrafficByDate":[{"date":"2026-05-01"}]}');
    }
    expect(seller.made[0]?.body).toMatchObject({
      dataStartTime: "2026-05-01T00:00:00.000Z",
      dataEndTime: "2026-05-31T23:58:00.000Z",
    });
  });

  test("that are cancelled have no rows, which is reported; failed ones can be retried after half an hour", async () => {
    await using seller = await startSeller();
    seller.reports.set(TYPE, { status: "CANCELLED", looks: 0 });
    const link = linkTo(seller);
    expect(await rows(link, TYPE)).toEqual([]);
    expect(link.warnings).toEqual([expect.stringContaining(`cancelled the report ${TYPE}`)]);
    seller.reports.set(TYPE, { status: "FATAL", looks: 0 });
    expect(await failure(rows(link, TYPE))).toMatchObject({
      code: "upstream",
      retryable: true,
      retryAfterSeconds: 1_800,
    });
  });

  test("that can't be read as a table are reported, not guessed", async () => {
    await using seller = await startSeller();
    seller.reports.set(TYPE, { status: "DONE", content: "a\tb\n1\t2\t3\n", looks: 0 });
    expect((await failure(rows(linkTo(seller), TYPE))).message).toContain("Line 2 of the report");
    seller.reports.set(TYPE, { status: "DONE", content: "<?xml version='1.0'?><Listings/>", looks: 0 });
    expect((await failure(rows(linkTo(seller), TYPE))).message).toContain("XML");
    seller.reports.set(TYPE, { status: "DONE", content: "a\n1\n", isGzipped: true, looks: 0 });
    seller.state.instead = ({ path }) =>
      path.startsWith("/document/") ? { status: 200, body: Buffer.from("1f8b00", "hex") } : null;
    expect((await failure(rows(linkTo(seller), TYPE))).code).toBe("upstream");
    expect((await failure(rows(linkTo(seller), "GET_NOTHING_LIKE_IT"))).message).toContain(
      "is no report type",
    );
  });

  test("that exist are listed across all pages", async () => {
    await using seller = await startSeller();
    seller.reports.set(TYPE, { status: "DONE", content: TABLE, looks: 0 });
    const link = linkTo(seller);
    for (let n = 0; n < 3; n++) await rows(link, TYPE);
    seller.state.pageLimit = 2;
    expect((await rows(link, "reports")).map(({ reportId }) => reportId)).toEqual(["5000", "5001", "5002"]);
  });
});
