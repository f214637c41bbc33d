import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Asked, SECRETS, startJsonApi, type TestJsonApi } from "../peers/json-api.ts";
import { published } from "../support/bundles.ts";
import { connect } from "../support/connections.ts";
import { credentialsOf, definitionOf, many } from "../support/json-api.ts";
import { deepTest, someOf } from "../support/scale.ts";
import { ACTIONS, faultsOf } from "../support/work.ts";
import { startData } from "./place.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
let templateId: string;
let peer: TestJsonApi;
beforeAll(async () => {
  data = await startData({ hurry: 50 });
  const template = { slug: "an-api", displayName: "An API", templateType: "connection" };
  templateId = (await published(data.owner, { ...template, definition: definitionOf("bearer") })).id;
});
afterAll(async () => data[Symbol.asyncDispose]());
beforeEach(async () => {
  peer = await startJsonApi();
  return () => peer[Symbol.asyncDispose]();
});

let count = 0;

/** An extract of one resource, `r`, of an API that returns `answer`: JSON, or a raw response. */
async function open(endpoint: object, answer: (parameters: URLSearchParams) => unknown, more: object = {}) {
  const dataset = `pages${++count}`;
  const config = { baseUrl: peer.baseUrl, tokenUrl: peer.tokenUrl };
  const credentials = credentialsOf("bearer", SECRETS);
  const { id } = await connect(data.owner, { name: dataset, templateId, config, credentials });
  peer.state.instead = ({ parameters }: Asked) => {
    const given = answer(parameters);
    return given instanceof Raw ? given : { status: 200, body: JSON.stringify(given) };
  };
  const resources = [{ name: "r", spec: "/r", endpoint, ...more }];
  const extract = await data.extract(id, { dataset, resources });
  return { ...extract, ids: () => data.rows(`select id from raw.${dataset}__r order by id`), dataset };
}

/** A response that isn't just JSON. */
class Raw {
  constructor(
    readonly status: number,
    readonly body: string,
    readonly headers: Record<string, string> = {},
  ) {}
}

const failure = (message: string) => ({
  status: "failed",
  error: { code: "upstream", message: expect.stringContaining(message) },
});
const offsetOf = (parameters: URLSearchParams) => Number(parameters.get("offset") ?? 0);
const ids = (n: number) => many(n, (id) => ({ id }));

describe("credentials that an API echoes", () => {
  test("can't be read by an expression, however long it takes", async () => {
    const got = SECRETS.token;
    const rows = many(300, () => ({ pad: "x".repeat(4_000) }));
    const long = "[{id: `1`, chars: reverse(got), pads: length(join('', rows[].pad))}]";
    for (const dataPath of ["[{id: `1`, chars: reverse(got), pads: `1`}]", long]) {
      const extract = await open({ dataPath, paginator: { type: "none" } }, () => ({ got, rows }));
      await extract.result();
      const [row] = await data.rows(`select chars, pads from raw.${extract.dataset}__r`);
      expect(row).toEqual({ chars: "***", pads: dataPath === long ? 1_200_000 : 1 });
    }
  });

  test("are part of the links that are followed", async () => {
    const asked: (string | null)[] = [];
    const extract = await open(
      { dataPath: "items", paginator: { type: "json_link", nextPath: "next" } },
      (parameters) => {
        asked.push(parameters.get("sig"));
        const next = asked.length < 3 ? `${peer.baseUrl}/r?n=${asked.length}&sig=${SECRETS.token}` : null;
        return { items: [{ id: asked.length }], next };
      },
    );
    await extract.result();
    expect(asked).toEqual([null, SECRETS.token, SECRETS.token]);
  });
});

