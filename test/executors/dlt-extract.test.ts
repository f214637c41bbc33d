import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { read } from "../../src/base/shape.ts";
import { dltExtract } from "../../src/executors/dlt-extract.ts";
import { csv, failure, openWorld, rows, type Source } from "./extract/world.ts";

const one = { resources: [{ name: "o" }] };

describe("the definition", () => {
  const faults = (definition: object) =>
    dltExtract.checkSource?.(definition as never, null).map(({ path }) => path.join("."));

  test("is rejected with what only looks right", () => {
    expect(
      faults({
        dataset: "Shop",
        layer: "1st",
        resources: [{ name: "a", writeDisposition: "merge" }, {}, { spec: "A" }],
      }),
    ).toEqual(["dataset", "layer", "resources.0.primaryKey", "resources.1.name", "resources.2.spec"]);
    expect(
      faults({ dataset: "shop", resources: [{ name: "a", incremental: { cursorField: "x", endValue: 3 } }] }),
    ).toEqual(["resources.0.incremental.initialValue"]);
    expect(
      faults({ dataset: "shop", resources: [{ name: "a", writeDisposition: "merge", primaryKey: ["id"] }] }),
    ).toEqual([]);
  });

  test("can have templates as values", () => {
    expect(faults({ dataset: "{{input.d}}", resources: "{{input.r}}" })).toEqual([]);
    expect(faults({ dataset: "d", resources: [{ name: "{{input.a}}" }, { name: "{{input.a}}" }] })).toEqual(
      [],
    );
  });

  test("is rejected with unknown fields, at every depth", () => {
    const shape = (definition: object) =>
      read(dltExtract.definition, definition, []).faults.map(({ loc }) => loc.join("."));
    expect(
      shape({
        dataset: "d",
        resources: [{ name: "a", nam: 1, incremental: { cursorField: "x", lag: 1 } }],
        maxrows: 1,
      }),
    ).toEqual(["resources.0.incremental.lag", "resources.0.nam", "maxrows"]);
    expect(shape({ dataset: "d", resources: [] })).toEqual(["resources"]);
    expect(shape({ resources: ["a"] })).toContain("dataset");
  });
});

