import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { contextFor } from "../../src/context.ts";
import { startApp } from "../support/app.ts";
import { loadTable } from "../support/lake.ts";
import { deepTest } from "../support/scale.ts";
import { ACTIONS, makeAction, runToEnd } from "../support/work.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  weir = await startApp();
  const ctx = contextFor(weir.app, {
    organizationId: weir.ids.organizationId,
    role: "member",
    actor: { type: "user", id: weir.ids.userId },
    correlationId: "test-chain",
  });
  const select = "SELECT * FROM (VALUES ('tea', 3), ('<script>alert(1)</script>', 5)) t(product, sold)";
  await loadTable(ctx, { layer: "marts", dataset: "sales", table: "sales", select });
  await loadTable(ctx, { layer: "raw", dataset: "other", table: "other", select: "SELECT 1 AS x" });
});
afterAll(() => weir[Symbol.asyncDispose]());

const bars = {
  mark: "bar",
  encoding: { x: { field: "product", type: "nominal" }, y: { field: "sold", type: "quantitative" } },
};
const sales = { title: "Sales", sql: "SELECT product, sold FROM marts.sales ORDER BY sold", chart: bars };

/** Runs a flashboard with these panels to its end. */
async function board(panels: object[], more: object = {}) {
  const definition = { title: "Shop & more", panels, ...more };
  const action = await makeAction(weir.owner, { kind: "create_flashboard", name: "Board", definition });
  return runToEnd(weir.owner, action.id);
}

