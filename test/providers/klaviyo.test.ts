import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { klaviyo } from "../../src/providers/klaviyo/klaviyo.ts";
import { startKlaviyo, type TestKlaviyo } from "../peers/klaviyo.ts";
import { pagesOf, request, rowsOf, toldLink } from "../support/extract.ts";
import { campaign, event, instant, many, named, profile } from "../support/klaviyo.ts";
import { failure } from "../support/link.ts";
import { freePort } from "../support/postgres.ts";

let peer: TestKlaviyo;
let fresh: TestKlaviyo["state"];
beforeAll(async () => {
  peer = await startKlaviyo();
  fresh = { ...peer.state };
});
afterAll(async () => peer[Symbol.asyncDispose]());
beforeEach(() => {
  Object.assign(peer.state, fresh);
  for (const [name, list] of Object.entries(peer.store)) if (name !== "accounts") list.length = 0;
  peer.asked.length = 0;
  peer.newMinute();
});

const to = (config: JsonObject = {}, apiKey = peer.apiKey) =>
  toldLink({ baseUrl: peer.baseUrl, ...config }, { apiKey });
const ids = (rows: JsonObject[]) => rows.map(({ id }) => id);
const profiles = (n: number) => many(n, (each) => profile(each).id);
/** Sends these responses in order, then normal ones. */
const first = (...replies: ReturnType<typeof peer.state.instead>[]) => {
  peer.state.instead = () => replies.shift() ?? null;
};