describe("an append", () => {
  test("loads typed rows with IDs and counts", async () => {
    await using world = openWorld();
    const { result, ctx } = await world.run(
      { resources: [{ name: "Orders" }] },
      csv(
        { id: "INTEGER", Name: "VARCHAR", at: "TIMESTAMPTZ" },
        '1,"a\r\nb",2026-01-01 00:00:00+00\n2,,\n3,"",\n',
      ),
    );
    expect(result).toMatchObject({ loadId: "load-1", mode: "initial", rows: 3, warnings: [] });
    expect(result.tables).toMatchObject([
      {
        table: "orders",
        rowsRead: 3,
        rows: 3,
        inserted: 3,
        updated: 0,
        files: 1,
        cursor: null,
        schemaChanges: [],
      },
    ]);
    expect(result.bytes).toBeGreaterThan(0);
    expect(world.locks).toEqual(["raw.shop"]);
    expect(
      await world.query('SELECT id, name, "at", _dlt_load_id FROM raw.shop__orders ORDER BY id'),
    ).toEqual([
      { id: 1, name: "a\r\nb", at: "2026-01-01T00:00:00.000Z", _dlt_load_id: "load-1" },
      { id: 2, name: null, at: null, _dlt_load_id: "load-1" },
      { id: 3, name: "", at: null, _dlt_load_id: "load-1" },
    ]);
    expect(ctx.logs.map((line) => line.message)).toEqual([
      "Orders: 3 rows read, 3 loaded, 0 duplicates, 0 rejected.",
    ]);
    expect(new Set(ctx.progresses.map((progress) => progress.phase))).toEqual(
      new Set(["extract", "load", "commit"]),
    );
  });

  test("adds to existing rows, with new IDs", async () => {
    await using world = openWorld();
    await world.run(one, rows([{ id: 1 }]));
    const { result } = await world.run(one, rows([{ id: 2 }]));
    expect(result.mode).toBe("incremental");
    expect(
      await world.query(
        "SELECT count(*) AS n, count(DISTINCT _dlt_id) AS ids, count(DISTINCT _dlt_load_id) AS loads FROM raw.shop__o",
      ),
    ).toEqual([{ n: 2, ids: 2, loads: 2 }]);
  });

  test("spreads nested JSON over child tables that name their parents", async () => {
    await using world = openWorld();
    const { result } = await world.run(
      { resources: [{ name: "orders" }] },
      rows(
        [
          {
            id: 1,
            at: "2026-01-01T10:00:00+02:00",
            to: { city: "Bern", geo: { lat: 1.5 } },
            lines: [{ sku: "a", tags: ["x", "y"] }, { sku: "b" }],
            none: null,
          },
        ],
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
      at: "TIMESTAMP WITH TIME ZONE",
      to__city: "VARCHAR",
      to__geo__lat: "DOUBLE",
      big: "DOUBLE",
      _dlt_id: "VARCHAR",
      _dlt_load_id: "VARCHAR",
    });
    expect(
      await world.query(
        `SELECT o.id, o."at", l.sku, l._dlt_list_idx AS i, t.value FROM raw.shop__orders o
         JOIN raw.shop__orders__lines l ON l._dlt_parent_id = o._dlt_id AND l._dlt_root_id = o._dlt_id
         LEFT JOIN raw.shop__orders__lines__tags t ON t._dlt_parent_id = l._dlt_id AND t._dlt_root_id = o._dlt_id
         ORDER BY l._dlt_list_idx, t._dlt_list_idx`,
      ),
    ).toEqual([
      { id: 1, at: "2026-01-01T08:00:00.000Z", sku: "a", i: 0, value: "x" },
      { id: 1, at: "2026-01-01T08:00:00.000Z", sku: "a", i: 0, value: "y" },
      { id: 1, at: "2026-01-01T08:00:00.000Z", sku: "b", i: 1, value: null },
    ]);
  });

  test("gives the same IDs to the same load when it is retried", async () => {
    await using world = openWorld();
    const source = rows([{ id: 1, l: [1, 2] }]);
    const ids = async () =>
      world.query("SELECT _dlt_id FROM raw.shop__o UNION ALL SELECT _dlt_id FROM raw.shop__o__l ORDER BY 1");
    await world.run({ resources: [{ name: "o", writeDisposition: "replace" }] }, source, { loadId: "same" });
    const first = await ids();
    await world.run({ resources: [{ name: "o", writeDisposition: "replace" }] }, source, { loadId: "same" });
    expect(await ids()).toEqual(first);
  });

  test("leaves no table for a source without rows or columns, and an empty one if columns are known", async () => {
    await using world = openWorld();
    const { result, done } = await world.run(one, rows());
    expect(result.tables).toMatchObject([{ table: "o", rowsRead: 0, rows: 0, files: 0, bytes: 0 }]);
    expect(done.load?.tables).toEqual([]);
    await world.run({ resources: [{ name: "p" }] }, csv({ id: "BIGINT" }, ""));
    expect(world.tables).toMatchObject([{ table: "p", rows: 0, files: [] }]);
    expect(await world.query("SELECT id FROM raw.shop__p")).toEqual([]);
  });

  test("stops at maxRows, for typed rows within a chunk", async () => {
    await using world = openWorld();
    const typed = await world.run(
      { resources: [{ name: "t" }], maxRows: 2 },
      csv({ id: "BIGINT" }, "1\n2\n3\n4\n", { piece: 100 }),
    );
    const loose = await world.run(
      { resources: [{ name: "l" }], maxRows: 2 },
      rows([{ id: 1 }], [{ id: 2 }, { id: 3 }]),
    );
    expect([typed.result.tables[0]?.rowsRead, loose.result.tables[0]?.rowsRead]).toEqual([2, 2]);
    expect(
      await world.query("SELECT max(id) AS m FROM raw.shop__t UNION ALL SELECT max(id) FROM raw.shop__l"),
    ).toEqual([{ m: 2 }, { m: 2 }]);
  });
});

