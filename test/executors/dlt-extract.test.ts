import { describe, expect, test } from "bun:test";
import { csv, failure, openWorld, rows } from "./extract/world.ts";

describe("an append", () => {
  test("brings typed rows in one pass, with ids and counts", async () => {
    await using world = openWorld();
    const { result } = await world.run(
      { resources: [{ name: "Orders" }] },
      csv({ id: "INTEGER", Name: "VARCHAR", at: "TIMESTAMPTZ" }, '1,"a\nb",2026-01-01 00:00:00+00\n2,,\n3,"",\n'),
    );
    expect(result).toMatchObject({ loadId: "load-1", mode: "initial", rows: 3, warnings: [] });
    expect(result.tables).toMatchObject([{ table: "orders", rowsRead: 3, rows: 3, inserted: 3, updated: 0, files: 1, cursor: null }]);
    expect(result.tables[0]?.bytes).toBeGreaterThan(0);
    expect(world.locks).toEqual(["raw.shop"]);
    expect(await world.query("SELECT id, name, "at", _dlt_load_id FROM raw.shop__orders ORDER BY id")).toEqual([
      { id: 1, name: "a\nb", at: "2026-01-01T00:00:00.000Z", _dlt_load_id: "load-1" },
      { id: 2, name: null, at: null, _dlt_load_id: "load-1" },
      { id: 3, name: "", at: null, _dlt_load_id: "load-1" },
    ]);
    expect(await world.query("SELECT count(DISTINCT _dlt_id) AS n FROM raw.shop__orders")).toEqual([{ n: 3 }]);
  });

  test("spreads nested JSON over child tables that name their parents", async () => {
    await using world = openWorld();
    const { result } = await world.run(
      { resources: [{ name: "orders" }] },
      rows(
        [{ id: 1, at: "2026-01-01T10:00:00+02:00", to: { city: "Bern", geo: { lat: 1.5 } }, lines: [{ sku: "a", tags: ["x", "y"] }, { sku: "b" }], none: null }],
        [{ id: 2, at: "2026-01-02T00:00:00Z", lines: [], grid: [[1, 2], [3]], big: 2.5 }],
      ),
    );
    expect(result.tables.map((t) => [t.table, t.rows]).toSorted()).toEqual([
      ["orders", 2],
      ["orders__grid", 2],
      ["orders__grid__list", 3],
      ["orders__lines", 2],
      ["orders__lines__tags", 2],
    ]);
    expect(world.columns("orders")).toEqual({
      id: "BIGINT",
      at: "TIMESTAMP",
      to__city: "VARCHAR",
      to__geo__lat: "DOUBLE",
      big: "DOUBLE",
      _dlt_id: "VARCHAR",
      _dlt_load_id: "VARCHAR",
    });
    expect(
      await world.query(
        `SELECT o.id, o.at, l.sku, l._dlt_list_idx AS i, t.value FROM raw.shop__orders o
         JOIN raw.shop__orders__lines l ON l._dlt_parent_id = o._dlt_id AND l._dlt_root_id = o._dlt_id
         LEFT JOIN raw.shop__orders__lines__tags t ON t._dlt_parent_id = l._dlt_id AND t._dlt_root_id = o._dlt_id
         ORDER BY l._dlt_list_idx, t._dlt_list_idx`,
      ),
    ).toEqual([
      { id: 1, at: "2026-01-01T08:00:00.000", sku: "a", i: 0, value: "x" },
      { id: 1, at: "2026-01-01T08:00:00.000", sku: "a", i: 0, value: "y" },
      { id: 1, at: "2026-01-01T08:00:00.000", sku: "b", i: 1, value: null },
    ]);
  });
});

test("an incremental load takes rows at the boundary once", async () => {
  await using world = openWorld();
  const definition = { resources: [{ name: "o", primaryKey: ["id"], incremental: { cursorField: "at" } }] };
  const first = await world.run(definition, rows([{ id: 1, at: 10 }, { id: 2, at: 10 }, { id: 3, at: 11 }]));
  expect(first.result).toMatchObject({ mode: "initial", rows: 3 });
  expect(first.result.tables[0]?.cursor).toEqual({ start: null, end: 11 });
  const second = await world.run(definition, rows([{ id: 3, at: 11 }, { id: 4, at: 11 }, { id: 5, at: 12 }]));
  expect(second.result).toMatchObject({ mode: "incremental", rows: 2 });
  expect(second.result.tables[0]).toMatchObject({ rowsRead: 3, rows: 2, deduplicated: 1, cursor: { start: 11, end: 12 } });
  const third = await world.run(definition, rows([{ id: 5, at: 12 }]));
  expect(third.result).toMatchObject({ mode: "incremental", rows: 0 });
  expect(await world.query("SELECT id FROM raw.shop__o ORDER BY id")).toEqual([1, 2, 3, 4, 5].map((id) => ({ id })));
});

test("a merge replaces rows of its key and what hung from them", async () => {
  await using world = openWorld();
  const definition = { resources: [{ name: "o", primaryKey: ["id"], writeDisposition: "merge" }] };
  await world.run(definition, rows([{ id: 1, v: "a", l: [{ x: 1 }] }, { id: 2, v: "b", l: [{ x: 2 }, { x: 3 }] }]));
  const { result } = await world.run(definition, rows([{ id: 2, v: "old" }, { id: 2, v: "c", l: [{ x: 4 }] }, { id: 3, v: "d" }]));
  expect(result.tables[0]).toMatchObject({ rowsRead: 3, rows: 2, inserted: 1, updated: 1, deduplicated: 1 });
  expect(await world.query("SELECT id, v FROM raw.shop__o ORDER BY id")).toEqual([
    { id: 1, v: "a" },
    { id: 2, v: "c" },
    { id: 3, v: "d" },
  ]);
  expect(await world.query("SELECT x FROM raw.shop__o__l ORDER BY x")).toEqual([{ x: 1 }, { x: 4 }]);
});

test("freeze refuses a new column by name", async () => {
  await using world = openWorld();
  const resources = [{ name: "o" }];
  await world.run({ resources }, rows([{ id: 1 }]));
  const error = await failure(world.run({ resources, schemaContract: "freeze" }, rows([{ id: 2, extra: 1 }])));
  expect(error.code).toBe("schema_contract_violation");
  expect(error.details).toMatchObject({ table: "o", column: "extra" });
});
