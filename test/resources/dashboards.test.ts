import { afterAll, beforeAll, expect, test } from "bun:test";
import { contextFor } from "../../src/context.ts";
import { startApp } from "../support/app.ts";
import { loadTable } from "../support/lake.ts";
import { join, neighbour } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { created, faultsOf, makeAction, runToEnd } from "../support/work.ts";

const DASHBOARDS = "/api/v1/dashboards";
const FILTERS = [
  {
    key: "country",
    label: "Country",
    type: "choice",
    sql: "SELECT DISTINCT country FROM raw.orders ORDER BY 1",
  },
  { key: "period", type: "date_range", default: { from: "2026-01-01", to: null } },
  { key: "least", type: "number", default: 0 },
];
const TOTAL = `SELECT count(*) AS orders FROM raw.orders WHERE ($country IS NULL OR country = $country)
  AND day >= $period_from AND ($period_to IS NULL OR day <= $period_to) AND total >= $least`;
const TOTAL_PANEL = { key: "total", title: "Orders", sql: TOTAL, chart: { kind: "number", y: ["orders"] } };
const SHOP = { name: "Shop", filters: FILTERS, panels: [TOTAL_PANEL] };

let app: Awaited<ReturnType<typeof startApp>>;
const contextOf = () =>
  contextFor(app.app, {
    organizationId: app.ids.organizationId,
    role: "owner",
    actor: { type: "user", id: app.ids.userId },
    correlationId: "test-orders",
  });
/** Orders of one country, one per day from January 1. */
const load = (country: string, days: number) =>
  loadTable(contextOf(), {
    layer: "raw",
    dataset: "orders",
    table: "orders",
    select: `SELECT DATE '2026-01-01' + CAST(i AS INTEGER) AS day, '${country.replace("'", "''")}' AS country, i * 10 AS total FROM range(${days}) AS t(i)`,
  });
beforeAll(async () => {
  app = await startApp();
  await load("CH", 3);
  await load("O'Land", 2);
});
afterAll(() => app[Symbol.asyncDispose]());

const make = async (more: object = {}) => created(await app.owner("POST", DASHBOARDS, { ...SHOP, ...more }));
const dataOf = async (id: string, query = "") =>
  (await app.owner("GET", `${DASHBOARDS}/${id}/data?${query}`)).body;

test("number filters are exact numbers in a panel's own SQL and in saved queries", async () => {
  const sql = "SELECT $n > $m AS more, typeof($n) AS type";
  const parameters = { n: { type: "integer" }, m: { type: "number" } };
  const saved = await created(await app.owner("POST", "/api/v1/queries", { name: "N", sql, parameters }));
  const board = await make({
    name: "Numbers",
    filters: [
      { key: "n", type: "number" },
      { key: "m", type: "number" },
    ],
    panels: [
      { key: "own", title: "Own", sql },
      { key: "saved", title: "Saved", queryId: saved.id },
    ],
  });
  const twice = await app.owner("GET", `${DASHBOARDS}/${board.id}/data?n=1&n=2`);
  expect(faultsOf(twice)).toEqual(["query.n string_type"]);
  const { panels } = await dataOf(board.id, "n=9007199254740993&m=10000000000000001.5");
  expect([panels.own.rows, panels.saved.rows]).toEqual([[[false, "BIGINT"]], [[false, "BIGINT"]]]);
});