describe("a replace", () => {
  const replace = { resources: [{ name: "o", writeDisposition: "replace" }] };

  test("replaces all rows and all child rows", async () => {
    await using world = openWorld();
    await world.run(replace, rows([{ id: 1, l: [1], m: [1] }, { id: 2 }]));
    const { result, done } = await world.run(replace, rows([{ id: 3, l: [2] }]));
    expect(result).toMatchObject({ mode: "replace", rows: 2 });
    expect(result.tables[0]).toMatchObject({ inserted: 1, deleted: 2 });
    expect(done.load?.tables.map((change) => [change.table, change.remove])).toEqual([
      ["o", "all"],
      ["o__l", "all"],
      ["o__m", "all"],
    ]);
    expect(
      await world.query(
        "SELECT id, c.value FROM raw.shop__o JOIN raw.shop__o__l c ON c._dlt_parent_id = shop__o._dlt_id",
      ),
    ).toEqual([{ id: 3, value: 2 }]);
    expect(await world.query("SELECT * FROM raw.shop__o__m")).toEqual([]);
  });

  test("empties the table when the source is empty", async () => {
    await using world = openWorld();
    await world.run(replace, rows([{ id: 1 }]));
    await world.run(replace, rows());
    expect(world.tables).toMatchObject([{ table: "o", rows: 0 }]);
    expect(await world.query("SELECT id FROM raw.shop__o")).toEqual([]);
  });

  test("leaves everything unchanged until it is committed", async () => {
    await using world = openWorld();
    await world.run(replace, rows([{ id: 1 }]));
    await world.run(replace, rows([{ id: 2 }]), { commit: false });
    expect(await world.query("SELECT id FROM raw.shop__o")).toEqual([{ id: 1 }]);
  });

  test("doesn't touch another resource's table whose name begins with its own", async () => {
    await using world = openWorld();
    await world.run({ resources: [{ name: "o" }, { name: "o.x" }] }, rows([{ id: 1, l: [1] }]));
    expect(world.tables.map((table) => table.table).toSorted()).toEqual(["o", "o__l", "o_x", "o_x__l"]);
    await world.run(replace, rows([{ id: 2 }]));
    expect(world.tables.find((table) => table.table === "o_x__l")?.rows).toBe(1);
  });
});

