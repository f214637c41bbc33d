import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { connect } from "../support/connections.ts";
import { openDecision } from "../support/decisions.ts";
import { deepTest } from "../support/scale.ts";
import { faultsOf, flowToEnd, makeAutomation, NOBODY } from "../support/work.ts";
import { workbookOf } from "../support/workbook.ts";
import { connectFolder, startData } from "./place.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
let folder: string;
beforeAll(async () => {
  data = await startData();
  folder = await connectFolder(data.owner);
  await data.upload(folder, "/customers.csv", "id,city,since\n01,Bern,2024-02-29\n02,Chur,2025-01-01\n");
  await data.upload(
    folder,
    "/orders.jsonl",
    '{"id":9007199254740993,"customer":"01","total":1.10,"lines":[{"n":1}]}\n{"id":2,"customer":"02","total":2.25}\n',
  );
}, 120_000);
afterAll(() => data[Symbol.asyncDispose]());

const at = (path: string) => ({ connectionId: folder, path });
const rowsOf = async (definition: object) => (await data.transform(definition)).items;

describe("files of a transform", () => {
  test("are tables of the SQL, with types that all of their values have", async () => {
    const result = await data.transform({
      sql: `SELECT o.id, c.city, o.total, c.since, o.lines FROM files.orders o JOIN files.Customers c ON c.id = o.customer
        WHERE c.since >= $since ORDER BY total`,
      files: { orders: { file: at("/orders.jsonl") }, customers: { file: at("/customers.csv") } },
      parameters: { since: "2024-01-01" },
    });
    expect(result.items).toEqual([
      { id: "9007199254740993", city: "Bern", total: "1.10", since: "2024-02-29", lines: [{ n: 1 }] },
      { id: 2, city: "Chur", total: "2.25", since: "2025-01-01", lines: null },
    ]);
    expect(result.columns.map(({ dataType }: { dataType: string }) => dataType)).toEqual([
      "BIGINT",
      "VARCHAR",
      "DECIMAL(38,2)",
      "DATE",
      "JSON",
    ]);
  });

  test("are read according to their options", async () => {
    await data.upload(
      folder,
      "/text.txt",
      Buffer.from("# made by hand\nname;amount\nZ\xfcrich;1,5\n-;\n", "latin1"),
    );
    const options = { format: "csv", encoding: "windows-1252", comment: "#", decimal: ",", nullText: "-" };
    expect(
      await rowsOf({ sql: "FROM files.text", files: { text: { file: at("/text.txt"), ...options } } }),
    ).toEqual([
      { name: "Zürich", amount: "1.5" },
      { name: null, amount: null },
    ]);
    await data.upload(folder, "/packed.csv.gz", gzipSync("a\n1\n"));
    expect(
      await rowsOf({ sql: "FROM files.packed", files: { packed: { file: at("/packed.csv.gz") } } }),
    ).toEqual([{ a: 1 }]);
  });

  test("of a workbook are its first sheet, with a warning, or the named one", async () => {
    const sheets = { First: cells("a"), Second: cells("b") };
    await data.upload(folder, "/two.xlsx", workbookOf({ sheets }));
    const first = await data.transform({
      sql: "FROM files.book",
      files: { book: { file: at("/two.xlsx") } },
    });
    expect(first).toMatchObject({
      items: [{ a: 7 }],
      warnings: [
        "book: the first sheet was read; the workbook also has Second. Name one in files.book.sheet.",
      ],
    });
    const second = await data.transform({
      sql: "FROM files.book",
      files: { book: { file: at("/two.xlsx"), sheet: "Second" } },
    });
    expect([second.items, second.warnings]).toEqual([[{ b: 7 }], undefined]);
  });

  deepTest(
    "are visible to tests too, and take precedence over a layer of the lake with their name",
    async () => {
      await data.transform({ sql: "SELECT 'lake' AS origin", output: { layer: "files", dataset: "mine" } });
      await data.transform({ sql: "SELECT 'lake' AS origin", output: { layer: "files", dataset: "other" } });
      await data.upload(folder, "/mine.csv", "origin\nfile\n");
      const definition = {
        sql: "SELECT origin FROM files.mine UNION ALL SELECT origin FROM files.other ORDER BY 1",
        files: { mine: { file: at("/mine.csv") } },
        tests: [{ name: "as many", sql: "SELECT count(*) FROM files.mine", expect: 1 }],
      };
      expect(await data.transform(definition)).toMatchObject({
        items: [{ origin: "file" }, { origin: "lake" }],
        tests: [{ name: "as many", passed: true }],
      });
    },
  );

  deepTest(
    "of an earlier step's run: rows become csv, csv a workbook, and the workbook rows again",
    async () => {
      const made = { connectionId: "artifact", title: "Rows" };
      const file = (key: string) => ({ artifactId: `{{steps.${key}.result.output.artifactId}}` });
      const step = (key: string, definition: object, before?: string) => ({
        key,
        kind: "duckdb_transform",
        definition,
        ...(before ? { dependsOn: [before] } : {}),
      });
      const flow = await makeAutomation(data.owner, {
        steps: [
          step("csv", {
            sql: "SELECT i AS n, '00' || i AS code, i / 4 AS part, DATE '2026-01-01' + i::INTEGER AS day FROM range(1000) t(i)",
            output: { ...made, format: "csv", compression: "zstd" },
          }),
          step(
            "book",
            {
              sql: "FROM files.csv",
              files: { csv: { file: file("csv") } },
              output: { ...made, format: "xlsx" },
            },
            "csv",
          ),
          step(
            "rows",
            {
              sql: "SELECT count(*) AS n, sum(n) AS sum, sum(part) AS parts, max(day) AS day, any_value(typeof(day)) AS type FROM files.book",
              files: { book: { file: file("book") } },
            },
            "book",
          ),
        ],
      });
      const run = await flowToEnd(data.owner, flow.id);
      expect([run.status, run.error]).toEqual(["completed", null]);
      const { body } = await data.owner("GET", `/api/v1/action-runs/${run.steps[2].actionRunId}`);
      expect(body.result.items).toEqual([
        { n: 1000, sum: 499_500, parts: "124875.00", day: "2028-09-26", type: "DATE" },
      ]);
    },
  );

  test("that can't be read fail the run, with what to do at their field", async () => {
    await data.upload(folder, "/wrong.csv", Buffer.from("a\nZ\xfcrich\n", "latin1"));
    await data.upload(folder, "/names.csv", Buffer.from("n\xe9,b\n1,2\n", "latin1"));
    await data.upload(folder, "/packed.csv", gzipSync("a\n1\n"));
    await data.upload(folder, "/wrong.xlsx", "no workbook");
    await data.upload(folder, "/empty.csv", "");
    await data.upload(folder, "/plain.bin", "a\n1\n");
    for (const [file, code, message] of [
      [
        at("/wrong.csv"),
        "upstream",
        "files.t: wrong.csv can't be read as csv: line 2: it is not utf-8. Set files.t.encoding",
      ],
      [
        at("/names.csv"),
        "upstream",
        "files.t: names.csv can't be read as csv: line 1: it is not utf-8. Set files.t.encoding",
      ],
      [at("/packed.csv"), "upstream", "files.t: packed.csv is compressed with gzip. Add .gz to its name"],
      [at("/wrong.xlsx"), "upstream", "files.t: "],
      [at("/empty.csv"), "upstream", "files.t: the file has no columns."],
      [at("/plain.bin"), "definition_invalid", "Set files.t.format"],
      [at("/nothing.csv"), "not_found", "files.t: "],
      [{ artifactId: NOBODY }, "not_found", "files.t: "],
    ] as const) {
      const run = await data.end("duckdb_transform", { sql: "FROM files.t", files: { t: { file } } });
      expect([run.status, run.error.code]).toEqual(["failed", code]);
      expect(run.error.message).toContain(message);
    }
  });

  test("are counted and kept if onBadRow allows bad records", async () => {
    await data.upload(folder, "/bad.csv", "a,b\n1,2\n3\n4,5\n");
    const run = await data.end("duckdb_transform", {
      sql: "SELECT sum(a) AS a FROM files.bad",
      files: { bad: { file: at("/bad.csv"), onBadRow: "reject" } },
    });
    expect(run.result).toMatchObject({
      items: [{ a: 5 }],
      warnings: [expect.stringContaining("1 record of bad.csv could not be read")],
    });
    const { body } = await data.owner("GET", `/api/v1/artifacts?action_run_id=${run.id}`);
    expect(body.artifacts.map(({ title }: { title: string }) => title)).toContain("Rejected records of bad");
  });

  test("of a connection that requires approval are read after it", async () => {
    const guarded = await connectFolder(data.owner, "guarded");
    await data.upload(guarded, "/a.csv", "a\n1\n");
    await data.owner("PATCH", `/api/v1/connections/${guarded}`, { approvalRequired: "all" });
    const file = { connectionId: guarded, path: "/a.csv" };
    const run = await data.begin("duckdb_transform", { sql: "FROM files.a", files: { a: { file } } });
    const { id } = await openDecision(data.app, run.id);
    await data.owner("POST", `/api/v1/decisions/${id}/decide`, { decisionValue: "approved" });
    expect((await data.good(run.id)).items).toEqual([{ a: 1 }]);
  });

  test("are checked when they are saved: names, options, connections", async () => {
    const save = async (files: object) =>
      faultsOf(
        await data.owner("POST", "/api/v1/actions", {
          name: "x",
          kind: "duckdb_transform",
          definition: { sql: "SELECT 1", files },
        }),
      ).map((fault: string) => fault.replace("body.definition.", ""));
    const shop = await connect(data.owner, {
      name: "Shop",
      provider: "postgres",
      config: { host: "db.example.com", database: "x" },
      credentials: { user: "u", password: "p" },
    });
    expect(await save({ "1a": { file: at("/a.csv") } })).toEqual(["files.1a value_error"]);
    expect(await save({ a: { file: at("/a.csv") }, A: { file: at("/a.csv") } })).toEqual([
      "files.A value_error",
    ]);
    expect(await save({ a: { file: at("/a.csv"), encoding: "klingon" } })).toEqual([
      "files.a.encoding value_error",
    ]);
    expect(await save({ a: { file: at("/a.csv"), colour: 1 } })).toEqual(["files.a.colour extra_forbidden"]);
    expect(await save({ a: { file: { connectionId: shop.id, path: "/a.csv" } } })).toEqual([
      "files.a.file.connectionId value_error",
    ]);
    expect(await save({ a: { file: { connectionId: NOBODY, path: "/a.csv" } } })).toEqual([
      "files.a.file.connectionId not_found",
    ]);
  });
});

/** A column with this name, and one row. */
const cells = (name: string) =>
  `<row r="1"><c t="inlineStr"><is><t>${name}</t></is></c></row><row r="2"><c><v>7</v></c></row>`;