describe("verify", () => {
  test("requests the account, with the key and the revision in the headers", async () => {
    await klaviyo.verify(to());
    expect(peer.asked.map(({ path }) => path)).toEqual(["accounts"]);
    expect(peer.asked[0]?.headers).toMatchObject({
      accept: "application/vnd.api+json",
      revision: "2025-10-15",
      "user-agent": "Weir",
    });
  });

  test("distinguishes a wrong key, a missing scope, a wrong revision and throttling", async () => {
    const said = async (link: ReturnType<typeof to>) => (await failure(klaviyo.verify(link))).message;
    expect(await said(to({}, "pk_wrong"))).toContain("apiKey rejected (401)");
    expect(await said(to({ revision: "2019-01-01" }))).toContain("doesn't support revision 2019-01-01");
    peer.state.scopes = ["profiles:read"];
    expect(await said(to())).toContain("missing scope accounts:read");
    peer.state.scopes = fresh.scopes;
    for (const [status, detail, words] of [
      [400, "The API key is malformed.", "apiKey rejected (400)"],
      [403, "Incorrect authentication credentials.", "apiKey rejected (403)"],
      [410, "This revision is retired.", "doesn't support revision"],
      [404, "Not found.", "Nothing found at this address for the account"],
      [302, "", "redirect"],
    ] as const) {
      first({
        status,
        body: JSON.stringify({ errors: [{ status, code: "x", detail }] }),
        headers: { location: "/" },
      });
      expect([status, await said(to())]).toEqual([status, expect.stringContaining(words)]);
    }
    peer.state.instead = () => ({ status: 429, headers: { "retry-after": "45" } });
    expect(await failure(klaviyo.verify(to()))).toMatchObject({ retryable: true, retryAfterSeconds: 45 });
  });

  test("reports that nobody responds, that Klaviyo fails, and that something else responds", async () => {
    const nobody = to({ baseUrl: `http://127.0.0.1:${await freePort()}` });
    expect(await failure(klaviyo.verify(nobody))).toMatchObject({ code: "upstream", retryable: true });
    peer.state.instead = () => ({ status: 500 });
    expect(await failure(klaviyo.verify(to()))).toMatchObject({ retryable: true });
    for (const body of ["<html>Welcome</html>", '{"hello":"world"}']) {
      peer.state.instead = () => ({ status: 200, body });
      expect((await failure(klaviyo.verify(to()))).message).toMatch(/not Klaviyo's API|no account/);
    }
  });

  test("accepts a baseUrl with the API's folder too", async () => {
    await klaviyo.verify(to({ baseUrl: `${peer.baseUrl}/api/` }));
    expect(peer.asked.map(({ path }) => path)).toEqual(["accounts"]);
  });
});

describe("schema", () => {
  test("has every resource as a table whose name is the spec", async () => {
    expect(await klaviyo.tables?.tables(to(), false)).toEqual(
      ["profiles", "events", "campaigns", "flows", "lists", "segments", "metrics"].map((name) => ({
        schema: "klaviyo",
        table: name,
        spec: name,
      })),
    );
    expect(await klaviyo.tables?.columns(to(), "klaviyo", "events")).toEqual(
      [
        ["id", "string"],
        ["timestamp", "integer"],
        ["datetime", "datetime"],
        ["uuid", "string"],
        ["event_properties", "object"],
        ["profile_id", "string"],
        ["metric_id", "string"],
      ].map(([name = "", dataType = ""]) => ({ name, dataType, nullable: name !== "id" })),
    );
    for (const [schema, table] of [
      ["public", "events"],
      ["klaviyo", "nothing"],
    ] as const) {
      const error = await failure(Promise.resolve(klaviyo.tables?.columns(to(), schema, table)));
      expect(error.code).toBe("not_found");
    }
  });
});

describe("extract", () => {
  test("returns items as flat rows with the IDs of related items", async () => {
    peer.store.events = [event(4, { uuid: "u" })];
    expect(await rowsOf(klaviyo, to(), request("events"))).toEqual([
      {
        id: "E000004",
        timestamp: Date.UTC(2026, 4, 1) / 1000 + 240,
        datetime: instant(4),
        uuid: "u",
        event_properties: { $value: 4.5, items: [{ sku: "a" }, { sku: "b" }] },
        profile_id: "P000001",
        metric_id: "M1",
        attributions_ids: [],
      },
    ]);
  });

  test("follows links.next at the configured address, whatever host the link names", async () => {
    peer.store.profiles = many(250, (n) => profile(251 - n));
    expect(ids(await rowsOf(klaviyo, to(), request("profiles")))).toEqual(
      many(250, (n) => profile(251 - n))
        .map(({ id }) => id)
        .toSorted(),
    );
    expect(peer.of("profiles").map(({ parameters }) => parameters.get("page[size]"))).toEqual([
      "100",
      "100",
      "100",
    ]);
    for (const [spec, size] of [
      ["lists", 10],
      ["flows", 50],
    ] as const) {
      peer.store[spec] = many(25, (n) => named("X", n));
      expect(await rowsOf(klaviyo, to(), request(spec))).toHaveLength(25);
      expect(peer.of(spec)).toHaveLength(Math.ceil(25 / size));
    }
    peer.store.metrics = many(45, (n) => named("M", n));
    expect(await rowsOf(klaviyo, to(), request("metrics"))).toHaveLength(45);
    expect(peer.of("metrics").map(({ parameters }) => parameters.has("page[size]"))).toEqual([
      false,
      false,
      false,
    ]);
  });

  test("requests campaigns of every channel, archived or not", async () => {
    peer.store.campaigns = [
      ...many(12, (n) => campaign(n, "email", false)),
      campaign(20, "email", true),
      campaign(21, "sms", false),
      campaign(22, "mobile_push", true),
    ];
    const rows = await rowsOf(klaviyo, to(), request("campaigns"));
    expect(rows.map(({ id, channel, archived }) => [id, channel, archived]).slice(10)).toEqual([
      ["C000011", "email", false],
      ["C000012", "email", false],
      ["C000020", "email", true],
      ["C000021", "sms", false],
      ["C000022", "mobile_push", true],
    ]);
    peer.state.channels = ["email"];
    const link = to();
    expect(await rowsOf(klaviyo, link, request("campaigns"))).toHaveLength(13);
    expect(link.warnings.join(" ")).toMatch(/no campaigns of sms .*no campaigns of mobile_push/s);
  });

  test("filters by each endpoint's operators, and sorts by the date", async () => {
    const range = (field: string) => ({ field, from: instant(10), to: instant(20) });
    const wants = {
      profiles: [
        "updated",
        "and(greater-than(updated,2026-05-01T00:09:59.000Z),less-than(updated,2026-05-01T00:20:00.000Z))",
      ],
      events: [
        "datetime",
        "and(greater-or-equal(datetime,2026-05-01T00:10:00.000Z),less-than(datetime,2026-05-01T00:20:00.000Z))",
      ],
      flows: [
        "updated",
        "and(greater-or-equal(updated,2026-05-01T00:10:00.000Z),less-than(updated,2026-05-01T00:20:00.000Z))",
      ],
      lists: ["updated", "greater-than(updated,2026-05-01T00:09:59.000Z)"],
      segments: ["created", "greater-than(created,2026-05-01T00:09:59.000Z)"],
      metrics: ["updated", null],
    } as const;
    for (const [spec, [field, filter]] of Object.entries(wants)) {
      peer.store[spec] = many(30, (n) => (spec === "events" ? event(n) : named("X", n)));
      const rows = await rowsOf(klaviyo, to(), request(spec, { range: range(field) }));
      const [asked] = peer.of(spec);
      expect([spec, asked?.parameters.get("filter"), asked?.parameters.get("sort")]).toEqual([
        spec,
        filter,
        filter === null ? null : field,
      ]);
      const inside = rows.filter((row) => Date.parse(String(row[field])) >= Date.parse(instant(10)));
      expect([spec, inside.length >= 10]).toEqual([spec, true]);
    }
    peer.store.campaigns = many(30, (n) => campaign(n, "sms", true));
    expect(await rowsOf(klaviyo, to(), request("campaigns", { range: range("updated_at") }))).toHaveLength(
      10,
    );
  });

  test("requests only the needed fields, and expensive ones only if needed", async () => {
    peer.store.profiles = [profile(1)];
    const [whole] = await rowsOf(klaviyo, to(), request("profiles"));
    expect(whole).not.toHaveProperty("subscriptions");
    const columns = ["email", "subscriptions", "location.city"];
    const [row] = await rowsOf(klaviyo, to(), request("profiles", { columns }));
    expect(Object.keys(row ?? {}).sort()).toEqual([
      "created",
      "email",
      "id",
      "location",
      "subscriptions",
      "updated",
    ]);
    const { parameters } = peer.of("profiles")[1] ?? {};
    expect(parameters?.get("fields[profile]")).toBe("email,created,updated,location");
    expect(parameters?.get("additional-fields[profile]")).toBe("subscriptions");
  });

  test("stops requesting when there are enough rows", async () => {
    peer.store.lists = many(50, (n) => named("L", n));
    expect(await rowsOf(klaviyo, to(), request("lists", { maxRows: 15 }))).toHaveLength(20);
    expect(peer.of("lists")).toHaveLength(2);
    expect(await rowsOf(klaviyo, to(), request("lists", { batchSize: 4, maxRows: 4 }))).toHaveLength(4);
  });

  test("names what the definition asks for and Klaviyo lacks", async () => {
    const wrong = async (spec: string, more: object = {}) =>
      (await failure(rowsOf(klaviyo, to(), request(spec, more)))).code;
    expect(await wrong("gifts")).toBe("not_found");
    expect(await wrong("events", { where: { sql: "1 = 1", parameters: [] } })).toBe("definition_invalid");
    expect(await wrong("events", { columns: ["nope"] })).toBe("definition_invalid");
    expect(await wrong("events", { range: { field: "nope", from: null, to: null } })).toBe(
      "cursor_field_missing",
    );
    expect(await wrong("events", { range: { field: "datetime", from: "2026),x", to: null } })).toBe(
      "definition_invalid",
    );
    expect(peer.asked).toHaveLength(0);
  });
});

describe("special cases", () => {
  test("an item at both sides of a page boundary is returned once", async () => {
    peer.store.profiles = many(230, profile);
    peer.state.isRepeating = true;
    expect(ids(await rowsOf(klaviyo, to(), request("profiles")))).toEqual(profiles(230));
  });

  test("what changes during a walk that isn't in cursor order is returned too", async () => {
    const now = (seconds: number) => `2026-06-01T00:00:0${seconds}Z`;
    peer.store.campaigns = [...many(15, (n) => campaign(n, "email", false)), campaign(20, "sms", false)];
    peer.store.metrics = many(45, (n) => named("M", n));
    peer.store.profiles = many(120, (n) => profile(n, { last_event_date: instant(n) }));
    for (const [spec, field, after] of [
      ["campaigns", "updated_at", 3],
      ["metrics", "updated", 1],
      ["profiles", "last_event_date", 1],
    ] as const) {
      const list = peer.store[spec] ?? [];
      const change = (item: number, seconds: number) => {
        const at = now(seconds);
        Object.assign(list.at(item)?.attributes ?? {}, { [field]: at, updated: at, updated_at: at });
      };
      let pages = 0;
      peer.state.afterPage = ({ path }) => {
        if (path !== spec || ++pages !== after) return;
        change(0, 1); // Already read.
        change(-1, 2); // Not read yet.
      };
      const range = { field, from: instant(1), to: null };
      const rows = await rowsOf(klaviyo, to(), request(spec, { range }));
      const states = rows.map((row) => `${row.id} ${row[field]}`);
      expect([spec, new Set(states).size]).toEqual([spec, states.length]);
      expect(states).toContain(`${list[0]?.id} ${now(1)}`);
      expect(states).toContain(`${list.at(-1)?.id} ${now(2)}`);
      peer.state.afterPage = () => undefined;
    }
  });

  test("what never stops changing is read up to the point that is completely known", async () => {
    const now = (n: number) => new Date(Date.parse("2026-06-01T00:00:00Z") + n).toISOString();
    peer.store.metrics = many(45, (n) => named("M", n));
    let count = 0;
    peer.state.afterPage = () => {
      count++;
      for (const item of [0, 44]) {
        const attributes = peer.store.metrics?.[item]?.attributes;
        Object.assign(attributes ?? {}, { updated: now(count * 10 + item / 10) });
      }
    };
    const range = { field: "updated", from: instant(1), to: null };
    const rows = await rowsOf(klaviyo, to(), request("metrics", { range }));
    peer.state.afterPage = () => undefined;
    const reached = Math.max(...rows.map(({ updated }) => Date.parse(String(updated))));
    const first = peer.store.metrics?.[0];
    const states = rows
      .filter(({ id }) => id === first?.id)
      .map(({ updated }) => Date.parse(String(updated)));
    // The change that this load lacks is later than all that it has: the next one includes it.
    expect(Date.parse(String(first?.attributes.updated))).toBeGreaterThan(reached);
    expect(states.length).toBeGreaterThan(1);
    const [next] = await rowsOf(
      klaviyo,
      to(),
      request("metrics", { range: { ...range, from: new Date(reached).toISOString() } }),
    );
    expect(next).toMatchObject({ id: first?.id ?? "", updated: String(first?.attributes.updated) });
  });

  test("an expired cursor costs nothing if the list is in date order", async () => {
    peer.store.profiles = many(230, (n) => profile(n, { created: instant(Math.ceil(n / 40)) }));
    peer.state.afterPage = () => void peer.state.epoch++;
    const link = to();
    expect(ids(await rowsOf(klaviyo, link, request("profiles")))).toEqual(profiles(230));
    expect(link.clock.waits).toEqual([]);
    peer.store.metrics = many(30, (n) => named("M", n));
    expect(await failure(rowsOf(klaviyo, to(), request("metrics")))).toMatchObject({ retryable: true });
  });

  test("nulls are left out, and reported", async () => {
    peer.store.profiles = many(2, profile);
    peer.state.nulls = 3;
    const link = to();
    expect(await rowsOf(klaviyo, link, request("profiles"))).toHaveLength(2);
    expect(link.warnings).toEqual(["Klaviyo returned 3 items as null. They were omitted."]);
  });
});

describe("rate limits", () => {
  test("429 is waited for as long as Retry-After says, and isn't a failure", async () => {
    peer.store.profiles = [profile(1)];
    first(...many(8, () => ({ status: 429, headers: { "retry-after": "3" } })));
    const link = to();
    expect(await rowsOf(klaviyo, link, request("profiles"))).toHaveLength(1);
    expect(link.clock.waits).toEqual(many(8, () => 3_000));
  });

  test("both windows of a tier are kept, by all runs of a connection together", async () => {
    peer.store.flows = [named("F", 1)];
    const link = to();
    for (let n = 0; n < 6; n++) await rowsOf(klaviyo, { ...link }, request("flows")); // 3 per second.
    expect(link.clock.waits.map(Math.round)).toEqual([333, 333, 333]);
    await rowsOf(klaviyo, link, request("lists"));
    expect(link.clock.waits).toHaveLength(3); // Each endpoint has its own.
  });

  test("the headers determine the remaining requests of the minute", async () => {
    peer.store.lists = many(25, (n) => named("L", n));
    peer.state.steady = 2;
    const link = to();
    const waited: number[] = [];
    link.clock.sleep = async (ms) => {
      waited.push(ms);
      peer.newMinute();
    };
    expect(await rowsOf(klaviyo, link, request("lists"))).toHaveLength(25);
    expect(waited).toEqual([30_000]);
    expect(peer.of("lists")).toHaveLength(3);
  });
});

describe("failures", () => {
  test("are retried if Klaviyo fails occasionally, and end the run if it doesn't stop", async () => {
    peer.store.profiles = [profile(1)];
    first({ status: 502 }, "cut", { status: 200, body: '{"da' }, { status: 503, headers: {} });
    const link = to();
    expect(await rowsOf(klaviyo, link, request("profiles"))).toHaveLength(1);
    expect(peer.asked).toHaveLength(5);
    peer.state.instead = () => ({ status: 503 });
    peer.asked.length = 0;
    expect(await failure(rowsOf(klaviyo, to(), request("profiles")))).toMatchObject({ retryable: true });
    expect(peer.asked).toHaveLength(5);
  });

  test("a cancellation ends the paging while a response is awaited", async () => {
    peer.store.profiles = many(250, profile);
    const stop = new AbortController();
    const pages = (await pagesOf(klaviyo, { ...to(), signal: stop.signal }, request("profiles")))[
      Symbol.asyncIterator
    ]();
    await pages.next();
    peer.state.instead = () => "silence";
    const next = pages.next();
    while (peer.asked.length < 2) await Bun.sleep(5);
    stop.abort(new Error("stopped here"));
    await expect(next).rejects.toThrow("stopped here");
  });
});

describe("without permission", () => {
  test("a resource ends the run with the missing scope", async () => {
    peer.state.scopes = ["accounts:read"];
    for (const { table } of (await klaviyo.tables?.tables(to(), false)) ?? []) {
      const error = await failure(rowsOf(klaviyo, to(), request(table)));
      expect(error).toMatchObject({
        code: "upstream",
        retryable: false,
        details: { missingScope: `${table}:read` },
      });
      expect(error.message).toContain(`missing scope ${table}:read`);
    }
  });

  test("a field becomes an empty column, and is reported", async () => {
    peer.store.profiles = [profile(1)];
    peer.state.denied = ["predictive_analytics"];
    const link = to();
    const columns = ["email", "predictive_analytics"];
    const [row] = await rowsOf(klaviyo, link, request("profiles", { columns }));
    expect(row).toMatchObject({ id: "P000001", email: "p1@example.com" });
    expect(row).not.toHaveProperty("predictive_analytics");
    expect(link.warnings).toEqual([expect.stringContaining("can't read predictive_analytics of profiles")]);
  });

  test("a field that the revision lacks is reported, and the others are returned", async () => {
    peer.store.segments = [named("S", 1, { is_active: true })];
    peer.state.without = ["is_starred"];
    const link = to({ revision: "2025-07-15" });
    const rows = await rowsOf(klaviyo, link, request("segments", { columns: ["is_active", "is_starred"] }));
    expect(rows).toMatchObject([{ id: "S000001", is_active: true }]);
    expect(link.warnings).toEqual([expect.stringContaining("'is_starred' is not a valid field")]);
  });
});

test("a revision that will be retired is reported", async () => {
  peer.state.headers = { sunset: "Sat, 01 May 2027 00:00:00 GMT" };
  const link = to({ revision: "2026-01-15" });
  await rowsOf(klaviyo, link, request("lists"));
  expect(link.warnings).toEqual([
    "Klaviyo will end revision 2026-01-15 of its API (sunset: Sat, 01 May 2027 00:00:00 GMT). Set a newer revision.",
  ]);
  expect(peer.of("lists")[0]?.headers.revision).toBe("2026-01-15");
});
