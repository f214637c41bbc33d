import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/base/json.ts";
import { localFiles } from "../../src/providers/local-files/local-files.ts";
import { link } from "../support/link.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { openTestSql } from "../support/sql.ts";
import { openWorld, rows, sourceOf, type World } from "./extract/world.ts";

const duck = openTestSql();
let pg: TestPostgres;
beforeAll(async () => {
  pg = await startPostgres();
});
afterAll(async () => {
  await pg[Symbol.asyncDispose]();
  await duck[Symbol.asyncDispose]();
});

const upsert = (more: JsonObject = {}) => ({
  resources: [{ name: "o", primaryKey: ["id"], writeDisposition: "merge", mergeStrategy: "upsert", ...more }],
});

const load = async (world: World, ...page: JsonObject[]) =>
  (await world.run(upsert(), rows(page))).result.warnings;

/** Loads files, each with its content by name. */
async function loadFiles(world: World, files: Record<string, string>) {
  const filesFolder = join(world.folder, `files-${Object.values(files).join()}`.replaceAll(/\W/g, "-"));
  mkdirSync(filesFolder);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(filesFolder, name), content);
  const source = { provider: localFiles, link: link({}, {}, { filesFolder }) };
  return (await world.run(upsert({ spec: "*" }), source)).result.warnings;
}

const read = (world: World, table = "o") =>
  world.query(`SELECT * EXCLUDE (_dlt_id, _dlt_load_id) FROM raw.shop__${table} ORDER BY id`);

describe("a value that was stored in another column because of its type is replaced", () => {
  test("from JSON", async () => {
    await using world = openWorld();
    await load(world, { id: 1, v: 5 });
    await load(world, { id: 1, v: "x" });
    expect(await read(world)).toEqual([{ id: 1, v: null, v__v_text: "x" }]);
    await load(world, { id: 1, v: true });
    expect(await read(world)).toEqual([{ id: 1, v: null, v__v_text: null, v__v_bool: true }]);
    await load(world, { id: 1, note: "y" });
    expect(await read(world)).toEqual([{ id: 1, v: null, v__v_text: null, v__v_bool: true, note: "y" }]);
    await load(world, { id: 1, v: 8 });
    expect(await read(world)).toEqual([{ id: 1, v: 8, v__v_text: null, v__v_bool: null, note: "y" }]);
  });

  test("from PostgreSQL", async () => {
    await using world = openWorld({ sql: duck.sql });
    await pg.sql.unsafe("create table typed (id int, v int); insert into typed values (1, 5)");
    for (const change of [
      "select",
      "alter table typed alter v type text; update typed set v = 'x'",
      "update typed set v = '8'",
      "alter table typed alter v type int using v::int",
    ]) {
      await pg.sql.unsafe(change);
      await world.run(upsert({ name: "typed" }), sourceOf(pg));
      const [{ v } = { v: null }] = await pg.sql.unsafe("select v::text from typed");
      const [row] = await read(world, "typed");
      expect([row?.v, row?.v__v_text].filter((value) => value != null).map(String)).toEqual([v]);
    }
  }, 120_000);

  test("from CSV", async () => {
    await using world = openWorld({ sql: duck.sql });
    await loadFiles(world, { "a.csv": "id,v\n1,5\n" });
    await loadFiles(world, { "a.csv": "id,v\n1,x\n" });
    await loadFiles(world, { "a.csv": "id,v\n1,8\n" });
    expect(await read(world)).toEqual([{ id: 1, v: 8, v__v_text: null }]);
  }, 120_000);
});

