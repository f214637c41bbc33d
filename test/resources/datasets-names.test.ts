import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { eq } from "drizzle-orm";
import { lakeFiles, lakeTables } from "../../src/resources/datasets/table.ts";
import { connectFolder, startData } from "../data/place.ts";
import { neighbour } from "../support/people.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  data = await startData();
});
afterAll(() => data[Symbol.asyncDispose]());

const upload = (dataset: string, table = dataset, call = data.app.owner, content = "id\n1\n") =>
  call(
    "PUT",
    `/api/v1/datasets/raw/${dataset}/upload?table=${table}&writeDisposition=append`,
    Buffer.from(content),
    { "content-type": "text/csv" },
  );

test.each([
  ["shop", "orders__lines", "shop__orders", "lines"],
  ["a__b", "a__b", "a", "b"],
  ["c", "d", "c__d", "c__d"],
])("a table can't take the name that %s.%s has in SQL: %s.%s", async (dataset, table, other, second) => {
  expect((await upload(dataset, table)).status).toBe(201);
  const { status, body } = await upload(other, second);
  expect([status, body.code]).toEqual([409, "conflict"]);
  expect(body.detail).toBe(
    `Table ${second} of dataset ${other} would be raw.${dataset === table ? dataset : `${dataset}__${table}`} in SQL, which is the name of table ${table} of dataset ${dataset}. Use another dataset or table name.`,
  );
  expect(await data.sums("raw", other, second)).toBeNull();
  expect((await upload(dataset, table)).status).toBe(201);
});

test("the same names in another layer or another organization are free", async () => {
  expect((await upload("free", "x__y")).status).toBe(201);
  const { organization } = await neighbour(data.app);
  expect(organization.id).not.toBe(data.app.ids.organizationId);
  await data.transform({
    sql: "SELECT 1 AS id",
    output: { layer: "marts", dataset: "free__x__y" },
  });
  expect(await data.rows("SELECT id FROM marts.free__x__y")).toEqual([{ id: 1 }]);
});

test("a transform and an extract into such a name fail and write nothing", async () => {
  expect((await upload("till", "lines__parts")).status).toBe(201);
  const message =
    "would be raw.till__lines__parts in SQL, which is the name of table lines__parts of dataset till. Use another dataset or table name.";
  const transformed = await data.end("duckdb_transform", {
    sql: "SELECT 1 AS id",
    output: { layer: "raw", dataset: "till__lines__parts" },
  });
  expect([transformed.status, transformed.error]).toEqual([
    "failed",
    expect.objectContaining({
      code: "conflict",
      retryable: false,
      message: `Table till__lines__parts of dataset till__lines__parts ${message}`,
    }),
  ]);

  const folder = await connectFolder(data.owner);
  await data.upload(folder, "/parts.csv", "id\n7\n");
  const extract = await data.extract(folder, {
    dataset: "till__lines",
    resources: [{ name: "parts", spec: "/parts.csv" }],
  });
  const extracted = await extract.run();
  expect([extracted.status, extracted.error.code, extracted.error.message]).toEqual([
    "failed",
    "conflict",
    `Table parts of dataset till__lines ${message}`,
  ]);
  const renamed = { dataset: "free_name", resources: [{ name: "parts", spec: "/parts.csv" }] };
  expect((await extract.run(renamed)).status).toBe("completed");
  for (const dataset of ["till__lines__parts", "till__lines"])
    expect(await data.sums("raw", dataset, "parts")).toBeNull();
  expect(await data.rows("SELECT id FROM raw.till__lines__parts")).toEqual([{ id: 1 }]);
});

test("tables that shared a name before stay readable, and accept rows", async () => {
  await upload("old", "x__y");
  await upload("apart", "y", data.app.owner, "id\n2\n");
  await data.app.app.store.write(async (db) => {
    for (const table of [lakeTables, lakeFiles])
      await db.update(table).set({ dataset: "old__x" }).where(eq(table.dataset, "apart"));
  });
  expect((await upload("old__x", "y", data.app.owner, "id\n3\n")).status).toBe(201);
  expect((await upload("old", "x__y", data.app.owner, "id\n4\n")).status).toBe(201);
  expect(await data.sums("raw", "old__x", "y")).toMatchObject({ rows: 2 });
  expect(await data.rows("SELECT id FROM raw.old__x__y ORDER BY id")).toEqual([{ id: 1 }, { id: 4 }]);
});
