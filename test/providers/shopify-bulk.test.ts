import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import type { ExtractRequest, Link, ProviderState } from "../../src/providers/contract.ts";
import { shopify } from "../../src/providers/shopify/shopify.ts";
import { startShopify, type TestShopify } from "../peers/shopify.ts";
import { request, rowsOf, toldLink } from "../support/extract.ts";
import { failure } from "../support/link.ts";
import { deepTest } from "../support/scale.ts";
import { customer, inventoryItem, LASTING, many, minute, order, product } from "../support/shopify.ts";

setDefaultTimeout(120_000);

let peer: TestShopify;
beforeAll(async () => {
  peer = await startShopify({ maxQueryCost: 100_000 });
});
afterAll(async () => peer[Symbol.asyncDispose]());
let fresh: TestShopify["bulk"]["state"] | null = null;
beforeEach(() => {
  fresh ??= { ...peer.bulk.state };
  Object.assign(peer.bulk.state, fresh, { cuts: [], stalls: [] });
  Object.assign(peer.state, { instead: () => null, afterPage: () => undefined });
  for (const list of Object.values(peer.store)) list.length = 0;
  peer.asked.length = 0;
  peer.bulk.forget();
});

/** A connection's state, shared by runs. */
const memory = (): ProviderState & { kept: Map<string, string> } => {
  const kept = new Map<string, string>();
  return {
    kept,
    read: async (name) => kept.get(name) ?? null,
    keep: async (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
  };
};

const to = (config: JsonObject = {}, overrides: Partial<Link> = {}) => {
  const notes: string[] = [];
  const link = toldLink(
    { shopDomain: peer.shop, apiVersion: LASTING, baseUrl: peer.baseUrl, ...config },
    { accessToken: peer.token },
    { note: (text) => void notes.push(text), ...overrides },
  );
  // What the peer creates has the time of this machine.
  const clock = { ...link.clock, now: () => new Date() };
  return Object.assign(link, { notes, clock });
};
const ask = (spec: string, more: Partial<ExtractRequest> = {}) => request(spec, { batchSize: 250, ...more });
const ids = (rows: JsonObject[]) => rows.map(({ id }) => id);
const sorted = (rows: JsonObject[]) => [...rows].sort((a, b) => Number(a.id) - Number(b.id));
const numbers = (n: number) => many(n, (each) => each);

/** The same by pages only, as from a shop without bulk operations. */
async function byPages(asked: ExtractRequest) {
  peer.bulk.state.others = 5;
  const rows = await rowsOf(shopify, to(), asked);
  peer.bulk.state.others = 0;
  return rows;
}

describe("a bulk operation", () => {
  deepTest("reads what is left after the first thousand objects, the same rows as by pages", async () => {
    peer.store.products = many(1_300, (n) => product(n, n % 4));
    peer.store.inventoryItems = many(1_200, (n) => inventoryItem(n, n % 3));
    peer.store.orders = many(1_150, (n) => order(n, { lineItems: n % 5 === 0 ? [] : order(n).lineItems }));
    for (const spec of ["products", "inventory_items", "orders"]) {
      const columns =
        spec === "orders" ? ["name", "customer", "line_items", "total_price_set", "tags"] : null;
      const asked = ask(spec, { columns });
      const pages = await byPages(asked);
      const before = peer.asked.length;
      const link = to();
      const rows = await rowsOf(shopify, link, asked);
      expect(sorted(rows)).toEqual(sorted(pages));
      expect(new Set(ids(rows)).size).toBe(rows.length);
      expect(link.notes).toEqual([
        `The rest of ${spec} is read by a bulk operation of Shopify.`,
        `${rows.length - 999} objects came by a bulk operation of Shopify.`,
      ]);
      expect(link.warnings).toEqual([]);
      const asks = peer.asked.slice(before).map(({ name }) => name);
      expect(asks.filter((name) => name === "bulk")).toHaveLength(1);
      expect(asks.filter((name) => name === "bulkOperation")).toHaveLength(3);
    }
    expect(peer.bulk.operations[0]?.query).toStartWith('{ products(query: "id:>=1000") { edges { node { id ');
    expect(peer.bulk.downloads.every(({ headers }) => !("x-shopify-access-token" in headers))).toBe(true);
  });

  deepTest("isn't used for a small shop, for only some rows, or if the shop doesn't accept it", async () => {
    peer.store.customers = many(900, customer);
    expect(await rowsOf(shopify, to(), ask("customers"))).toHaveLength(900);
    peer.store.customers = many(1_400, customer);
    expect(await rowsOf(shopify, to(), ask("customers", { maxRows: 1_200 }))).toHaveLength(1_250);
    peer.store.orders = many(1_100, (n) => order(n));
    expect(await rowsOf(shopify, to(), ask("refunds"))).toHaveLength(0);
    expect(peer.of("bulk")).toHaveLength(0);
    peer.state.instead = ({ name }) =>
      name === "bulk" ? { status: 200, body: '{"errors":[{"message":"No such mutation"}]}' } : null;
    const link = to();
    expect(ids(await rowsOf(shopify, link, ask("customers")))).toEqual(numbers(1_400));
    expect(link.notes).toEqual([
      "Shopify takes no bulk operation for customers; it is read page by page. Shopify refused the query: No such mutation",
    ]);
    expect(link.warnings).toEqual([]);
  });

  test("with a cursor leaves changes during it to pages, so that no change is lost", async () => {
    peer.store.customers = many(1_500, (n) =>
      customer(n, { updatedAt: minute(n <= 995 ? n : Math.ceil(n / 10) * 10) }),
    );
    const range = { field: "updated_at", from: null, to: null };
    const soon = () => `${new Date(Date.now() - 1_000).toISOString().slice(0, 19)}Z`;
    peer.state.afterPage = ({ name }) => {
      if (name !== "bulk") return;
      peer.state.afterPage = () => undefined;
      Object.assign(peer.store.customers?.[2] ?? {}, { updatedAt: soon(), note: "changed" });
      peer.store.customers?.push(customer(1_501, { updatedAt: soon() }));
    };
    const rows = await rowsOf(shopify, to(), ask("customers", { range }));
    expect(peer.bulk.operations[0]?.query).toMatch(/updated_at:<'20.*Z' AND updated_at:>='2026-05/);
    expect(ids(rows).filter((id) => id === 3)).toHaveLength(2);
    expect(rows.at(-2)).toMatchObject({ id: 3, note: "changed" });
    expect(new Set(ids(rows))).toEqual(new Set(numbers(1_501)));
    expect(rows).toHaveLength(1_502);
  });

  test("of a range ends where the range does", async () => {
    peer.store.customers = many(1_500, (n) => customer(n));
    const range = { field: "updated_at", from: minute(101), to: minute(1_401) };
    const rows = await rowsOf(shopify, to(), ask("customers", { range }));
    expect(ids(rows).sort((a, b) => Number(a) - Number(b))).toEqual(many(1_300, (n) => n + 100));
    expect(peer.of("bulk")).toHaveLength(1);
  });

  test("that finds another one of the app in progress gives way to pages: one at a time, five since 2026-01", async () => {
    peer.store.customers = many(1_300, customer);
    for (const [apiVersion, others, isBulk] of [
      ["2025-10", 1, false],
      ["2026-01", 4, true],
      ["2026-01", 5, false],
    ] as const) {
      Object.assign(peer.bulk.state, { others });
      peer.bulk.forget();
      const link = to({ apiVersion });
      expect(sorted(await rowsOf(shopify, link, ask("customers"))).map(({ id }) => id)).toEqual(
        numbers(1_300),
      );
      expect(peer.bulk.operations).toHaveLength(isBulk ? 1 : 0);
      if (!isBulk) expect(link.notes).toEqual([expect.stringContaining("busy with another bulk operation")]);
    }
  });

  test("whose start isn't answered is found again, not started twice", async () => {
    peer.store.customers = many(1_300, customer);
    let cuts = 1;
    peer.state.afterPage = () => undefined;
    peer.state.instead = (asked) => {
      if (asked.name !== "bulk" || cuts-- <= 0) return null;
      peer.bulk.begin(String(asked.variables.query), true); // It arrived, but the response didn't.
      return "cut";
    };
    const rows = await rowsOf(shopify, to({ apiVersion: "2025-10" }), ask("customers"));
    expect(ids(sorted(rows))).toEqual(numbers(1_300));
    expect(peer.bulk.operations).toHaveLength(1);
    expect(peer.bulk.downloads).toHaveLength(1);
  });

  test("that fails, is cancelled or expires returns nothing, not even partial data: pages return everything", async () => {
    peer.store.customers = many(1_300, customer);
    for (const [status, errorCode, words] of [
      ["FAILED", "INTERNAL_SERVER_ERROR", "FAILED, INTERNAL_SERVER_ERROR"],
      ["FAILED", "TIMEOUT", "FAILED, TIMEOUT"],
      ["CANCELED", null, "CANCELED"],
      ["EXPIRED", null, "EXPIRED"],
    ] as const) {
      peer.bulk.state.ending = { status, errorCode };
      const state = memory();
      const link = to({}, { state: state });
      expect(ids(await rowsOf(shopify, link, ask("customers")))).toEqual(numbers(1_300));
      expect(link.warnings).toEqual([
        `Shopify's bulk operation for customers failed (${words}). It is read page by page instead.`,
      ]);
      expect(state.kept.size).toBe(0);
    }
    expect(peer.bulk.operations.every(({ partialDataUrl }) => partialDataUrl !== null)).toBe(true);
    expect(peer.bulk.downloads).toHaveLength(0);
  });
});

describe("the file of a bulk operation", () => {
  test("continues after the received lines if a download breaks off", async () => {
    peer.store.products = many(1_300, (n) => product(n, 2));
    peer.bulk.state.cuts = [0, 100, 101, 500];
    const rows = await rowsOf(shopify, to(), ask("products"));
    expect(ids(sorted(rows))).toEqual(numbers(1_300));
    expect(rows.every(({ variants }) => (variants as JsonObject[]).length === 2)).toBe(true);
    expect(peer.bulk.downloads).toHaveLength(5);
  });

  deepTest("continues after the received lines if a download stalls", async () => {
    peer.store.customers = many(1_300, customer);
    peer.bulk.state.stalls = [0, 100];
    const { egress } = to();
    const impatient: Link["egress"] = {
      ...egress,
      fetch: (url, { idleMs, ...asked } = {}) =>
        egress.fetch(url, { ...asked, ...(idleMs === undefined ? {} : { idleMs: 1_500 }) }),
    };
    const rows = await rowsOf(shopify, to({}, { egress: impatient }), ask("customers"));
    expect(ids(sorted(rows))).toEqual(numbers(1_300));
    expect(peer.bulk.downloads).toHaveLength(3);
  });

  test("with invalid text is rejected, and not retried", async () => {
    peer.store.customers = many(1_300, (n) => customer(n, { lastName: "Caf\u00e9" }));
    peer.bulk.state.encoding = "latin1";
    expect(await failure(rowsOf(shopify, to(), ask("customers")))).toMatchObject({
      code: "upstream",
      retryable: false,
      message: "The file of Shopify's bulk operation has bytes that are no UTF-8.",
    });
    expect(peer.bulk.downloads).toHaveLength(1);
  });

  test("is requested at a new URL if the old one has expired, and otherwise read by pages", async () => {
    peer.store.customers = many(1_300, customer);
    peer.bulk.state.expired = 1;
    const link = to();
    expect(ids(sorted(await rowsOf(shopify, link, ask("customers"))))).toEqual(numbers(1_300));
    expect([peer.bulk.downloads.length, link.warnings]).toEqual([2, []]);
    peer.bulk.state.expired = 1_000;
    const gone = to();
    expect(ids(await rowsOf(shopify, gone, ask("customers")))).toEqual(numbers(1_300));
    expect(gone.warnings).toEqual([
      "The file of Shopify's bulk operation no longer exists (403). customers is read page by page.",
    ]);
  });

  test("with fewer objects than Shopify counted fails the load with both numbers", async () => {
    peer.store.customers = many(1_300, customer);
    peer.bulk.state.lost = 2;
    const state = memory();
    expect(await failure(rowsOf(shopify, to({}, { state: state }), ask("customers")))).toMatchObject({
      code: "row_count_mismatch",
      message: "Nothing was loaded: Shopify counted 301 objects, and its file has 299.",
      details: { told: 301, read: 299 },
    });
    expect(state.kept.size).toBe(0);
  });

  test("whose lines are separate from their parents is rejected, and the next attempt uses pages", async () => {
    peer.store.products = many(1_300, (n) => product(n, 2));
    peer.bulk.state.isUnruly = true;
    const link = to();
    expect(await failure(rowsOf(shopify, link, ask("products")))).toMatchObject({
      code: "upstream",
      retryable: true,
      message: "Shopify's file has objects without their parents.",
    });
    const rows = await rowsOf(shopify, link, ask("products"));
    expect(ids(rows)).toEqual(numbers(1_300));
    expect(peer.bulk.operations).toHaveLength(1);
  });
});

describe("a run that is interrupted", () => {
  /** Reads until the operation is polled, and stops there like a killed process. */
  async function interrupt(link: ReturnType<typeof to>, asked: ExtractRequest) {
    const stop = new AbortController();
    peer.state.afterPage = ({ name }) => {
      if (name === "bulkOperation") stop.abort(new Error("killed"));
    };
    await expect(rowsOf(shopify, { ...link, signal: stop.signal }, asked)).rejects.toThrow("killed");
    peer.state.afterPage = () => undefined;
  }

  test("resumes the operation that it started, and reads each object once", async () => {
    for (const range of [null, { field: "updated_at", from: null, to: null }]) {
      peer.bulk.forget();
      peer.store.customers = many(1_300, customer);
      const state = memory();
      const asked = ask("customers", { range });
      await interrupt(to({}, { state: state }), asked);
      expect(state.kept.size).toBe(1);
      // Before the next attempt, one of the first objects is deleted, so that the pages reach further.
      peer.store.customers.splice(10, 1);
      const rows = await rowsOf(shopify, to({}, { state: state }), asked);
      expect(ids(sorted(rows))).toEqual(numbers(1_300).filter((n) => n !== 11));
      expect(peer.bulk.operations).toHaveLength(1);
      expect(state.kept.size).toBe(0);
      await rowsOf(shopify, to({}, { state: state }), asked);
      expect(peer.bulk.operations).toHaveLength(2);
    }
  });

  test("starts again if the pages end before what the operation reads, and if it is old", async () => {
    peer.store.customers = many(1_300, customer);
    const state = memory();
    await interrupt(to({}, { state: state }), ask("customers"));
    peer.store.customers.push(...many(30, (n) => customer(-n, { id: `gid://shopify/Customer/0${n}` })));
    peer.bulk.forget();
    const rows = await rowsOf(shopify, to({}, { state: state }), ask("customers"));
    expect(rows).toHaveLength(1_330);
    expect(peer.bulk.operations).toHaveLength(1);
    await interrupt(to({}, { state: state }), ask("customers"));
    const link = to({}, { state: state });
    const later = { ...link.clock, now: () => new Date(Date.now() + 7_200_000) };
    Object.assign(peer.bulk.operations.at(-1) ?? {}, {
      status: "COMPLETED",
      completedAt: new Date().toISOString(),
    });
    expect(await rowsOf(shopify, { ...link, clock: later }, ask("customers"))).toHaveLength(1_330);
    expect(peer.bulk.operations).toHaveLength(3);
  });
});