describe("a row keeps the values of columns that it lacks", () => {
  test("whatever the other rows of the load have, and null is a value", async () => {
    await using world = openWorld();
    await load(world, { id: 1, v: 5 }, { id: 2, v: 6 }, { id: 3, v: 7 });
    await load(world, { id: 1, v: null }, { id: 2 }, { id: 3, v: 9 }, { id: 4 });
    expect(await read(world)).toEqual([
      { id: 1, v: null },
      { id: 2, v: 6 },
      { id: 3, v: 9 },
      { id: 4, v: null },
    ]);
  });

  test("even if no row of the load has a value", async () => {
    await using world = openWorld();
    await load(world, { id: 1, v: 5 }, { id: 2, v: 6 });
    await load(world, { id: 1, v: null }, { id: 2 });
    expect(await read(world)).toEqual([
      { id: 1, v: null },
      { id: 2, v: 6 },
    ]);
    await load(world, { id: 1 }, { id: 2, v: null });
    expect(await read(world)).toEqual([
      { id: 1, v: null },
      { id: 2, v: null },
    ]);
  });

  test("with what another column holds of them because of its type", async () => {
    await using world = openWorld();
    await load(world, { id: 1, v: 5 }, { id: 2, v: 6 }, { id: 3, v: 7 });
    await load(world, { id: 1, v: "x" }, { id: 2, v: "y" }, { id: 3, v: "z" });
    await load(world, { id: 1 }, { id: 2, v: null }, { id: 3, v: 9 });
    expect(await read(world)).toEqual([
      { id: 1, v: null, v__v_text: "x" },
      { id: 2, v: null, v__v_text: null },
      { id: 3, v: 9, v__v_text: null },
    ]);
  });

  test("within objects, unless the object is null or something else", async () => {
    await using world = openWorld();
    const old = { a: { b: 1, c: { d: 2 } }, n: 3 };
    await load(world, ...[1, 2, 3, 4, 5, 6, 7, 8].map((id) => ({ id, ...old })));
    await load(
      world,
      { id: 1, a: { b: 9 } },
      { id: 2, a: { c: null } },
      { id: 3, a: null },
      { id: 4, a: 8 },
      { id: 5, a: [1] },
      { id: 6, n: { of: 4 } },
      { id: 7, n: { of: null } },
      { id: 8, a: {}, n: {} },
    );
    expect(await read(world)).toEqual([
      { id: 1, a__b: 9, a__c__d: 2, n: 3, a: null, n__of: null },
      { id: 2, a__b: 1, a__c__d: null, n: 3, a: null, n__of: null },
      { id: 3, a__b: null, a__c__d: null, n: 3, a: null, n__of: null },
      { id: 4, a__b: null, a__c__d: null, n: 3, a: 8, n__of: null },
      { id: 5, a__b: null, a__c__d: null, n: 3, a: null, n__of: null },
      { id: 6, a__b: 1, a__c__d: 2, n: null, a: null, n__of: 4 },
      { id: 7, a__b: 1, a__c__d: 2, n: null, a: null, n__of: null },
      { id: 8, a__b: 1, a__c__d: 2, n: null, a: null, n__of: null },
    ]);
  });

  test("also of an incremental source, of selected columns and of the last of several rows", async () => {
    await using world = openWorld();
    const run = (...page: JsonObject[]) =>
      world.run(upsert({ incremental: { cursorField: "at" }, columns: ["id", "at", "v"] }), rows(page));
    await run({ id: 1, at: 1, v: 5, w: 1 }, { id: 2, at: 1, v: 6, w: 1 }, { id: 3, at: 1, v: 7 });
    await run({ id: 1, at: 2, w: 2 }, { id: 2, at: 2, v: null }, { id: 3, at: 3 }, { id: 3, at: 2, v: 9 });
    expect(await read(world)).toEqual([
      { id: 1, at: 2, v: 5 },
      { id: 2, at: 2, v: null },
      { id: 3, at: 3, v: 7 },
    ]);
  });

  test("also of JSON Lines, whose usual rows are parsed as bytes", async () => {
    await using world = openWorld({ sql: duck.sql });
    const lines = (...page: JsonObject[]) => page.map((row) => `${JSON.stringify(row)}\n`).join("");
    const old = { v: 5, a: { b: 6 } };
    await loadFiles(world, { "a.jsonl": lines(...[1, 2, 3, 4, 5].map((id) => ({ id, ...old }))) });
    await loadFiles(world, {
      "a.jsonl": lines(
        { id: 0, v: 0, a: { b: 0 }, l: [{ of: 0 }] },
        { id: 1, v: 9 },
        { id: 2, a: { b: null } },
        { id: 3, v: [1], l: [{ of: null }] },
        { id: 4, a: null },
        { id: 5, a: {} },
      ),
    });
    expect(await read(world)).toEqual([
      { id: 0, v: 0, a__b: 0 },
      { id: 1, v: 9, a__b: 6 },
      { id: 2, v: 5, a__b: null },
      { id: 3, v: null, a__b: 6 },
      { id: 4, v: 5, a__b: null },
      { id: 5, v: 5, a__b: 6 },
    ]);
  }, 120_000);

  test("a file's rows have all of its columns, and none of the other files'", async () => {
    await using world = openWorld({ sql: duck.sql });
    await loadFiles(world, { "a.csv": "id,v,w\n1,5,a\n2,6,b\n3,7,c\n4,8,d\n" });
    await loadFiles(world, {
      "a.csv": "id,v\n1,\n",
      "b.csv": "id,w\n2,z\n",
      "c.jsonl": '{"id":3,"w":null}\n{"id":4}\n',
    });
    expect(await read(world)).toEqual([
      { id: 1, v: null, w: "a" },
      { id: 2, v: 6, w: "z" },
      { id: 3, v: 7, w: null },
      { id: 4, v: 8, w: "d" },
    ]);
  }, 120_000);

  test("a column that a table no longer has is reported as kept", async () => {
    await using world = openWorld({ sql: duck.sql });
    await pg.sql.unsafe("create table shrunk (id int, v int, w int); insert into shrunk values (1, 5, 6)");
    await world.run(upsert({ name: "shrunk" }), sourceOf(pg));
    await pg.sql.unsafe(
      "alter table shrunk drop w; update shrunk set v = null; insert into shrunk values (2, 7)",
    );
    const { result } = await world.run(upsert({ name: "shrunk" }), sourceOf(pg));
    expect(result.warnings).toEqual([
      "shrunk.w: the source no longer has this column. Rows with new keys have NULL there, and others keep their values.",
    ]);
    expect(await read(world, "shrunk")).toEqual([
      { id: 1, v: null, w: 6 },
      { id: 2, v: 7, w: null },
    ]);
  }, 120_000);
});
