import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { deepTest } from "../support/scale.ts";
import { connectFolder, startData } from "./place.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  data = await startData();
});
afterAll(async () => {
  await data[Symbol.asyncDispose]();
});

/** Short and long ones, since DuckDB stores texts of more than twelve bytes separately. */
const VALUES = ["\ufeff", "\ufeffa", "\ufeff\ufeffb", "\ufeffa text of more than twelve bytes", "c\ufeff"];

test("a query returns values that begin with U+FEFF, alone and inside others", async () => {
  for (const value of VALUES) {
    expect(await data.rows(`SELECT '${value}' AS a, $v AS b, length($v) AS n`, { v: value })).toEqual([
      { a: value, b: value, n: value.length },
    ]);
  }
  const nested =
    "SELECT [$v] AS list, {k: $v} AS struct, map([$v], [$v]) AS map, union_value(u := $v) AS one";
  expect(await data.rows(nested, { v: "\ufeffx" })).toEqual([
    { list: ["\ufeffx"], struct: { k: "\ufeffx" }, map: { "\ufeffx": "\ufeffx" }, one: "\ufeffx" },
  ]);
  expect(await data.rows("SELECT $list AS list", { list: VALUES })).toEqual([{ list: VALUES }]);
  expect(await data.rows(`SELECT '{"k":"\ufeffx"}'::JSON AS json`)).toEqual([{ json: { k: "\ufeffx" } }]);
});

deepTest("an extract, a preview, a transform and its results keep them", async () => {
  const folder = await connectFolder(data.owner);
  const rows = VALUES.map((name, id) => ({ id, name }));
  await data.upload(folder, "/names.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
  const extract = await data.extract(folder, {
    dataset: "names",
    resources: [{ spec: "names.jsonl", name: "names", primaryKey: ["name"], writeDisposition: "merge" }],
  });
  expect((await extract.result()).tables[0]).toMatchObject({ inserted: VALUES.length });
  expect((await extract.result()).tables[0]).toMatchObject({ inserted: 0 });
  expect(await data.rows("SELECT id, name FROM raw.names ORDER BY id")).toEqual(rows);
  const { body } = await data.owner("GET", "/api/v1/datasets/raw/names/preview");
  const previewed = body.rows.map(({ name }: { name: string }) => name);
  expect(previewed.toSorted()).toEqual(VALUES.toSorted());

  const run = await data.end("duckdb_transform", { sql: "SELECT id, name FROM raw.names ORDER BY id" });
  const { artifacts } = (await data.owner("GET", `/api/v1/artifacts?action_run_id=${run.id}`)).body;
  const kept = await data.owner("GET", `/api/v1/artifacts/${artifacts[0].id}/content`);
  expect(kept.body.rows).toEqual(rows);
  await data.transform({
    sql: "SELECT name, $v AS given FROM raw.names WHERE name = $v",
    parameters: { v: VALUES[1] },
    output: { layer: "marts", dataset: "marked" },
  });
  expect(await data.rows("SELECT name, given FROM marts.marked")).toEqual([
    { name: VALUES[1], given: VALUES[1] },
  ]);
});
