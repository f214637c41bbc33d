import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { read } from "../../src/base/shape.ts";
import type { Bench, Done } from "../../src/executors/contract.ts";
import { duckdbTransform } from "../../src/executors/duckdb-transform.ts";
import type { LakeTable } from "../../src/lake/contract.ts";
import { openFolderLake } from "../../src/lake/folder.ts";
import { sqlTables } from "../../src/lake/views.ts";
import { failure, openTestSql } from "../support/sql.ts";

const duck = openTestSql();
const lake = openFolderLake(join(duck.folder, "lake"));
let source: LakeTable;

beforeAll(async () => {
  const made = await duck.parquet("SELECT i AS id, i % 2 AS half FROM range(6) t(i)");
  const at = { organizationId: "org", layer: "raw", dataset: "shop", table: "orders", loadId: "l0" };
  const file = await lake.place(at, made);
  source = { ...at, columns: made.columns, files: [file], rows: 6, bytes: made.bytes, version: 1 };
});
afterAll(() => duck[Symbol.asyncDispose]());

/** The tables of one organization: what runs see, and what completing a run does to them. */
function openOrganization() {
  const tables: LakeTable[] = [source];
  const lines: string[] = [];
  let runs = 0;

  const commit = ({ load }: Done) => {
    for (const change of load?.tables ?? []) {
      const { layer, dataset } = load ?? { layer: "", dataset: "" };
      const at = tables.findIndex(
        (t) => t.layer === layer && t.dataset === dataset && t.table === change.table,
      );
      const before = tables[at];
      if (change.remove !== "all") expect(change.baseVersion).toBe(before?.version ?? null);
      const kept =
        change.remove === "all" ? [] : (before?.files ?? []).filter((f) => !change.remove.includes(f.id));
      const files = [...kept, ...change.add];
      const rows = files.reduce((sum, f) => sum + f.rows, 0);
      const bytes = files.reduce((sum, f) => sum + f.bytes, 0);
      const version = (before?.version ?? 0) + 1;
      const after = {
        layer,
        dataset,
        table: change.table,
        columns: change.columns,
        files,
        rows,
        bytes,
        version,
      };
      tables.splice(at < 0 ? tables.length : at, at < 0 ? 0 : 1, after);
    }
  };

  return {
    tables,
    /** What the runs wrote into their logs, in order. */
    lines,
    /** Executes, and completes the run unless told not to. */
    async run(definition: JsonObject, options: { complete?: boolean } = {}): Promise<Done> {
      const checked = read(duckdbTransform.definition, definition, []);
      expect(checked.faults).toEqual([]);
      const work = await lake.workFolder(`run-${++runs}`);
      const bench = {
        run: { id: `run-${runs}`, organizationId: "org", attempt: 1, startedAt: "2026-01-01T00:00:00.000Z" },
        signal: new AbortController().signal,
        clock: systemClock,
        sql: duck.sql,
        lake: {
          tables: async () => tables,
          localPath: lake.localPath,
          place: (at, file) => lake.place({ organizationId: "org", ...at }, file),
          lock: async () => undefined,
        },
        workFolder: async () => work.path,
        progress: () => undefined,
        log: (level, message) => void lines.push(`${level} ${message}`),
      } as Pick<Bench, "run" | "signal" | "clock" | "sql" | "workFolder" | "progress" | "log"> & {
        lake: Partial<Bench["lake"]>;
      };
      const done = await duckdbTransform.execute(bench as Bench, checked.value as JsonObject);
      await work.dispose();
      if (options.complete !== false) commit(done);
      return done;
    },
    async rows(sql: string) {
      return duck.rows(sql, await sqlTables(lake, tables));
    },
  };
}

const output = (more: JsonObject = {}) => ({ layer: "marts", dataset: "halves", ...more });
const HALVES = "SELECT half, count(*) AS n FROM raw.shop__orders GROUP BY half";

describe("duckdb_transform without output", () => {
  test("leaves the rows as a json artifact, at most maxRows of them", async () => {
    const organization = openOrganization();
    const done = await organization.run({
      sql: "SELECT id FROM raw.shop__orders ORDER BY id",
      maxRows: 2,
    });
    const columns = [{ name: "id", dataType: "BIGINT", nullable: true }];
    expect(done.artifacts).toEqual([
      { title: "Rows", kind: "json", data: { columns, rows: [{ id: 0 }, { id: 1 }], truncated: true } },
    ]);
    expect(done.result).toEqual({ rows: 2, columns, output: null, durationSeconds: expect.any(Number) });
    expect(organization.lines).toEqual(["warn Only the first 2 rows were kept."]);
    expect(done.load).toBeUndefined();
  });

  test("binds parameters as values, whatever they hold", async () => {
    const hostile = "'; DROP TABLE raw.shop__orders; --";
    const done = await openOrganization().run({
      sql: "SELECT $weir_1 AS x, $n + 1 AS n",
      parameters: { weir_1: hostile, n: 2 },
    });
    expect(done.artifacts?.[0]).toMatchObject({ data: { rows: [{ x: hostile, n: 3 }] } });
  });
});