test("numbers beyond doubles among a panel's fixed parameters are exact, and survive another save", async () => {
  const sql = "SELECT $n > $m AS more, typeof($n) AS type";
  const types = { n: { type: "integer" }, m: { type: "number" } };
  const query = { name: "Fixed", sql, parameters: types };
  const saved = created(await app.owner("POST", "/api/v1/queries", query));
  const fixed = `"parameters":{"n":9007199254740993,"m":10000000000000001}`;
  const body = `{"name":"Fixed","panels":[{"key":"own","title":"Own","sql":"${sql}",${fixed}},
    {"key":"saved","title":"Saved","queryId":"${saved.id}",${fixed}}]}`;
  const json = { "content-type": "application/json" };
  const board = created(await app.owner("POST", DASHBOARDS, body, json));
  expect(board.panels[0].parameters.n).toEqual({ $number: "9007199254740993" });
  const [{ key, title, parameters }, other] = board.panels;
  const panels = [
    { key, title, sql, parameters, width: 12 },
    { key: other.key, title: other.title, queryId: saved.id, parameters },
  ];
  expect((await app.owner("PATCH", `${DASHBOARDS}/${board.id}`, { panels })).status).toBe(200);
  const shown = (await dataOf(board.id)).panels;
  expect([shown.own.rows, shown.saved.rows]).toEqual([[[false, "BIGINT"]], [[false, "BIGINT"]]]);
  const run = await app.owner("POST", `/api/v1/queries/${saved.id}/run`, { parameters });
  expect(run.body.rows).toEqual([{ more: false, type: "BIGINT" }]);
});

test("a dashboard stores its panels with a position for each, and is changed with If-Match", async () => {
  const panels = [
    { ...TOTAL_PANEL, x: 0, y: 0, width: 12, height: 2 },
    { key: "left", title: "Left", sql: "SELECT 1 AS one" },
    { key: "right", title: "Right", sql: "SELECT 2 AS two" },
  ];
  const made = await make({ panels, refreshSeconds: 60 });
  expect(made).toMatchObject({ slug: "shop", refreshSeconds: 60, sharing: "organization", shareUrl: null });
  expect(made.filters[1]).toEqual({
    key: "period",
    label: "period",
    type: "date_range",
    default: { from: "2026-01-01", to: null },
    options: null,
    sql: null,
  });
  const places = made.panels.map(({ x, y, width, height }: Record<string, number>) => [x, y, width, height]);
  expect(places).toEqual([
    [0, 0, 12, 2],
    [0, 2, 6, 4],
    [6, 2, 6, 4],
  ]);
  const at = `${DASHBOARDS}/${made.id}`;
  const shown = await app.owner("GET", at);
  expect(shown.body).toEqual(made);
  const etag = shown.headers.get("etag") ?? "";
  const changed = await app.owner("PATCH", at, { name: "The shop" }, { "if-match": etag });
  expect(changed.body).toMatchObject({ name: "The shop", slug: "shop", panels: made.panels });
  expect((await app.owner("PATCH", at, { name: "Late" }, { "if-match": etag })).status).toBe(412);
  expect((await app.owner("PATCH", at, { name: "The shop" })).body.updatedAt).toBe(changed.body.updatedAt);
  const page = (await app.owner("GET", `${DASHBOARDS}?q=the+shop`)).body;
  expect(page).toMatchObject({ total: 1, hasNext: false, users: { [app.ids.userId]: { firstName: "Ada" } } });
  expect((await app.owner("DELETE", at)).status).toBe(204);
  const { body } = await app.owner("GET", `/api/v1/events?entityType=dashboard&entityId=${made.id}`);
  expect(body.items.map(({ type }: { type: string }) => type)).toEqual([
    "dashboard.deleted",
    "dashboard.updated",
    "dashboard.created",
  ]);
});

