import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { mysql } from "../../src/providers/mysql/mysql.ts";
import { link } from "../support/link.ts";
import { hasMariadb, startMariadb, type TestMariadb } from "../support/mariadb.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { deepTest } from "../support/scale.ts";
import { openTestSql } from "../support/sql.ts";
import { failure, openWorld, sourceOf, type World } from "./extract/world.ts";

const duck = openTestSql();
afterAll(() => duck[Symbol.asyncDispose]());

const MERGE = { writeDisposition: "merge", primaryKey: ["k"] };
const rowsOf = (world: World, table: string, columns = "k, n") =>
  world.query(`SELECT ${columns} FROM raw.shop__${table} ORDER BY ALL`);

describe("PostgreSQL", () => {
  let pg: TestPostgres;
  beforeAll(async () => {
    pg = await startPostgres();
    await pg.sql.unsafe(
      "create collation ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false); create collation \"un accented\" (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
    );
  });
  afterAll(() => pg[Symbol.asyncDispose]());

  const run = (world: World, resource: JsonObject, more: JsonObject = {}) =>
    world.run({ resources: [resource], ...more }, sourceOf(pg));

  deepTest(
    "a key with a nondeterministic collation is the same however it is written",
    async () => {
      await using world = openWorld({ sql: duck.sql });
      await pg.sql.unsafe(
        `create table loose (k text collate ci, part varchar(20) collate "un accented", no int, n int, primary key (k, part, no)); insert into loose values ('a', 'é', 1, 1), ('a', '-', 1, 2), ('b', '', 1, 3), ('b.', '.', 1, 4)`,
      );
      const key = { primaryKey: ["k", "part", "no"], writeDisposition: "merge" };
      const hard = { ...key, name: "hard", spec: "loose", deletes: "hard" };
      const soft = { ...key, name: "soft", spec: "loose", deletes: "soft" };
      const upsert = { ...key, name: "upsert", spec: "loose", mergeStrategy: "upsert" };
      for (const resource of [hard, soft, upsert])
        expect((await run(world, resource)).result.tables[0]).toMatchObject({ inserted: 4 });
      await pg.sql.unsafe(
        "update loose set k = 'A', part = 'E', n = 5 where n = 1; update loose set k = 'B' where n = 3; delete from loose where n = 2",
      );
      expect((await run(world, hard)).result.tables[0]).toMatchObject({
        inserted: 0,
        updated: 3,
        deleted: 1,
      });
      expect((await run(world, soft)).result.tables[0]).toMatchObject({
        inserted: 0,
        updated: 3,
        deleted: 1,
      });
      expect((await run(world, upsert)).result.tables[0]).toMatchObject({
        inserted: 0,
        updated: 3,
        deleted: 0,
      });
      expect(await rowsOf(world, "hard", "k, part, n")).toEqual([
        { k: "A", part: "E", n: 5 },
        { k: "B", part: "", n: 3 },
        { k: "b.", part: ".", n: 4 },
      ]);
      expect(await rowsOf(world, "soft", "k, n, _dlt_deleted_at IS NULL AS lives")).toEqual([
        { k: "A", n: 5, lives: true },
        { k: "B", n: 3, lives: true },
        { k: "a", n: 2, lives: false },
        { k: "b.", n: 4, lives: true },
      ]);
      expect(await rowsOf(world, "upsert", "count(*)::INT AS n")).toEqual([{ n: 4 }]);
    },
    120_000,
  );

  test("a citext key is the same in either case", async () => {
    await using world = openWorld({ sql: duck.sql });
    await pg.sql.unsafe(
      `create extension citext; create table mails ("K" citext primary key, n int); insert into mails values ('Ada@Example.com', 1), ('bob', 1)`,
    );
    const resource = { name: "mails", ...MERGE };
    await run(world, resource);
    await pg.sql.unsafe(`update mails set "K" = lower("K"::text), n = 2 where "K" = 'ada@example.com'`);
    expect((await run(world, resource)).result.tables[0]).toMatchObject({ inserted: 0, updated: 2 });
    expect(await rowsOf(world, "mails")).toEqual([
      { k: "ada@example.com", n: 2 },
      { k: "bob", n: 1 },
    ]);
  }, 120_000);

  deepTest(
    "rows of earlier loads get a normalized key, and those that were always the same become one",
    async () => {
      await using world = openWorld({ sql: duck.sql });
      await pg.sql.unsafe(
        `create table plain (k text primary key, n int); insert into plain select 'key ' || i, i from generate_series(1, 1200) i;
       create table old (k text collate ci primary key, n int); insert into old select * from plain`,
      );
      const resource = { name: "old", ...MERGE, incremental: { cursorField: "n" } };
      await run(world, { ...resource, spec: "plain" });
      await pg.sql.unsafe("update plain set k = 'KEY 7', n = 1207 where n = 7");
      await run(world, { ...resource, spec: "plain" });
      expect(await rowsOf(world, "old", "count(*)::INT AS n")).toEqual([{ n: 1201 }]);
      await pg.sql.unsafe(
        "update old set k = 'KEY 7', n = 1207 where n = 7; update old set k = 'KEY 8', n = 1208 where n = 8; delete from old where n = 9",
      );
      const { result } = await run(world, resource);
      expect(result.tables[0]).toMatchObject({ inserted: 0, updated: 1, deleted: 1 });
      expect(result.warnings).toEqual([
        "1201 rows of old got their _dlt_key: rows are found by it now, since the source compares k by a collation.",
        "1 rows of old were removed: another row has the same key in k, as the source compares it.",
      ]);
      expect(
        await rowsOf(
          world,
          "old",
          "count(*)::INT AS rows, count(DISTINCT lower(k))::INT AS keys, count(_dlt_key)::INT AS told",
        ),
      ).toEqual([{ rows: 1200, keys: 1200, told: 1200 }]);
      expect(
        await world.query("SELECT k, n FROM raw.shop__old WHERE n IN (7, 8, 9, 1207, 1208) ORDER BY n"),
      ).toEqual([
        { k: "key 9", n: 9 },
        { k: "KEY 7", n: 1207 },
        { k: "KEY 8", n: 1208 },
      ]);
      expect((await run(world, resource)).result.warnings).toEqual([]);
    },
    120_000,
  );

  deepTest(
    "another collation at the source gives the rows of earlier loads another key",
    async () => {
      await using world = openWorld({ sql: duck.sql });
      await pg.sql.unsafe(
        "create table moved (k text collate ci primary key, n int); insert into moved values ('é', 1), ('a', 1)",
      );
      const resource = { name: "moved", ...MERGE };
      await run(world, resource);
      await pg.sql.unsafe(
        "alter table moved alter k type text collate \"un accented\"; update moved set k = 'E', n = 2 where k = 'é'",
      );
      const { result } = await run(world, resource);
      expect(result.tables[0]).toMatchObject({ inserted: 0, updated: 2 });
      expect(result.warnings).toHaveLength(1);
      expect(await rowsOf(world, "moved")).toEqual([
        { k: "E", n: 2 },
        { k: "a", n: 1 },
      ]);
    },
    120_000,
  );

  deepTest(
    "a numeric key that its decimal can no longer hold becomes text, and finds its rows",
    async () => {
      await using world = openWorld({ sql: duck.sql });
      await pg.sql.unsafe(
        "create table wide (k numeric primary key, n int); insert into wide values (1.0, 1), (-2.50, 2), (1200, 3), (0.00, 4), (8, 5)",
      );
      const resource = {
        name: "wide",
        ...MERGE,
        deletes: "hard",
        incremental: { cursorField: "k" },
      };
      await run(world, resource);
      expect(world.columns("wide").k).toBe("DECIMAL(38,2)");
      const longest = `9${"0".repeat(44)}.5`;
      await pg.sql.unsafe(
        `delete from wide where n = 5; update wide set k = 1200.0, n = 6 where n = 3; insert into wide values (${longest}, 7)`,
      );
      const before = world.tables[0]?.files.map(({ id }) => id);
      const frozen = await failure(run(world, resource, { schemaContract: { dataType: "freeze" } }));
      expect(frozen).toMatchObject({ code: "schema_contract_violation" });
      expect(frozen.message).toContain("column k of wide (widened from DECIMAL(38,2) to VARCHAR)");
      const discarding = { schemaContract: { dataType: "discard_value" } };
      expect((await failure(run(world, resource, discarding))).message).toContain('primary key "k" of wide');
      expect(world.tables[0]?.files.map(({ id }) => id)).toEqual(before ?? []);

      const { result } = await run(world, resource);
      expect(result.tables[0]).toMatchObject({
        inserted: 1,
        updated: 1,
        deleted: 1,
        schemaChanges: [
          { table: "wide", column: "k", change: "widened", from: "DECIMAL(38,2)", to: "VARCHAR" },
        ],
      });
      expect(result.warnings).toEqual([]);
      await pg.sql.unsafe(
        `update wide set k = k + 0.000, n = n + 10; insert into wide values (1${longest}, 8)`,
      );
      expect((await run(world, { ...resource, name: "wide2", spec: "wide" })).result.rows).toBe(6);
      expect((await run(world, resource)).result.tables[0]).toMatchObject({
        inserted: 1,
        updated: 1,
        schemaChanges: [],
      });
      expect(world.cursors.get("wide")?.lastValue).toBe(`1${longest}`);
      const whole: JsonObject = { name: "wide", spec: "wide", ...MERGE };
      expect((await run(world, whole)).result.tables[0]).toMatchObject({
        inserted: 0,
        updated: 6,
        deleted: 0,
      });
      expect(await rowsOf(world, "wide")).toEqual([
        { k: "-2.5", n: 12 },
        { k: "0", n: 14 },
        { k: "1", n: 11 },
        { k: "1200", n: 16 },
        { k: `1${longest}`, n: 8 },
        { k: longest, n: 17 },
      ]);
    },
    120_000,
  );

  deepTest(
    "texts of numbers that earlier loads stored with their zeros are found by the same number",
    async () => {
      await using world = openWorld({ sql: duck.sql });
      await pg.sql.unsafe(
        `create table worded (k text primary key, n int); insert into worded values ('1.0', 1), ('-2.50', 2), ('v3.0', 3), ('10', 4);
       create table counted (k numeric primary key, n int); insert into counted values (1.00, 11), (-2.5, 12), (10, 14)`,
      );
      const resource = { name: "counted", ...MERGE, columns: [{ name: "k", type: "text" }] };
      await run(world, { ...resource, spec: "worded" });
      await pg.sql.unsafe("update worded set k = '1.000', n = 5 where n = 1");
      await run(world, { ...resource, spec: "worded" });
      expect(await rowsOf(world, "counted", "count(*)::INT AS n")).toEqual([{ n: 5 }]);
      const { result } = await run(world, { ...resource, deletes: "hard" });
      expect(result.tables[0]).toMatchObject({ inserted: 0, updated: 3, deleted: 2 });
      expect(result.warnings).toEqual([
        "3 rows of counted lost the zeros at the end of k, so that equal numbers are one key.",
        "1 rows of counted were removed: another row has the same key in k, as the source compares it.",
      ]);
      expect(await rowsOf(world, "counted")).toEqual([
        { k: "-2.5", n: 12 },
        { k: "1", n: 11 },
        { k: "10", n: 14 },
      ]);
    },
    120_000,
  );

  deepTest(
    "numbers of a key that became text stay one key when the source's column gets a scale",
    async () => {
      await using world = openWorld({ sql: duck.sql });
      await pg.sql.unsafe(
        "create table scaled (k numeric primary key, n int); insert into scaled values (1, 1), (2.5, 2)",
      );
      const resource = { name: "scaled", ...MERGE, deletes: "hard" };
      await run(world, resource);
      await pg.sql.unsafe("insert into scaled values (0.00000000000000000000000000000000000000000001, 3)");
      await run(world, resource);
      expect(world.columns("scaled").k).toBe("VARCHAR");
      await pg.sql.unsafe("delete from scaled where n = 3; alter table scaled alter k type numeric(12,4)");
      expect((await run(world, resource)).result.tables[0]).toMatchObject({
        inserted: 0,
        updated: 2,
        deleted: 1,
      });
      expect(await rowsOf(world, "scaled")).toEqual([
        { k: "1", n: 1 },
        { k: "2.5", n: 2 },
      ]);
    },
    120_000,
  );

  deepTest(
    "numbers stored as text are one key however many zeros they have, and a cursor treats them as numbers",
    async () => {
      await using world = openWorld({ sql: duck.sql });
      await pg.sql.unsafe(
        "create table texts (k numeric primary key, id bigint, amount numeric, n int); insert into texts values (1.0, 8, 1.50, 1), (9, 9, 2.00, 2), ('NaN', 7, 'NaN', 3)",
      );
      const columns = ["k", "id", "amount"].map((name) => ({ name, type: "text" }));
      const resource = { name: "texts", ...MERGE, columns };
      for (const cursorField of ["k", "id", "amount"])
        await run(world, {
          ...resource,
          name: `by_${cursorField}`,
          spec: "texts",
          incremental: { cursorField },
        });
      await run(world, resource);
      await pg.sql.unsafe(
        "update texts set k = k + 0.000, n = n + 10; insert into texts values (10.00, 10, 10.0, 4), (11, 11, 11, 5)",
      );
      expect((await run(world, resource)).result.tables[0]).toMatchObject({ inserted: 2, updated: 3 });
      expect(await rowsOf(world, "texts", "k, id, amount, n")).toEqual([
        { k: "1", id: "8", amount: "1.50", n: 11 },
        { k: "10", id: "10", amount: "10.0", n: 4 },
        { k: "11", id: "11", amount: "11", n: 5 },
        { k: "9", id: "9", amount: "2.00", n: 12 },
        { k: "NaN", id: "7", amount: "NaN", n: 13 },
      ]);
      for (const cursorField of ["k", "id", "amount"]) {
        const by = { ...resource, name: `by_${cursorField}`, spec: "texts", incremental: { cursorField } };
        expect((await run(world, by)).result.tables[0]).toMatchObject({ inserted: 2 });
        expect((await run(world, by)).result.tables[0]).toMatchObject({ inserted: 0 });
        expect(world.cursors.get(`by_${cursorField}`)?.lastValue).toBe("11");
        expect(await rowsOf(world, `by_${cursorField}`, "count(*)::INT AS n")).toEqual([{ n: 5 }]);
      }
    },
    120_000,
  );
});

