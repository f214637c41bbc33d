import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SqlTable } from "../../src/sql/contract.ts";
import { deepTest } from "../support/scale.ts";
import { failure, openTestSql } from "../support/sql.ts";

const duck = openTestSql();
let mine: SqlTable;
let theirs: SqlTable;
let link: string;

beforeAll(async () => {
  mine = await duck.table("raw", "mine", "SELECT 1 AS id");
  theirs = await duck.table("raw", "theirs", "SELECT 'their secret' AS secret");
  mkdirSync(join(duck.folder, "links"));
  link = join(duck.folder, "links", "1.parquet");
  symlinkSync(theirs.files[0] ?? "", link);
  writeFileSync(join(duck.folder, "plain.csv"), "a\nleaked\n");
});
afterAll(() => duck[Symbol.asyncDispose]());

/** Runs each statement as a tenant's. Returns the results, after checking that the next one still works. */
async function attempt(statements: string[]) {
  const outcomes = await Promise.all(
    statements.map(async (sql) => ({ sql, ...(await failure(duck.sql.query({ tables: [mine], sql }, 10))) })),
  );
  expect(await duck.rows("FROM raw.mine", [mine])).toEqual([{ id: 1 }]);
  return outcomes;
}

const refusal =
  /can't be used here|disabled by configuration|has been locked|does not exist|must be a SELECT|single/;

describe("a tenant's SQL can't access anything beyond its tables:", () => {
  test("no file", async () => {
    const file = join(duck.folder, "plain.csv");
    const other = theirs.files[0] ?? "";
    const own = mine.files[0] ?? "";
    const up = own.replace(/\/[^/]+\/[^/]+\/[^/]+$/, "/../$&").concat("/../../../../etc/passwd");
    const outcomes = await attempt([
      "FROM read_csv('/etc/passwd')",
      `FROM read_csv('${file}')`,
      `FROM read_text('${file}')`,
      `FROM read_blob('${own}/../../../plain.csv')`,
      `FROM read_text('${up}')`,
      `FROM read_parquet('${other}')`,
      `FROM read_parquet('${own.slice(0, own.lastIndexOf("/"))}/../../*/*/*.parquet')`,
      `FROM read_parquet('${link}')`,
      `FROM glob('${duck.folder}/*')`,
      `FROM parquet_metadata('${other}')`,
      `FROM read_json('/proc/self/environ')`,
      `CREATE TABLE t AS FROM read_csv('${file}'); FROM t`,
      `CREATE MACRO m(p) AS TABLE FROM read_text(p); FROM m('${file}')`,
      `FROM query('FROM read_text(''${file}'')')`,
      `EXPLAIN ANALYZE FROM read_text('${file}')`,
      `SELECT 1 /* ; */; FROM read_text('${file}')`,
    ]);
    for (const { sql, code, message } of outcomes)
      expect([sql, code, message]).toEqual([sql, "sql_error", expect.stringMatching(refusal)]);
  });

  test("no write, attach, load or export", async () => {
    const to = join(duck.folder, "stolen");
    const outcomes = await attempt([
      `COPY (SELECT 1) TO '${to}.csv'`,
      `SELECT 1; COPY (SELECT 1) TO '${to}.csv'; SELECT 2`,
      `EXPLAIN ANALYZE COPY (SELECT 1) TO '${to}.csv'`,
      `ATTACH '${to}.db'`,
      `ATTACH ':memory:' AS other; SELECT 1`,
      `EXPORT DATABASE '${to}'`,
      `IMPORT DATABASE '${to}'`,
      "INSTALL httpfs",
      "LOAD httpfs",
      "CREATE SECRET s (TYPE http)",
      "CREATE /* /* */ */ SECRET s (TYPE http); SELECT 1",
      "CREATE--\rOR REPLACE TEMP SECRET s (TYPE http); SELECT 1",
      "CREATE /* a */ OR REPLACE PERSISTENT SECRET s (TYPE http)",
      "CREATE\u00a0SECRET s (TYPE http); SELECT 1",
    ]);
    for (const { sql, code, message } of outcomes)
      expect([sql, code, message]).toEqual([sql, "sql_error", expect.stringMatching(refusal)]);
    expect(readdirSync(duck.folder).filter((name) => name.startsWith("stolen"))).toEqual([]);
  });

  test("no setting, log, profile or environment", async () => {
    const outcomes = await attempt([
      "SET memory_limit = '64GB'",
      "SET enable_external_access = true; SELECT 1",
      "RESET lock_configuration",
      "PRAGMA enable_external_access = true",
      "PRAGMA enable_profiling",
      "SELECT getenv('HOME')",
      `CALL enable_logging(storage = 'file', storage_path = '${duck.folder}/log')`,
      `FROM enable_logging(storage = 'file', storage_path = '${duck.folder}/log')`,
      `FROM system.main."enable_logging"(storage = 'stdout')`,
      `FROM enable_profiling(format = 'json', save_location = '${duck.folder}/profile.json')`,
      `EXPLAIN ANALYZE CALL enable_logging(storage = 'file', storage_path = '${duck.folder}/log')`,
      "FROM query(E'FROM enable\\x5flogging()'); SELECT 1",
      "FROM query('FROM enable_' || 'logging()'); SELECT 1",
      `FROM "query"('FROM query(E''FROM enable\\x5flogging()'')'); SELECT 1`,
      "PREPARE p AS SELECT 1; EXECUTE p",
      "BEGIN; SELECT 1",
      "CALL pragma_version()",
    ]);
    for (const { sql, code, message } of outcomes)
      expect([sql, code, message]).toEqual([sql, "sql_error", expect.stringMatching(refusal)]);
    expect(readdirSync(duck.folder).filter((name) => /log|profile/.test(name))).toEqual([]);
  });

  test("no setting and no path of the server can be read", async () => {
    const outcomes = await attempt([
      "FROM duckdb_settings()",
      'FROM system.main."duckdb_settings" /* */ ()',
      "FROM pg_settings",
      "FROM pg_catalog.pg_settings",
      "FROM 'pg_settings'",
      "FROM 'pg_'\n'settings'",
      "FROM E'pg\\x5fsett\\151ngs'",
      "FROM $a$pg_settings$a$",
      "FROM query_table('pg_' || 'settings')",
      "FROM query_table('pg_settings')",
      "FROM query('FROM pg_settings')",
      "CREATE VIEW v AS FROM pg_settings; FROM v",
      "CREATE MACRO m(t) AS TABLE FROM query_table(t); FROM m('pg_settings')",
      "SUMMARIZE pg_settings",
      "SELECT current_setting('allowed_paths')",
      "SELECT CURRENT_SETTING ('temp_directory')",
      "SELECT current_query()",
      "SELECT json_serialize_plan('FROM raw.mine', optimize := true)",
      "FROM duckdb_functions()",
      "FROM pg_proc",
      "FROM duckdb_databases()",
      "FROM duckdb_databases",
      "FROM duckdb_secrets()",
      "FROM duckdb_extensions()",
      "FROM duckdb_external_file_cache()",
      "FROM sql_auto_complete('FROM ''/et')",
      "FROM pragma_database_size()",
      "FROM pragma_database_list",
      "PRAGMA database_list",
      "SELECT 1; PRAGMA functions",
    ]);
    const refused = expect.stringMatching(/can't be used here/);
    for (const { sql, code, message } of outcomes)
      expect([sql, code, message]).toEqual([sql, "sql_error", refused]);
  });

  test("the catalog, its own tables and plans are read without paths", async () => {
    const file = (mine.files[0] ?? "").split("/").pop() ?? "";
    const texts = [
      "FROM information_schema.tables",
      "FROM information_schema.views",
      "FROM information_schema.columns",
      "FROM duckdb_views()",
      "FROM duckdb_tables()",
      "FROM sqlite_master",
      "FROM pg_catalog.pg_views",
      "SHOW ALL TABLES",
      "SUMMARIZE raw.mine",
      "EXPLAIN FROM raw.mine",
      "EXPLAIN ANALYZE FROM raw.mine",
      "EXPLAIN ANALYZE FROM raw.mine AS a JOIN raw.mine AS b ON a.id = b.id + 0",
      "EXPLAIN (ANALYZE, FORMAT json) FROM raw.mine",
    ];
    for (const sql of texts) {
      const rows = JSON.stringify(await duck.rows(sql, [mine]));
      const shown = [duck.folder, file, "weir-sql", ".parquet"].filter((part) => rows.includes(part));
      expect([sql, shown]).toEqual([sql, []]);
    }
    expect(await duck.rows("SELECT table_name FROM information_schema.tables", [mine])).toEqual([
      { table_name: "mine" },
    ]);
    const named = await duck.table("raw", "pg_settings", "SELECT 1 AS pg_settings_of");
    expect(await duck.rows("FROM raw.pg_settings", [named])).toEqual([{ pg_settings_of: 1 }]);
  });

  test("no network", async () => {
    let calls = 0;
    using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(String(++calls)) });
    const outcomes = await attempt([
      `FROM read_csv('${server.url}a.csv')`,
      `FROM '${server.url}a.parquet'`,
      `FROM read_text('${server.url}')`,
    ]);
    for (const { sql, code } of outcomes) expect([sql, code]).toEqual([sql, "sql_error"]);
    expect(calls).toBe(0);
  });
});