test("filters are bound into the panels' SQL: their defaults, the URL's values, or no value", async () => {
  const { id } = await make();
  const data = await dataOf(id);
  expect(data.filters).toEqual({ country: null, period_from: "2026-01-01", period_to: null, least: 0 });
  expect(data.choices.country).toEqual({ values: ["CH", "O'Land"], error: null });
  expect(data.panels.total).toMatchObject({
    columns: [{ name: "orders", dataType: "BIGINT" }],
    rows: [[5]],
    rowCount: 1,
    truncated: false,
    error: null,
  });
  const count = async (query: string) => (await dataOf(id, query)).panels.total.rows[0][0];
  expect(await count("country=CH")).toBe(3);
  expect(await count("country=O%27Land&least=10")).toBe(1);
  expect(await count("country=%27+OR+1%3D1+--")).toBe(0);
  expect(await count("period_from=2026-01-02&period_to=2026-01-02")).toBe(2);
  expect(await count("least=")).toBe(0);
  const least = async (text: string) => (await dataOf(id, `least=${text}`)).filters.least;
  expect([await least("1.10"), await least("007"), await least("9007199254740993")]).toEqual([
    1.1,
    7,
    "9007199254740993",
  ]);
  expect(
    faultsOf(await app.owner("GET", `${DASHBOARDS}/${id}/data?least=many&period_to=soon&lest=1`)),
  ).toEqual([
    "query.lest extra_forbidden",
    "query.period_to date_parsing",
    "query.least string_pattern_mismatch",
  ]);
});

test("a failed panel has its error, and the others their rows", async () => {
  const broken = { key: "broken", title: "Broken", sql: "SELECT nothing FROM raw.orders" };
  const { id } = await make({ panels: [broken, TOTAL_PANEL] });
  const { panels } = await dataOf(id);
  expect(Object.keys(panels)).toEqual(["broken", "total"]);
  expect(panels.broken).toMatchObject({ rows: [], rowCount: 0, error: { code: "sql_error" } });
  expect(panels.broken.error.message).toContain("nothing");
  expect(panels.total.rows).toEqual([[5]]);
});

deepTest(
  "a panel with a saved query uses the filters named like its parameters; one in use can't be deleted",
  async () => {
    const query = created(
      await app.owner("POST", "/api/v1/queries", {
        name: "By country",
        sql: "SELECT count(*) AS n FROM raw.orders WHERE country = coalesce($country, $fallback)",
        parameters: { country: { type: "text" }, fallback: { type: "text", default: "CH" } },
      }),
    );
    const { id } = await make({ panels: [{ key: "n", title: "N", queryId: query.id }] });
    expect((await dataOf(id)).panels.n.rows).toEqual([[3]]);
    expect((await dataOf(id, "country=O%27Land")).panels.n.rows).toEqual([[2]]);
    const used = await app.owner("DELETE", `/api/v1/queries/${query.id}`);
    expect([used.status, used.body.code]).toEqual([409, "in_use"]);
    expect(used.body.detail).toContain("Shop");
  },
);

deepTest("many viewers within refreshSeconds share one result", async () => {
  const { id } = await make({
    panels: [{ key: "n", title: "N", sql: "SELECT count(*) AS n FROM raw.visits" }],
    refreshSeconds: 60,
  });
  const visits = { layer: "raw", dataset: "visits", table: "visits", select: "SELECT 1 AS one" };
  await loadTable(contextOf(), visits);
  const ask = async () => (await dataOf(id)).panels.n;
  const [first, ...others] = await Promise.all([ask(), ask(), ask()]);
  expect(first.rows).toEqual([[1]]);
  await loadTable(contextOf(), visits);
  for (const other of [...others, await ask()]) expect(other).toEqual(first);
  app.clock.turn(60_000);
  expect((await ask()).rows).toEqual([[2]]);
});