describe.skipIf(!hasMariadb)("MariaDB", () => {
  let db: TestMariadb;
  beforeAll(async () => {
    db = await startMariadb();
  });
  afterAll(() => db[Symbol.asyncDispose]());

  const run = (world: World, resource: JsonObject) =>
    world.run({ resources: [resource] }, { provider: mysql, link: link(db.config, db.credentials) });

  deepTest(
    "a key is the same however its collation allows it to be written",
    async () => {
      for (const [collation, other] of [
        ["utf8mb4_general_ci", "A "],
        ["utf8mb4_unicode_ci", "Á"],
        ["utf8mb4_uca1400_ai_ci", "á "],
        ["utf8mb4_uca1400_nopad_ai_ci", "Á"],
        ["utf8mb4_bin", "a  "],
        ["latin1_swedish_ci", "Á"],
      ] as const) {
        await using world = openWorld({ sql: duck.sql });
        await db.run(
          `DROP TABLE IF EXISTS loose; CREATE TABLE loose (k varchar(20) CHARACTER SET ${collation.split("_")[0]} COLLATE ${collation}, part varchar(20) COLLATE utf8mb4_general_ci, no int, n int, PRIMARY KEY (k, part, no)); INSERT INTO loose VALUES ('a', 'x', 1, 1), ('a', 'y', 1, 2), ('ß', '', 1, 3), ('', '', 2, 4)`,
        );
        const key = { primaryKey: ["k", "part", "no"], writeDisposition: "merge" };
        const hard = { ...key, name: "hard", spec: "loose", deletes: "hard" };
        const soft = { ...key, name: "soft", spec: "loose", deletes: "soft" };
        for (const resource of [hard, soft]) await run(world, resource);
        await db.run(
          `UPDATE loose SET k = '${other}', part = 'X ', n = 5 WHERE n = 1; DELETE FROM loose WHERE n = 2`,
        );
        for (const resource of [hard, soft])
          expect((await run(world, resource)).result.tables[0]).toMatchObject({
            inserted: 0,
            updated: 3,
            deleted: 1,
          });
        expect(await rowsOf(world, "hard", "n, k, part")).toEqual([
          { n: 3, k: "ß", part: "" },
          { n: 4, k: "", part: "" },
          { n: 5, k: other, part: "X " },
        ]);
        expect(await rowsOf(world, "soft", "n, _dlt_deleted_at IS NULL AS lives")).toEqual([
          { n: 2, lives: false },
          { n: 3, lives: true },
          { n: 4, lives: true },
          { n: 5, lives: true },
        ]);
      }
    },
    240_000,
  );

  test("texts that are compared by their bytes need no normalized key", async () => {
    await using world = openWorld({ sql: duck.sql });
    await db.run(
      "CREATE TABLE strict (k varchar(9) COLLATE utf8mb4_nopad_bin PRIMARY KEY, n int, kind enum('a', 'B'), u uuid); INSERT INTO strict VALUES ('a', 1, 'a', uuid()), ('A', 2, 'B', uuid()), ('a ', 3, 'a', uuid())",
    );
    const resource = { name: "strict", ...MERGE, primaryKey: ["k", "kind", "u"] };
    await run(world, resource);
    expect((await run(world, resource)).result.tables[0]).toMatchObject({ updated: 3 });
    expect(Object.keys(world.columns("strict"))).toEqual(["k", "n", "kind", "u", "_dlt_id", "_dlt_load_id"]);
  }, 120_000);

  deepTest(
    "rows of earlier loads get a normalized key, in any character set",
    async () => {
      await using world = openWorld({ sql: duck.sql });
      const columns = (text: string, part: string) =>
        `(k varchar(40) CHARACTER SET ${text}, part varchar(9) COLLATE ${part}, n int, PRIMARY KEY (k, part))`;
      await db.run(
        `CREATE TABLE plain ${columns("utf8mb4 COLLATE utf8mb4_nopad_bin", "utf8mb4_nopad_bin")}; INSERT INTO plain SELECT CONCAT('schlüssel ', seq), 'x', seq FROM seq_1_to_1200;
       CREATE TABLE old ${columns("latin1 COLLATE latin1_german1_ci", "utf8mb4_general_ci")}; INSERT INTO old SELECT * FROM plain`,
      );
      const resource = {
        name: "old",
        writeDisposition: "merge",
        primaryKey: ["k", "part"],
        incremental: { cursorField: "n" },
      };
      await run(world, { ...resource, spec: "plain" });
      await db.run("UPDATE old SET k = 'SCHLÜSSEL 8 ', n = 1208 WHERE n = 8");
      const { result } = await run(world, resource);
      expect(result.tables[0]).toMatchObject({ inserted: 0, updated: 1, deleted: 0 });
      expect(result.warnings).toEqual([
        "1200 rows of old got their _dlt_key: rows are found by it now, since the source compares k, part by a collation.",
      ]);
      expect(await rowsOf(world, "old", "count(*)::INT AS rows, count(_dlt_key)::INT AS told")).toEqual([
        { rows: 1200, told: 1200 },
      ]);
      expect((await run(world, resource)).result.warnings).toEqual([]);
    },
    120_000,
  );

  deepTest(
    "numbers stored as text are one key whatever their scale, and a cursor treats them as numbers",
    async () => {
      await using world = openWorld({ sql: duck.sql });
      await db.run(
        "CREATE TABLE texts (k decimal(10,2) PRIMARY KEY, n int); INSERT INTO texts VALUES (1, 1), (9.5, 2)",
      );
      const columns = [{ name: "k", type: "text" }];
      const resource = { name: "texts", ...MERGE, columns, incremental: { cursorField: "k" } };
      await run(world, resource);
      await db.run(
        "ALTER TABLE texts MODIFY k decimal(12,4); UPDATE texts SET n = 3 WHERE n = 2; INSERT INTO texts VALUES (10, 4)",
      );
      expect((await run(world, resource)).result.tables[0]).toMatchObject({ inserted: 1, updated: 1 });
      expect(world.cursors.get("texts")?.lastValue).toBe("10");
      expect(await rowsOf(world, "texts")).toEqual([
        { k: "1", n: 1 },
        { k: "10", n: 4 },
        { k: "9.5", n: 3 },
      ]);
    },
    120_000,
  );
});