describe("a merge", () => {
  const merge = { resources: [{ name: "o", primaryKey: ["id"], writeDisposition: "merge" }] };

  test("replaces rows with its key and what depended on them", async () => {
    await using world = openWorld();
    await world.run(
      merge,
      rows([
        { id: 1, v: "a", l: [{ x: 1 }] },
        { id: 2, v: "b", l: [{ x: 2 }, { x: 3 }] },
      ]),
    );
    const { result } = await world.run(
      merge,
      rows([
        { id: 2, v: "old", l: [{ x: 9 }] },
        { id: 2, v: "c", l: [{ x: 4 }] },
        { id: 3, v: "d" },
      ]),
    );
    expect(result.tables[0]).toMatchObject({
      rowsRead: 3,
      rows: 2,
      inserted: 1,
      updated: 1,
      deduplicated: 1,
    });
    expect(result.tables[1]).toMatchObject({
      table: "o__l",
      rowsRead: 2,
      rows: 1,
      inserted: 1,
      deleted: 2,
      deduplicated: 1,
    });
    expect(await world.query("SELECT id, v FROM raw.shop__o ORDER BY id")).toEqual([
      { id: 1, v: "a" },
      { id: 2, v: "c" },
      { id: 3, v: "d" },
    ]);
    expect(await world.query("SELECT x FROM raw.shop__o__l ORDER BY x")).toEqual([{ x: 1 }, { x: 4 }]);
  });

  test("removes the children of a row that no longer has any", async () => {
    await using world = openWorld();
    await world.run(
      merge,
      rows([
        { id: 1, l: [{ m: [1] }] },
        { id: 2, l: [{ m: [2] }] },
      ]),
    );
    const { result } = await world.run(merge, rows([{ id: 1 }]));
    expect(result.tables.map((t) => [t.table, t.rowsRead, t.deleted])).toEqual([
      ["o", 1, 0],
      ["o__l", 0, 1],
      ["o__l__m", 0, 1],
    ]);
    expect(await world.query("SELECT value FROM raw.shop__o__l__m")).toEqual([{ value: 2 }]);
  });

  test("keeps the row with the greatest cursor, then the last", async () => {
    await using world = openWorld();
    const resources = [
      { name: "o", primaryKey: ["id"], writeDisposition: "merge", incremental: { cursorField: "at" } },
    ];
    await world.run(
      { resources },
      rows([
        { id: 1, at: 5, v: "new" },
        { id: 1, at: 3, v: "old" },
        { id: 2, at: 1, v: "a" },
        { id: 2, at: 1, v: "b" },
      ]),
    );
    expect(await world.query("SELECT id, v FROM raw.shop__o ORDER BY id")).toEqual([
      { id: 1, v: "new" },
      { id: 2, v: "b" },
    ]);
  });

  test("updates a row that changed without its cursor, and skips one that didn't", async () => {
    await using world = openWorld();
    const resources = [
      { name: "o", primaryKey: ["id"], writeDisposition: "merge", incremental: { cursorField: "at" } },
    ];
    await world.run(
      { resources },
      rows([
        { id: 1, at: 5, v: "a" },
        { id: 2, at: 5, v: "b" },
      ]),
    );
    const { result, done } = await world.run(
      { resources },
      rows([
        { id: 1, at: 5, v: "changed" },
        { id: 2, at: 5, v: "b" },
      ]),
    );
    expect(result.tables[0]).toMatchObject({ rowsRead: 2, rows: 1, updated: 1, deduplicated: 1 });
    const again = await world.run(
      { resources },
      rows([
        { id: 1, at: 5, v: "changed" },
        { id: 2, at: 5, v: "b" },
      ]),
    );
    expect(again.result).toMatchObject({ rows: 0, mode: "incremental" });
    expect(again.done.load?.tables).toEqual([]);
    expect(done.load?.tables).toHaveLength(1);
  });

  test("rejects rows with an empty key, and says so", async () => {
    await using world = openWorld();
    const { result } = await world.run(merge, rows([{ id: 1 }, { id: null, v: 1, l: [1] }]));
    expect(result.tables).toMatchObject([
      { table: "o", rowsRead: 2, rows: 1, rejected: 1 },
      { table: "o__l", rowsRead: 1, rows: 0, rejected: 1 },
    ]);
    expect(result.warnings.join()).toContain("1 rows of o have no primary key");
  });

  test("fails if no row has the key at all, or the table can't hold its values", async () => {
    await using world = openWorld();
    expect((await failure(world.run(merge, rows([{ v: 1 }])))).code).toBe("definition_invalid");
    await world.run(merge, rows([{ id: 1 }]));
    expect((await failure(world.run(merge, rows([{ id: "x" }])))).message).toContain(
      'has values that its column can\'t hold. Load it into a new table, with {"name": "id", "type": "text"} in columns.',
    );
  });

  test("merges typed rows by a key of two columns", async () => {
    await using world = openWorld();
    const resources = [{ name: "o", primaryKey: ["A b", "c"], writeDisposition: "merge" }];
    const columns = { "A b": "BIGINT", c: "VARCHAR", v: "INTEGER" };
    await world.run({ resources }, csv(columns, "1,x,1\n1,,2\n2,x,3\n"));
    const { result } = await world.run({ resources }, csv(columns, "1,,20\n3,x,4\n"));
    expect(result.tables[0]).toMatchObject({ inserted: 1, updated: 1 });
    expect(await world.query("SELECT a_b, c, v FROM raw.shop__o ORDER BY v")).toEqual([
      { a_b: 1, c: "x", v: 1 },
      { a_b: 2, c: "x", v: 3 },
      { a_b: 3, c: "x", v: 4 },
      { a_b: 1, c: null, v: 20 },
    ]);
  });
});