test("a link shows anyone the dashboard, and nothing else, until it is revoked", async () => {
  const broken = { key: "broken", title: "Broken", sql: "SELECT secret_column FROM raw.orders" };
  const made = await make({ panels: [TOTAL_PANEL, broken], sharing: "link" });
  expect(made.shareUrl).toStartWith(`${app.origin}/d/`);
  const at = `/api/v1/shared-dashboards/${made.shareUrl.split("/").at(-1)}`;
  const shown = await app.anonymous("GET", at);
  expect(shown.body).toMatchObject({ name: "Shop", panels: [{ key: "total", title: "Orders" }, {}] });
  const data = await app.anonymous("GET", `${at}/data?country=CH`);
  expect(data.body.panels.total.rows).toEqual([[3]]);
  expect(data.body.panels.broken.error).toEqual({
    code: "internal",
    message: "This panel can't be shown right now.",
  });
  for (const { text } of [shown, data]) expect(text).not.toMatch(/SELECT|raw\.|secret_column|queryId/);
  const viewer = await join(app, "viewer");
  const seen = await viewer.call("GET", `${DASHBOARDS}/${made.id}`);
  expect([seen.body.sharing, seen.body.shareUrl]).toEqual(["link", null]);
  expect((await app.owner("GET", `${DASHBOARDS}/${made.id}`)).body.shareUrl).toBe(made.shareUrl);
  const html = await fetch(made.shareUrl, { headers: { accept: "text/html" } });
  expect([html.status, html.headers.get("content-type")]).toEqual([200, "text/html;charset=utf-8"]);

  const back = await app.owner("PATCH", `${DASHBOARDS}/${made.id}`, { sharing: "organization" });
  expect([back.body.sharing, back.body.shareUrl]).toEqual(["organization", null]);
  const gone = await app.anonymous("GET", at);
  expect([gone.status, gone.body.code]).toEqual([404, "not_found"]);
  const again = await app.owner("PATCH", `${DASHBOARDS}/${made.id}`, { sharing: "link" });
  expect(again.body.shareUrl).not.toBe(made.shareUrl);
  expect((await app.anonymous("GET", `${at}/data`)).status).toBe(404);
  const { text } = await app.owner("GET", `/api/v1/events?entityType=dashboard&entityId=${made.id}`);
  expect(text).not.toContain("/d/");
});

test("a link ends at its expiry, which can be moved, and only a link can have one", async () => {
  const soon = (ms: number) => new Date(app.clock.now().getTime() + ms).toISOString();
  const made = await make({ sharing: "link", shareExpiresAt: soon(3_600_000) });
  const at = `${DASHBOARDS}/${made.id}`;
  const path = `/api/v1/shared-dashboards/${made.shareUrl.split("/").at(-1)}`;
  const look = async () => [
    (await app.anonymous("GET", path)).status,
    (await app.anonymous("GET", `${path}/data`)).status,
  ];
  expect(await look()).toEqual([200, 200]);
  app.clock.turn(3_700_000);
  expect(await look()).toEqual([404, 404]);
  const moved = await app.owner("PATCH", at, { shareExpiresAt: soon(60_000) });
  expect(moved.body.shareUrl).toBe(made.shareUrl);
  expect(await look()).toEqual([200, 200]);
  const { items } = (await app.owner("GET", `/api/v1/events?entityId=${made.id}`)).body;
  expect(items[0].data.changes).toMatchObject([{ field: "shareExpiresAt", to: moved.body.shareExpiresAt }]);
  const past = await app.owner("PATCH", at, { shareExpiresAt: soon(-1) });
  expect(faultsOf(past)).toEqual(["body.shareExpiresAt value_error"]);
  const revoked = await app.owner("PATCH", at, { sharing: "organization" });
  expect(revoked.body).toMatchObject({ shareUrl: null, shareExpiresAt: null });
  const unshared = await app.owner("PATCH", at, { shareExpiresAt: soon(60_000) });
  expect(faultsOf(unshared)).toEqual(["body.shareExpiresAt value_error"]);
});

test("links are limited by address", async () => {
  const at = `/api/v1/shared-dashboards/nobody/data`;
  app.clock.turn(600_000);
  let limited = null;
  for (let n = 0; n < 200 && limited === null; n++) {
    const reply = await app.anonymous("GET", at);
    if (reply.status === 429) limited = reply;
  }
  expect(Number(limited?.headers.get("retry-after"))).toBeGreaterThan(0);
  app.clock.turn(600_000);
});