describe("a flashboard", () => {
  test("leaves its panels with rows, picture and origin, and a standalone page", async () => {
    const table = { title: "As a table", sql: "SELECT * FROM marts.sales", width: "half" };
    const run = await board([sales, table]);
    expect(run.error).toBeNull();
    expect(run.result).toEqual({
      artifactId: expect.any(String),
      pageArtifactId: expect.any(String),
      title: "Shop & more",
      panels: [
        { title: "Sales", rows: 2, truncated: false, note: null, tables: ["marts.sales.sales"] },
        { title: "As a table", rows: 2, truncated: false, note: null, tables: ["marts.sales.sales"] },
      ],
      warnings: [],
    });
    const artifact = (await weir.owner("GET", `/api/v1/artifacts/${run.result.artifactId}`)).body;
    const { data } = artifact.content;
    expect(artifact).toMatchObject({ kind: "json", actionRunId: run.id, title: "Shop & more" });
    expect(data).toMatchObject({ type: "flashboard", version: 1, title: "Shop & more" });
    expect(data.panels[0]).toEqual({
      title: "Sales",
      sql: sales.sql,
      chart: bars,
      width: 12,
      columns: [
        { name: "product", dataType: "VARCHAR", nullable: true },
        { name: "sold", dataType: "INTEGER", nullable: true },
      ],
      rows: [
        { product: "tea", sold: 3 },
        { product: "<script>alert(1)</script>", sold: 5 },
      ],
      truncated: false,
      note: null,
      svg: expect.stringContaining("<svg"),
      provenance: {
        runId: run.id,
        queriedAt: expect.any(String),
        durationSeconds: expect.any(Number),
        tables: [{ layer: "marts", dataset: "sales", table: "sales", version: 1, rows: 2 }],
      },
    });
    expect(data.panels[0].svg).toContain('aria-roledescription="bar"');
    expect(data.panels[0].svg).not.toContain("<script");
    expect(data.panels[1]).toMatchObject({ chart: null, svg: null, width: 6 });

    const page = await weir.owner("GET", `/api/v1/artifacts/${run.result.pageArtifactId}/content`);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-disposition")).toContain('filename="Shop more.html"');
    expect(page.text).toContain("Shop &amp; more");
    expect(page.text).toContain("<td>&lt;script&gt;alert(1)&lt;/script&gt;</td>");
    expect(page.text).not.toMatch(/<script|https?:\/\/(?!www\.w3\.org)/);
  });

  deepTest("says which panel has no data, and which one was cut", async () => {
    const run = await board([
      { title: "None", sql: "SELECT product, sold FROM marts.sales WHERE sold > 100", chart: bars },
      { ...sales, maxRows: 1 },
    ]);
    expect(run.result.warnings).toEqual(["Sales: only the first 1 row.", "None: no rows."]);
    expect(run.result.panels[0]).toMatchObject({ rows: 0, note: "No data for this panel." });
    const { text } = await weir.owner("GET", `/api/v1/artifacts/${run.result.pageArtifactId}/content`);
    expect(text).toContain("No data for this panel.");
    expect(text).toContain("Shows only the first 1 row.");
  });

  test("binds values of templates as parameters", async () => {
    const run = await board([
      { title: "Bound", sql: "SELECT {{input.name}} AS name, $n AS n", parameters: { n: 2 } },
    ]);
    expect(run.error).toMatchObject({ code: "template_error" });
    const definition = { title: "T", panels: [{ title: "Bound", sql: "SELECT {{run.id}} AS id" }] };
    const action = await makeAction(weir.owner, { kind: "create_flashboard", name: "Bound", definition });
    const done = await runToEnd(weir.owner, action.id);
    const { body } = await weir.owner("GET", `/api/v1/artifacts/${done.result.artifactId}`);
    expect(body.content.data.panels[0].rows).toEqual([{ id: done.id }]);
  });

  test("reads only the datasets that it names, if it names some", async () => {
    const panel = { title: "Other", sql: "SELECT * FROM raw.other" };
    expect((await board([panel], { datasets: ["raw.other"] })).status).toBe("completed");
    expect((await board([panel], { datasets: ["marts.sales"] })).error).toMatchObject({ code: "sql_error" });
    expect((await board([panel], { datasets: ["raw.none"] })).error).toMatchObject({
      code: "not_found",
      message: "There is no dataset raw.none.",
    });
  });

  deepTest("shows a table as of a load, and says which load", async () => {
    const write = (n: number) => ({
      sql: `SELECT ${n} AS n`,
      output: { layer: "marts", dataset: "counts", writeDisposition: n === 1 ? "append" : "replace" },
    });
    const loads: string[] = [];
    for (const n of [1, 2]) {
      const definition = write(n);
      const action = await makeAction(weir.owner, {
        kind: "duckdb_transform",
        name: `Count ${n}`,
        definition,
      });
      loads.push((await runToEnd(weir.owner, action.id)).id);
    }
    const [first = ""] = loads;
    const then = {
      title: "Then",
      sql: "SELECT n FROM marts.counts AS OF $load",
      parameters: { load: first },
    };
    const both = `SELECT a.n AS past, counts.n FROM marts.counts AS OF '${first}' a, marts.counts`;
    const run = await board([then, { title: "Both", sql: both }, { title: "Now", sql: "FROM marts.counts" }]);
    expect(run.error).toBeNull();
    expect(run.result.panels.map((panel: { tables: string[] }) => panel.tables)).toEqual(
      Array(3).fill(["marts.counts.counts"]),
    );
    const { panels } = (await weir.owner("GET", `/api/v1/artifacts/${run.result.artifactId}`)).body.content
      .data;
    expect(panels[0]).toMatchObject({ sql: then.sql, rows: [{ n: 1 }] });
    expect(panels[1].rows).toEqual([{ past: 1, n: 2 }]);
    expect(panels[2].rows).toMatchObject([{ n: 2 }]);
    const of = { layer: "marts", dataset: "counts", table: "counts", rows: 1 };
    expect(panels.map((panel: { provenance: { tables: object[] } }) => panel.provenance.tables)).toEqual([
      [{ ...of, version: null, asOf: first }],
      [
        { ...of, version: expect.any(Number) },
        { ...of, version: null, asOf: first },
      ],
      [{ ...of, version: expect.any(Number) }],
    ]);
    const { text } = await weir.owner("GET", `/api/v1/artifacts/${run.result.pageArtifactId}/content`);
    expect(text).toContain(`marts.counts, table counts: as of load ${first}, 1 row`);

    expect((await board([then], { datasets: ["marts.sales"] })).error).toMatchObject({
      code: "sql_error",
      message: 'The panel "Then": marts.counts is not among the panels\' datasets.',
    });
    expect((await board([{ title: "None", sql: "FROM marts.counts AS OF 'nothing'" }])).error).toMatchObject({
      code: "sql_error",
      message: 'The panel "None": Load "nothing" not found.',
    });
  });

  test.each([
    [
      "SQL that is wrong",
      { ...sales, sql: "SELECT nope FROM marts.sales" },
      "sql_error",
      'The panel "Sales"',
    ],
    [
      "a field that the SQL does not give",
      { ...sales, chart: { ...bars, encoding: { x: { field: "price", type: "quantitative" } } } },
      "definition_invalid",
      "shows price, which its SQL does not give; it gives product, sold",
    ],
    [
      "a chart that Vega-Lite does not take",
      {
        ...sales,
        chart: {
          mark: "bar",
          encoding: {
            x: { field: "sold", type: "quantitative", bin: { maxbins: "x" } },
            y: { aggregate: "nope", field: "sold" },
          },
        },
      },
      "definition_invalid",
      'The chart of the panel "Sales"',
    ],
    [
      "an expression that would run as code",
      {
        ...sales,
        chart: {
          ...bars,
          transform: [{ calculate: "constructor.constructor('return process')()", as: "p" }],
        },
      },
      "definition_invalid",
      'The chart of the panel "Sales"',
    ],
    [
      "a chart that takes all memory",
      {
        ...sales,
        chart: {
          ...bars,
          transform: [{ impute: "sold", key: "product", keyvals: { start: 0, stop: 1e9, step: 1 } }],
        },
      },
      "definition_invalid",
      "to draw. Show fewer marks",
    ],
  ])(
    "fails at %s, and leaves nothing",
    async (_, panel, code, message) => {
      const run = await board([panel]);
      expect(run.status).toBe("failed");
      expect(run.error).toMatchObject({ code, message: expect.stringContaining(message) });
      const { body } = await weir.owner("GET", `/api/v1/artifacts?action_run_id=${run.id}`);
      expect(body.total).toBe(0);
    },
    120_000,
  );

  test.each<[string, object, string]>([
    ["neither panels nor prompt", {}, "panels"],
    ["both", { prompt: "sales", panels: [sales] }, "panels"],
    [
      "data of its own",
      { panels: [{ ...sales, chart: { ...bars, data: { url: "http://x" } } }] },
      "panels.0.chart.data",
    ],
    [
      "a link",
      { panels: [{ ...sales, chart: { mark: "bar", encoding: { href: { field: "x" } } } }] },
      "panels.0.chart.encoding.href",
    ],
    ["an unknown mark", { panels: [{ ...sales, chart: { mark: "pie" } }] }, "panels.0.chart.mark"],
    ["an image", { panels: [{ ...sales, chart: { mark: { type: "image" } } }] }, "panels.0.chart.mark"],
    ["no mark", { panels: [{ ...sales, chart: {} }] }, "panels.0.chart.mark"],
    ["a width of 13", { panels: [{ ...sales, width: 13 }] }, "panels.0.width"],
    ["25 panels", { panels: Array(25).fill(sales) }, "panels"],
    ["a panel without SQL", { panels: [{ title: "x" }] }, "panels.0.sql"],
  ])("is rejected when saved with %s", async (_, definition, path) => {
    const body = { kind: "create_flashboard", name: "x", definition: { title: "x", ...definition } };
    const { status, body: reply } = await weir.owner("POST", ACTIONS, body);
    expect(status).toBe(422);
    expect(reply.detail.map((fault: { loc: string[] }) => fault.loc.join("."))).toContain(
      `body.definition.${path}`,
    );
  });
});