describe("a tenant's SQL can't break out of the surrounding COPY:", () => {
  const cases = [
    "SELECT 1 AS a) TO '/tmp/weir-x.parquet'; --",
    "SELECT 1 AS a --",
    "SELECT 1 AS a /* ",
    "SELECT 1 AS a) UNION ALL (SELECT 2",
    "SELECT 'it''s; fine' AS a;;",
    "SELECT 1 AS \"a) TO '/tmp/x' (--\"",
    "SELECT $$;'$$ AS a -- ;",
    "SELECT 1 AS a; -- ; SELECT 2",
  ];
  test("comments, quotes, brackets and semicolons stay what they are", async () => {
    const outcomes = [];
    for (const [at, sql] of cases.entries()) {
      const into = join(duck.folder, `copy-${at}`);
      const made = await duck.sql
        .materialize({ tables: [mine], sql }, into)
        .catch((e: { code: string }) => e.code);
      outcomes.push(typeof made === "string" ? made : made.files.map((f) => f.rows));
    }
    expect(outcomes).toEqual(["sql_error", [1], "sql_error", "sql_error", [1], [1], [1], [1]]);
  });

  test("a script that doesn't end with a SELECT writes nothing", async () => {
    const into = join(duck.folder, "no-select");
    for (const sql of ["CREATE TABLE t (i INT)", "SELECT 1; CREATE TABLE t (i INT)", "EXPLAIN SELECT 1"]) {
      const error = await failure(duck.sql.materialize({ tables: [], sql }, into));
      expect([sql, error]).toEqual([
        sql,
        { code: "sql_error", message: "The last statement must be a SELECT." },
      ]);
    }
  });
});

deepTest("SQL that is too deep, too long or empty harms no one else", async () => {
  const outcomes = await attempt([
    `SELECT ${"(".repeat(20_000)}1${")".repeat(20_000)}`,
    `SELECT ${"NOT ".repeat(50_000)}true`,
    "SELECT 1;".repeat(1_001),
    ";;;",
    "-- nothing",
  ]);
  expect(outcomes.map(({ code }) => code)).toEqual(Array(5).fill("sql_error"));
});