describe("a dry run", () => {
  test("shows columns and a sample, and neither writes nor locks", async () => {
    await using world = openWorld();
    const many = Array.from({ length: 300 }, (_, id) => ({ id, l: [id] }));
    const { done, result } = await world.run({ ...one, dryRun: true }, rows(many));
    expect(done.load).toBeUndefined();
    expect(world.locks).toEqual([]);
    expect(result.tables[0]).toMatchObject({ table: "o", rowsRead: 100, rows: 100, files: 0, bytes: 0 });
    expect(result.tables[0]?.columns?.map((column) => column.name)).toEqual([
      "id",
      "_dlt_id",
      "_dlt_load_id",
    ]);
    expect(result.tables[0]?.sample?.slice(0, 2)).toMatchObject([{ id: 0 }, { id: 1 }]);
    expect(result.tables[1]).toMatchObject({ table: "o__l", rows: 100 });
    expect(existsSync(`${world.folder}/lake`)).toBe(false);
  });

  test("reads no more than maxRows", async () => {
    await using world = openWorld();
    const source: Source = (request) => {
      expect(request.maxRows).toBe(5);
      return csv({ id: "BIGINT" }, "1\n2\n3\n4\n5\n6\n")(request) as never;
    };
    const { result } = await world.run({ ...one, dryRun: true, maxRows: 5 }, source);
    expect(result.tables[0]?.rowsRead).toBe(5);
  });
});

test("a load that is cancelled ends with the reason and commits nothing", async () => {
  await using world = openWorld();
  const controller = new AbortController();
  const source: Source = () => ({
    kind: "rows",
    ranged: false,
    pages: (async function* () {
      yield [{ id: 1 }];
      controller.abort(new Error("stop it"));
      yield [{ id: 2 }];
    })(),
  });
  await expect(world.run(one, source, { signal: controller.signal })).rejects.toThrow("stop it");
  expect(world.tables).toEqual([]);
});

test("a source that fails partway fails the load with its own error", async () => {
  await using world = openWorld();
  const source: Source = (request) => {
    const made = csv({ id: "BIGINT" }, "1\n2\n")(request);
    if (made instanceof Promise || made.kind !== "csv") throw new Error();
    const { bytes } = made;
    return {
      ...made,
      bytes: (async function* () {
        yield* bytes;
        throw new Error("the line broke");
      })(),
    };
  };
  await expect(world.run(one, source)).rejects.toThrow("the line broke");
});

test("a source that ends inside a value fails the load", async () => {
  await using world = openWorld();
  const error = await failure(world.run(one, csv({ id: "BIGINT", v: "VARCHAR" }, '1,"a\n')));
  expect(error).toMatchObject({ code: "upstream", retryable: true });
});

test("a load whose written rows differ from those read fails with both numbers", async () => {
  await using world = openWorld();
  // An empty line isn't a row.
  const error = await failure(world.run(one, csv({ a: "INTEGER", b: "INTEGER" }, "1,2\n\n3,4\n")));
  expect(error).toMatchObject({ code: "row_count_mismatch", details: { table: "o", rowsRead: 3, rows: 2 } });
  expect(world.tables).toEqual([]);
});

test("two resources load together, each with its own cursor", async () => {
  await using world = openWorld();
  const resources = ["a", "b"].map((name) => ({ name, incremental: { cursorField: "at" } }));
  const { done, result } = await world.run({ resources }, ({ spec }) =>
    rows([{ at: spec === "a" ? 1 : 2 }])({} as never),
  );
  expect(Object.entries(done.load?.cursors ?? {}).map(([name, state]) => [name, state.lastValue])).toEqual([
    ["a", 1],
    ["b", 2],
  ]);
  expect(result.rows).toBe(2);
});

test("a condition is sent to the source with its parameters numbered", async () => {
  await using world = openWorld();
  let where: unknown;
  const definition = {
    resources: [
      { name: "o", where: `a = $x AND b = '$x' AND c = $y AND d = $x`, parameters: { x: 1, y: "z" } },
    ],
  };
  await world.run(definition, (request) => {
    where = request.where;
    return rows()(request) as never;
  });
  expect(where).toEqual({ sql: `a = $1 AND b = '$x' AND c = $2 AND d = $1`, parameters: [1, "z"] });
});