describe("duckdb_transform with output", () => {
  test("replaces the dataset, and gives each row an id and its load", async () => {
    const organization = openOrganization();
    await organization.run({ sql: "SELECT 'gone' AS old", output: output() });
    const { result } = await organization.run({ sql: HALVES, output: output() });
    expect(result).toEqual({
      rows: 2,
      columns: expect.any(Array),
      output: { layer: "marts", dataset: "halves", files: 1, bytes: expect.any(Number) },
      durationSeconds: expect.any(Number),
    });
    expect(await organization.rows("FROM marts.halves ORDER BY half")).toEqual([
      { half: 0, n: 3, _dlt_id: expect.stringMatching(/^run-2-[12]$/), _dlt_load_id: "run-2" },
      { half: 1, n: 3, _dlt_id: expect.stringMatching(/^run-2-[12]$/), _dlt_load_id: "run-2" },
    ]);
    expect((await organization.rows("SELECT count(DISTINCT _dlt_id) AS n FROM marts.halves"))[0]).toEqual({
      n: 2,
    });
  });

  test("writes nothing that anybody sees until the run completes", async () => {
    const organization = openOrganization();
    await organization.run(
      { sql: HALVES, output: output({ writeDisposition: "append" }) },
      { complete: false },
    );
    expect((await failure(organization.rows("FROM marts.halves"))).code).toBe("sql_error");
    await organization.run({ sql: HALVES, output: output({ writeDisposition: "append" }) });
    expect(await organization.rows("SELECT count(*) AS n FROM marts.halves")).toEqual([{ n: 2 }]);
  });

  test("appends, with columns that are new and types that grow", async () => {
    const organization = openOrganization();
    const append = output({ writeDisposition: "append" });
    await organization.run({ sql: "SELECT 1::INTEGER AS id, 'a' AS label", output: append });
    await organization.run({ sql: "SELECT 5000000000::BIGINT AS id, 0.5::DOUBLE AS extra", output: append });
    expect(await organization.rows("SELECT id, label, extra FROM marts.halves ORDER BY id")).toEqual([
      { id: 1, label: "a", extra: null },
      { id: 5_000_000_000, label: null, extra: 0.5 },
    ]);
    const clash = await failure(organization.run({ sql: "SELECT true AS label", output: append }));
    expect(clash.code).toBe("schema_contract_violation");
    expect(clash.message).toContain(
      "Column label of marts.halves is VARCHAR, and the SELECT has it as BOOLEAN.",
    );
  });

  test("merges by primaryKey: rows of a key that is there are replaced, files without one stay", async () => {
    const organization = openOrganization();
    const merge = output({ writeDisposition: "merge", primaryKey: ["id"] });
    await organization.run({
      sql: "SELECT id, 'first' AS v FROM raw.shop__orders WHERE id < 3",
      output: merge,
    });
    await organization.run({
      sql: "SELECT id, 'second' AS v FROM raw.shop__orders WHERE id > 3",
      output: merge,
    });
    const untouched = organization.tables.at(-1)?.files[0]?.path;
    const { result } = await organization.run({
      sql: "FROM (VALUES (4, 'third'), (9, 'third'), (9, 'fourth')) t(id, v)",
      output: merge,
    });
    expect(result).toMatchObject({ rows: 3 });
    expect(organization.lines.at(-1)).toBe("info marts.halves: 1 inserted, 1 updated, 1 deduplicated.");
    expect(await organization.rows("SELECT id, v FROM marts.halves ORDER BY id")).toEqual([
      { id: 0, v: "first" },
      { id: 1, v: "first" },
      { id: 2, v: "first" },
      { id: 4, v: "third" },
      { id: 5, v: "second" },
      { id: 9, v: "fourth" },
    ]);
    expect(organization.tables.at(-1)?.files.map((f) => f.path)).toContain(untouched ?? "");
  });

  test("takes scripts, and stops at maxRows with a warning", async () => {
    const organization = openOrganization();
    const sql =
      "CREATE TEMP TABLE t AS FROM raw.shop__orders; DELETE FROM t WHERE half = 1; SELECT id FROM t ORDER BY id;";
    const { result } = await organization.run({ sql, output: output(), maxRows: 2 });
    expect(result).toMatchObject({ rows: 2 });
    expect(organization.lines).toContain("warn The rows end at maxRows, 2; there may be more.");
    expect(await organization.rows("SELECT id FROM marts.halves")).toEqual([{ id: 0 }, { id: 2 }]);
  });

  test("replaces with no rows as well", async () => {
    const organization = openOrganization();
    await organization.run({ sql: HALVES, output: output({ partitionBy: ["half"] }) });
    expect(organization.tables.at(-1)?.files).toHaveLength(2);
    await organization.run({ sql: `${HALVES} HAVING false`, output: output({ partitionBy: ["half"] }) });
    expect(await organization.rows("FROM marts.halves")).toEqual([]);
  });
});

test("a definition is refused for names that no dataset can have, and for a merge without a key", () => {
  const check = (given: JsonObject) => duckdbTransform.check?.({ sql: "SELECT 1", output: given }) ?? [];
  expect(check(output({ writeDisposition: "merge" }))).toEqual([
    { path: ["output", "primaryKey"], message: "A merge needs a primaryKey." },
  ]);
  expect(check({ layer: "temp", dataset: "x" }).map((f) => f.path)).toEqual([["output", "layer"]]);
  expect(check({ layer: "raw", dataset: "{{payload.dataset}}" })).toEqual([]);
  const { faults } = read(
    duckdbTransform.definition,
    { sql: "SELECT 1", output: { layer: "Raw", dataset: "a-b" } },
    [],
  );
  expect(faults.map((f) => f.loc)).toEqual([
    ["output", "layer"],
    ["output", "dataset"],
  ]);
});