describe("paging counts the items that the API returned", () => {
  const items = many(20, (id) => ({ id, ok: id % 3 === 1, lines: [{ id }, { id: id + 100 }] }));
  const slice = (parameters: URLSearchParams, list: unknown[] = items) =>
    list.slice(offsetOf(parameters), offsetOf(parameters) + 5);

  test("even if some of them are null", async () => {
    const withNull = [...ids(3), null, ...many(17, (n) => ({ id: n + 3 }))];
    const byOffset = await open({ paginator: { type: "offset" } }, (asked) => slice(asked, withNull));
    await byOffset.result();
    expect(await byOffset.ids()).toEqual(ids(20));
    const paginator = { type: "page", pageSize: 5, stopOnShortPage: true };
    const byPage = await open({ paginator }, (asked) => {
      const at = (Number(asked.get("page")) - 1) * 5;
      return withNull.slice(at, at + 5);
    });
    await byPage.result();
    expect(await byPage.ids()).toEqual(ids(20));
  });

  test.each(
    someOf(1, [
      ["[?ok]", (page: unknown[]) => page],
      ["items[?ok]", (page: unknown[]) => ({ items: page })],
      ["items[?id != `7` && ok].{id: id} || `[]`", (page: unknown[]) => ({ items: page })],
    ]),
  )("even if dataPath skips some of them: %s", async (dataPath, wrapped) => {
    const { result, ids } = await open({ dataPath, paginator: { type: "offset" } }, (asked) =>
      wrapped(slice(asked)),
    );
    await result();
    const kept = items.filter(({ id, ok }) => ok && !(dataPath.includes("7") && id === 7));
    expect(await ids()).toEqual(kept.map(({ id }) => ({ id })));
  });

  test("even if dataPath flattens them, and if it finds nothing in a whole page", async () => {
    const all = await open({ dataPath: "data.items[].lines[]", paginator: { type: "offset" } }, (asked) => ({
      data: { items: slice(asked) },
    }));
    await all.result();
    expect(await all.ids()).toHaveLength(40);
    const late = await open({ dataPath: "[?id > `12`]", paginator: { type: "page" } }, (asked) => {
      const at = (Number(asked.get("page")) - 1) * 5;
      return items.slice(at, at + 5);
    });
    await late.result();
    expect(await late.ids()).toHaveLength(8);
  });

  test("and a dataPath that prevents counting is reported when it is saved", async () => {
    const save = (endpoint: object) =>
      data.owner("POST", ACTIONS, {
        kind: "dlt_extract",
        name: "Sorted",
        definition: { dataset: "d", resources: [{ name: "r", spec: "/r", endpoint }] },
      });
    const dataPath = "sort_by(items[?ok], &id)";
    const wrong = await save({ dataPath, paginator: { type: "offset" } });
    expect(faultsOf(wrong)).toEqual(["body.definition.resources.0.endpoint.dataPath value_error"]);
    const byLink = await save({ dataPath, paginator: { type: "link_header" } });
    expect(byLink.status).toBe(201);
  });
});

test("an empty page isn't the last one if the API says that there are more", async () => {
  const paginator = { type: "page", hasNextPath: "more" };
  const answer = (asked: URLSearchParams) => {
    const page = Number(asked.get("page"));
    return { items: page === 2 ? [] : [{ id: page }], more: page < 4 ? "true" : "false" };
  };
  const byPage = await open({ dataPath: "items", paginator }, answer);
  await byPage.result();
  expect(await byPage.ids()).toEqual([{ id: 1 }, { id: 3 }, { id: 4 }]);

  const byOffset = await open(
    { dataPath: "items", paginator: { ...paginator, type: "offset" } },
    (asked) => ({
      items: ids(3).slice(offsetOf(asked)),
      more: true,
    }),
  );
  expect(await byOffset.run()).toMatchObject(failure("announces more"));
});

test("a list that ends although the API names a next page is reported", async () => {
  const cursor = { type: "cursor", cursorPath: "meta.nxt", cursorParam: "after" };
  const short = { type: "page", sizeParam: "size", pageSize: 50, stopOnShortPage: true };
  const warnings = async (paginator: object, answer: (asked: URLSearchParams) => unknown) =>
    (await (await open({ dataPath: "items", paginator }, answer)).result()).warnings;
  const misspelled = await warnings(cursor, () => ({ items: ids(3), meta: { next: "c2" } }));
  expect(misspelled).toEqual([
    expect.stringContaining("its first response, which seems to name a next page"),
  ]);
  expect(await warnings(cursor, () => ({ items: ids(3), links: { next: { href: null } } }))).toEqual([]);
  const capped = await warnings(short, () => ({ items: ids(20), total_count: 60 }));
  expect(capped).toEqual([expect.stringContaining("one page of several (total_count: 60)")]);
  const filtered = await warnings(short, (asked) => {
    const page = Number(asked.get("page"));
    return { items: many(page === 2 ? 10 : 50, (n) => ({ id: page * 100 + n })), has_more: page < 3 };
  });
  expect(filtered).toEqual([
    expect.stringContaining("response 2, which seems to name a next page (has_more)"),
  ]);
  const lost = await warnings({ ...cursor, hasNextPath: "more" }, () => ({ items: ids(3), more: true }));
  expect(lost).toEqual([expect.stringContaining("announces more rows at hasNextPath")]);
  const whole = { ...short, stopOnShortPage: false };
  const empty = (asked: URLSearchParams) => ({ items: asked.get("page") === "1" ? ids(50) : [], next: "/r" });
  expect(await warnings(whole, empty)).toEqual([]);
});

