import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readsOf } from "../../src/lake/reads.ts";
import { join as enrol } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { ACTIONS, created, flowToEnd, makeAction, makeAutomation, runEnd } from "../support/work.ts";
import { connectFolder, startData } from "./place.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  data = await startData();
});
afterAll(() => data[Symbol.asyncDispose]());

const lineage = async (place: string, query = "") => {
  const reply = await data.owner("GET", `/api/v1/datasets/${place}/lineage${query}`);
  if (reply.status !== 200) throw new Error(reply.text);
  return reply.body;
};
const transform = { kind: "duckdb_transform", name: "Sums" };

test("a dataset shows which runs wrote it from which sources, and which read it", async () => {
  const folder = await connectFolder(data.owner);
  await data.upload(folder, "/orders.jsonl", '{"id":1,"n":2}\n{"id":2,"n":3}');
  const extract = await data.extract(folder, {
    dataset: "shop",
    resources: [{ name: "orders", spec: "orders.jsonl" }],
  });
  const { loadId } = await extract.result();
  await data.owner("PUT", "/api/v1/datasets/raw/rates/upload?format=csv", Buffer.from("rate\n2\n"), {
    "content-type": "text/csv",
  });
  const output = { layer: "marts", dataset: "sums" };
  const sql = 'SELECT sum(n * rate) AS total FROM raw.shop__orders, "raw"."rates"';
  const action = await makeAction(data.owner, { ...transform, definition: { sql, output } });
  const run = created(await data.owner("POST", `${ACTIONS}/${action.id}/run`));
  await data.good(run.id);
  const look = created(
    await data.owner(
      "POST",
      `${ACTIONS}/${(await makeAction(data.owner, { ...transform, definition: { sql: "FROM marts.sums" } })).id}/run`,
    ),
  );
  await data.good(look.id);

  expect(await lineage("marts/sums")).toEqual({
    layer: "marts",
    dataset: "sums",
    writes: [
      {
        loadId: run.id,
        kind: "duckdb_transform",
        actionRunId: run.id,
        actionId: action.id,
        committedAt: expect.stringMatching(/Z$/),
        sources: expect.arrayContaining([
          { layer: "raw", dataset: "rates", tables: ["rates"] },
          { layer: "raw", dataset: "shop", tables: ["orders"] },
        ]),
      },
    ],
    reads: [
      {
        actionRunId: look.id,
        actionId: look.actionId,
        kind: "duckdb_transform",
        tables: ["sums"],
        readAt: expect.stringMatching(/Z$/),
        loadId: null,
        target: null,
      },
    ],
  });
  const shop = await lineage("raw/shop");
  expect(shop.writes).toEqual([
    {
      loadId,
      kind: "dlt_extract",
      actionRunId: loadId,
      actionId: extract.id,
      committedAt: expect.any(String),
      sources: [],
    },
  ]);
  expect(shop.reads).toMatchObject([
    { actionRunId: run.id, tables: ["orders"], loadId: run.id, target: { layer: "marts", dataset: "sums" } },
  ]);
  const [uploaded] = (await lineage("raw/rates")).writes;
  expect(uploaded).toMatchObject({ kind: "upload", actionRunId: null, actionId: null, sources: [] });
});

test("a failed run leaves no trace in it, and the list respects its limit", async () => {
  await data.owner("PUT", "/api/v1/datasets/raw/kept/upload?format=csv", "a\n1\n", {
    "content-type": "text/csv",
  });
  await data.owner("PUT", "/api/v1/datasets/raw/kept/upload?format=csv", "a\n2\n", {
    "content-type": "text/csv",
  });
  const definition = { sql: "SELECT a / 0 + nome FROM raw.kept" };
  const failing = await data.begin("duckdb_transform", definition);
  expect((await runEnd(data.owner, failing.id)).status).toBe("failed");
  const whole = await lineage("raw/kept");
  expect([whole.writes.length, whole.reads.length]).toEqual([2, 0]);
  expect((await lineage("raw/kept", "?limit=1")).writes).toEqual(whole.writes.slice(0, 1));
  for (const limit of [0, 101])
    expect((await data.owner("GET", `/api/v1/datasets/raw/kept/lineage?limit=${limit}`)).status).toBe(422);
});

test("it is visible to viewers, in their own organization", async () => {
  const path = "/api/v1/datasets/raw/kept/lineage";
  const { call: viewer } = await enrol(data.app, "viewer");
  expect((await viewer("GET", path)).status).toBe(200);
  expect((await data.app.anonymous("GET", path)).status).toBe(401);
  const { body: beta } = await data.owner("POST", "/api/v1/organizations", { name: "Beta" });
  expect((await data.owner("GET", path, undefined, { "x-organization-id": beta.id })).status).toBe(404);
  expect((await data.owner("GET", "/api/v1/datasets/raw/nothing/lineage")).status).toBe(404);
});

