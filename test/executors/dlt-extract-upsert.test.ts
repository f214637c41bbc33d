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