test("an error without rows fails the run, and a table that is replaced keeps its rows", async () => {
  let reply: object = { data: { orders: ids(3) } };
  const endpoint = { dataPath: "data.orders || `[]`" };
  const { result, run, ids: found } = await open(endpoint, () => reply, { writeDisposition: "replace" });
  await result();
  reply = { data: null, errors: [{ message: "Access denied for orders" }] };
  expect(await run()).toMatchObject(failure("Access denied for orders"));
  reply = { ok: false, error: "invalid_auth" };
  expect(await run()).toMatchObject(failure("invalid_auth"));
  expect(await found()).toEqual(ids(3));
  reply = { data: { orders: ids(2) }, errors: [{ message: "One is hidden" }] };
  expect((await result()).warnings).toEqual(["r: The API gave rows and an error: One is hidden"]);
  reply = { data: { orders: [] }, errors: [], error: null, ok: true };
  expect((await result()).warnings).toEqual([]);
});

deepTest("a page with more objects than memory allows is rejected before they are created", async () => {
  const body = `[${"{},".repeat(2_000_000)}{}]`;
  const { run } = await open({ paginator: { type: "page" } }, () => new Raw(200, body));
  expect(await run()).toMatchObject(failure("lower batchSize"));
});

test("a list of errors is a list like any other", async () => {
  const { result } = await open({ dataPath: "errors" }, () => ({ errors: [{ id: 1, message: "Boom" }] }));
  expect(await result()).toMatchObject({ rows: 1, warnings: [] });
});

test("texts are decoded by the response's charset, and invalid bytes are reported", async () => {
  const type = "application/json; charset=iso-8859-1";
  const latin = Buffer.from('[{"id":"Müller"}]', "latin1") as unknown as string;
  const said = await open({}, () => new Raw(200, latin, { "content-type": type }));
  expect(await said.result()).toMatchObject({ warnings: [] });
  expect(await said.ids()).toEqual([{ id: "Müller" }]);
  const unsaid = await open({}, () => new Raw(200, latin, { "content-type": "application/json" }));
  expect(await unsaid.run()).toMatchObject(failure("no UTF-8"));
});

test("no part of a credential is reported, wherever a long response is cut", async () => {
  for (const before of [270, 285, 295]) {
    const message = `${"x".repeat(before)} ${SECRETS.token}`;
    const { run } = await open({}, () => new Raw(400, JSON.stringify({ message })));
    const { error } = await run();
    expect(error.message).not.toContain(SECRETS.token.slice(0, 4));
  }
});

test("a status about credentials or a temporary one isn't the end of a list", async () => {
  const statuses = [401, 404, 408, 425, 429];
  const endpoint = { paginator: { type: "page", stopOnStatus: statuses } };
  const reply = await data.owner("POST", ACTIONS, {
    kind: "dlt_extract",
    name: "Ended",
    definition: { dataset: "d", resources: [{ name: "r", spec: "/r", endpoint }] },
  });
  expect(faultsOf(reply)).toEqual(
    [0, 2, 3, 4].map((at) => `body.definition.resources.0.endpoint.paginator.stopOnStatus.${at} value_error`),
  );
});

test("a redirect to another server is reported as one", async () => {
  const { run } = await open({}, () => new Raw(302, "", { location: "http://[::ffff:127.0.0.1]:1/r" }));
  expect(await run()).toMatchObject(failure("target of the redirect is on another server"));
});

test("only the selected columns arrive, and one that no row has is reported", async () => {
  const row = {
    id: 1,
    customer: { name: "Ada", email: "ada@x.test" },
    lines: [{ sku: "a", cost: 1 }],
    tags: [1],
  };
  const columns = ["id", "customer.name", "lines.sku", "tags", "naem", "customer.fax"];
  const { result, dataset } = await open({}, () => [row], { columns });
  const { warnings } = await result();
  expect(warnings).toEqual(
    ["naem", "customer.fax"].map((name) => `No row of r has a value in the column "${name}".`),
  );
  const own = "* exclude (_dlt_id, _dlt_load_id)";
  expect(await data.rows(`select ${own} from raw.${dataset}__r`)).toEqual([{ id: 1, customer__name: "Ada" }]);
  const child = "* exclude (_dlt_id, _dlt_load_id, _dlt_parent_id, _dlt_root_id, _dlt_list_idx)";
  expect(await data.rows(`select ${child} from raw.${dataset}__r__lines`)).toEqual([{ sku: "a" }]);
  expect(await data.rows(`select value from raw.${dataset}__r__tags`)).toEqual([{ value: 1 }]);
});