deepTest("a flashboard becomes a dashboard that refreshes", async () => {
  const action = await makeAction(app.owner, {
    kind: "create_flashboard",
    name: "Board",
    definition: {
      title: "Orders so far",
      panels: [
        {
          title: "By country",
          sql: "SELECT country, count(*) AS n FROM raw.orders WHERE total >= $least GROUP BY country ORDER BY country",
          parameters: { least: 10 },
          chart: { mark: "bar", encoding: { x: { field: "country" }, y: { field: "n" } } },
          width: "half",
        },
      ],
    },
  });
  const run = await runToEnd(app.owner, action.id);
  expect(run.error).toBeNull();
  const fromArtifactId = run.result.artifactId;
  const made = created(await app.owner("POST", DASHBOARDS, { fromArtifactId }));
  expect(made).toMatchObject({
    name: "Orders so far",
    panels: [
      { key: "panel_1", title: "By country", width: 6, chart: { mark: "bar" }, parameters: { least: 10 } },
    ],
  });
  expect((await dataOf(made.id)).panels.panel_1.rows).toEqual([
    ["CH", 2],
    ["O'Land", 1],
  ]);
  const page = await app.owner("POST", DASHBOARDS, { fromArtifactId: run.result.pageArtifactId });
  expect(faultsOf(page)).toEqual(["body.fromArtifactId value_error"]);
  expect(faultsOf(await app.owner("POST", DASHBOARDS, {}))).toEqual(["body.name missing"]);
});

test("conflicting fields are rejected, each at its place", async () => {
  const post = async (more: object) => faultsOf(await app.owner("POST", DASHBOARDS, { ...SHOP, ...more }));
  const panel = { key: "a", title: "A", sql: "SELECT 1 AS one" };
  expect(await post({ panels: [panel, panel] })).toEqual(["body.panels.1.key value_error"]);
  expect(await post({ panels: [{ key: "a", title: "A" }] })).toEqual(["body.panels.0.sql value_error"]);
  expect(await post({ panels: [{ ...panel, x: 8, width: 6 }] })).toEqual(["body.panels.0.width value_error"]);
  expect(await post({ panels: [{ ...panel, sql: null, queryId: app.ids.userId }] })).toEqual([
    "body.panels.0.queryId not_found",
  ]);
  expect(await post({ filters: [{ key: "c", type: "choice" }] })).toEqual([
    "body.filters.0.options value_error",
  ]);
  expect(await post({ filters: [{ key: "c", type: "choice", options: ["a"], default: "b" }] })).toEqual([
    "body.filters.0.default enum",
  ]);
  expect(await post({ filters: [{ key: "p", type: "date_range", default: { from: "soon" } }] })).toEqual([
    "body.filters.0.default.from date_parsing",
  ]);
});

test("a panel says which filter a click sets, which must be one of the dashboard's", async () => {
  const panel = (clickFilters: object) => ({ panels: [{ ...TOTAL_PANEL, clickFilters }] });
  const made = await make(panel({ day: "period", orders: null }));
  expect(made.panels[0].clickFilters).toEqual({ day: "period", orders: null });
  expect((await make()).panels[0].clickFilters).toEqual({});
  const at = `${DASHBOARDS}/${made.id}`;
  const refused = await app.owner("PATCH", at, panel({ day: "week" }));
  expect(faultsOf(refused)).toEqual(["body.panels.0.clickFilters.day not_found"]);
  const without = await app.owner("PATCH", at, { filters: [FILTERS[0]] });
  expect(faultsOf(without)).toEqual(["body.panels.0.clickFilters.day not_found"]);
});

test("viewers can read but not change, and another organization's dashboards are invisible", async () => {
  const { id } = await make();
  const viewer = await join(app, "viewer");
  expect((await viewer.call("GET", `${DASHBOARDS}/${id}/data`)).status).toBe(200);
  expect((await viewer.call("PATCH", `${DASHBOARDS}/${id}`, { sharing: "link" })).status).toBe(403);
  const other = await neighbour(app);
  expect((await other.call("GET", `${DASHBOARDS}/${id}/data`)).status).toBe(404);
  expect((await other.call("GET", DASHBOARDS)).body.total).toBe(0);
});