test("its graph leads from connections through actions and steps to queries and dashboards, up to the requested depth", async () => {
  const folder = await connectFolder(data.owner, "/graph");
  await data.upload(folder, "/sales.jsonl", '{"id":1,"n":2}');
  const extract = await data.extract(folder, {
    dataset: "graph_shop",
    resources: [{ name: "sales", spec: "sales.jsonl" }],
  });
  await extract.result();
  const output = { layer: "marts", dataset: "graph_sums" };
  const flow = await makeAutomation(
    data.owner,
    {
      steps: [
        {
          key: "sum",
          kind: "duckdb_transform",
          definition: { sql: "SELECT sum(n) AS total FROM raw.graph_shop__sales", output },
        },
      ],
    },
    { name: "Nightly sums" },
  );
  await flowToEnd(data.owner, flow.id);
  const query = created(
    await data.owner("POST", "/api/v1/queries", { name: "Total", sql: "SELECT * FROM marts.graph_sums" }),
  );
  await data.owner("POST", "/api/v1/queries", { name: "Other", sql: "SELECT 'marts.graph_sums' AS a" });
  const panel = { key: "a", title: "A", x: 0, y: 0, width: 3, height: 3 };
  const board = created(
    await data.owner("POST", "/api/v1/dashboards", {
      name: "Board",
      panels: [{ ...panel, queryId: query.id }],
    }),
  );
  const direct = created(
    await data.owner("POST", "/api/v1/dashboards", {
      name: "Sales",
      panels: [{ ...panel, sql: "SELECT n FROM raw.graph_shop__sales" }],
    }),
  );
  const graphOf = async (place: string, depth = 3) => {
    const { status, body } = await data.owner(
      "GET",
      `/api/v1/datasets/${place}/lineage/graph?depth=${depth}`,
    );
    expect(status).toBe(200);
    const names = new Map(
      body.nodes.map(({ id, type, name }: Record<string, string>) => [id, `${type} ${name}`]),
    );
    const edges = body.edges.map(
      ({ from, to }: Record<string, string>) => `${names.get(from)} → ${names.get(to)}`,
    );
    return { ...body, edges: edges.sort() };
  };
  const shop = await graphOf("raw/graph_shop");
  expect(shop.edges).toEqual([
    "action Extract → dataset raw.graph_shop",
    "connection Files /graph → action Extract",
    "dataset marts.graph_sums → query Total",
    "dataset raw.graph_shop → dashboard Sales",
    "dataset raw.graph_shop → step Nightly sums",
    "query Total → dashboard Board",
    "step Nightly sums → dataset marts.graph_sums",
  ]);
  expect(shop.truncated).toBe(false);
  expect(shop.nodes).toContainEqual({
    id: `step:${flow.id}:sum`,
    type: "step",
    name: "Nightly sums",
    kind: "duckdb_transform",
    resourceId: flow.id,
    layer: null,
    dataset: null,
    stepKey: "sum",
    updatedAt: null,
  });
  const idsOf = (nodes: Record<string, string>[], type: string) =>
    nodes.filter((node) => node.type === type).map(({ resourceId }) => resourceId);
  expect(idsOf(shop.nodes, "dashboard").sort()).toEqual([board.id, direct.id].sort());
  const sums = await graphOf("marts/graph_sums");
  expect(sums.edges).toContain("connection Files /graph → action Extract");
  expect(sums.edges).not.toContain("dataset raw.graph_shop → dashboard Sales");
  const near = await graphOf("marts/graph_sums", 1);
  expect([near.truncated, near.edges.includes("dataset raw.graph_shop → step Nightly sums")]).toEqual([
    true,
    true,
  ]);
  expect(near.edges).not.toContain("action Extract → dataset raw.graph_shop");
  const { body: beta } = await data.owner("POST", "/api/v1/organizations", { name: "Gamma" });
  const path = "/api/v1/datasets/raw/graph_shop/lineage/graph";
  expect((await data.owner("GET", path, undefined, { "x-organization-id": beta.id })).status).toBe(404);
});

test("only tables in the SQL count, not those in texts and comments", () => {
  const table = { columns: [], files: [], rows: 0, bytes: 0, version: 1 };
  const tables = [
    { layer: "raw", dataset: "shop", table: "orders", ...table },
    { layer: "raw", dataset: "shop", table: "items", ...table },
    { layer: "raw", dataset: "orders", table: "orders", ...table },
    { layer: "marts", dataset: "sums", table: "sums", ...table },
  ];
  const sql =
    "SELECT 'raw.shop__items', o.id FROM RAW.Shop__Orders o /* marts.sums */ JOIN raw . \"orders\" USING (id) -- raw.shop__items";
  expect(readsOf(sql, tables)).toEqual([
    { layer: "raw", dataset: "shop", tables: ["orders"] },
    { layer: "raw", dataset: "orders", tables: ["orders"] },
  ]);
});

deepTest("a dashboard shows what its panels read", async () => {
  for (const name of ["shown", "hidden"])
    await data.owner("PUT", `/api/v1/datasets/raw/${name}/upload?format=csv`, "a\n1\n", {
      "content-type": "text/csv",
    });
  const panels = [
    { title: "One", sql: "SELECT a FROM raw.shown -- all of it" },
    { title: "Two", sql: "SELECT 'raw.hidden' AS a" },
  ];
  const board = await data.begin("create_flashboard", { title: "Board", panels });
  await data.good(board.id);
  expect((await lineage("raw/shown")).reads).toEqual([
    {
      actionRunId: board.id,
      actionId: board.actionId,
      kind: "create_flashboard",
      tables: ["shown"],
      readAt: expect.any(String),
      loadId: null,
      target: null,
    },
  ]);
  expect((await lineage("raw/hidden")).reads).toEqual([]);
});