test("a type for a column that no row has is reported", async () => {
  const row = { id: 1, customer: { age: 3 }, lines: [{ sku: "a" }] };
  const columns = ["nope", "id", "customer.age", "lines.sku", "customer.fax"].map((name) => ({
    name,
    type: "text",
  }));
  const { result, dataset } = await open({}, () => [row], { columns });
  expect((await result()).warnings).toEqual(
    ["nope", "customer.fax"].map((name) => `No row of r has a value in the column "${name}".`),
  );
  expect(await data.rows(`select id, customer__age from raw.${dataset}__r`)).toEqual([
    { id: "1", customer__age: "3" },
  ]);
});

describe("numbers that a double can't hold keep every digit", () => {
  const page = `{"total": 2.0, "more": 1.10, "items": [
    {"id": 1, "long": 12345678901234567.89, "zeros": 1.10, "big": 9007199254740993, "huge": 18446744073709551616, "in": {"n": 2.50}, "list": [1.10]},
    {"id": 2, "long": 0.5, "zeros": 10.5, "big": 1, "huge": 1, "in": {"n": 1}, "list": [2]}]}`;
  const exact = [
    {
      id: 1,
      long: "12345678901234567.89",
      zeros: "1.10",
      big: "9007199254740993",
      huge: "18446744073709551616",
    },
    { id: 2, long: "0.50", zeros: "10.50", big: 1, huge: "1" },
  ];

  test.each(
    someOf(2, [
      ["that are cut out of the reply", "items", {}],
      ["that have a cursor with a fraction", "items", { incremental: { cursorField: "zeros" } }],
      ["that are all of a list", "items[]", {}],
      ["that a JMESPath makes anew", "items[].{id: id, long: long, zeros: zeros, big: big, huge: huge}", {}],
      ["that a number of theirs chooses", "items[?zeros >= `1.1` && big < `9007199254740994`]", {}],
      ["that a number beside them tells apart", "items[?long != id && zeros != big]", {}],
      ["that come in the order of a number", "sort_by(items, &long) | reverse(@)", {}],
      ["of which some columns are wanted", "items", { columns: ["id", "long", "zeros", "big", "huge"] }],
      ["that have a cursor", "items", { incremental: { cursorField: "big" } }],
      ["that have a key", "items", { writeDisposition: "merge", primaryKey: ["long"] }],
    ]),
  )("in rows %s", async (_, dataPath, more) => {
    const pages = [page, '{"items": [], "total": 2}'];
    const extract = await open(
      { dataPath, totalPath: "total", paginator: { type: "none" } },
      () => new Raw(200, pages[0] ?? ""),
      more,
    );
    await extract.result();
    expect(
      await data.rows(`select id, long, zeros, big, huge from raw.${extract.dataset}__r order by id`),
    ).toEqual(exact);
  });

  deepTest("in child tables, flattened objects, and JSON", async () => {
    for (const dataPath of ["items", "items[]"]) {
      const extract = await open({ dataPath, paginator: { type: "none" } }, () => new Raw(200, page));
      await extract.result();
      expect(await data.rows(`select in__n as n from raw.${extract.dataset}__r order by id`)).toEqual([
        { n: "2.50" },
        { n: "1.00" },
      ]);
      expect(
        await data.rows(`select value as v from raw.${extract.dataset}__r__list order by value`),
      ).toEqual([{ v: "1.10" }, { v: "2.00" }]);
    }
    const whole = { dataPath: "items[]", paginator: { type: "none" } };
    const extract = await open(whole, () => new Raw(200, page));
    await extract.result({ maxTableNesting: 0 });
    expect(
      await data.rows(
        `select "in"::VARCHAR as i, list::VARCHAR as l from raw.${extract.dataset}__r order by id`,
      ),
    ).toEqual([
      { i: '{"n":2.50}', l: "[1.10]" },
      { i: '{"n":1}', l: "[2]" },
    ]);
  });

  deepTest("in a list of plain numbers, and in a page cursor", async () => {
    const asked: (string | null)[] = [];
    const extract = await open(
      { dataPath: "items[]", paginator: { type: "cursor", cursorPath: "next", cursorParam: "after" } },
      (parameters) => {
        asked.push(parameters.get("after"));
        return new Raw(
          200,
          asked.length === 1
            ? '{"items":[1.10,12345678901234567.89],"next":12345678901234567.890}'
            : '{"items":[2],"next":null}',
        );
      },
    );
    await extract.result();
    expect(asked).toEqual([null, "12345678901234567.890"]);
    expect(await data.rows(`select value as v from raw.${extract.dataset}__r order by value`)).toEqual([
      { v: "1.10" },
      { v: "2.00" },
      { v: "12345678901234567.89" },
    ]);
  });
});
