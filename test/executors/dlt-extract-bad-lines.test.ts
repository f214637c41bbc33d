import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { connectFolder, startData } from "../data/place.ts";
import { ACTIONS } from "../support/work.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
let folder: string;
beforeAll(async () => {
  data = await startData();
  folder = await connectFolder(data.owner);
});
afterAll(() => data[Symbol.asyncDispose]());

const REJECT = { onBadRow: "reject" };

let count = 0;
/** Loads files into a dataset of its own. */
async function load(
  files: Record<string, string | Uint8Array>,
  resource: object = {},
  definition: object = {},
) {
  const dataset = `lines${++count}`;
  for (const [name, content] of Object.entries(files))
    await data.upload(folder, `/${dataset}/${name}`, content);
  const extract = await data.extract(folder, {
    dataset,
    resources: [{ name: "t", spec: `${dataset}/*`, file: REJECT, ...resource }],
    ...definition,
  });
  const run = await extract.run();
  return {
    ...run,
    rows: (columns: string) => data.rows(`SELECT ${columns} FROM raw.${dataset}__t ORDER BY ALL`),
    async rejects() {
      const { body } = await data.owner("GET", `/api/v1/artifacts?action_run_id=${run.id}`);
      const { text } = await data.owner("GET", `/api/v1/artifacts/${body.artifacts[0].id}/content`);
      return text
        .trim()
        .split("\n")
        .map((line: string) => JSON.parse(line));
    },
  };
}

const LINES = [
  '{"id":1,"of":{"n":1}}',
  '{"id":2,"of":{"n":2}',
  "",
  "[1, 2",
  '{"id":3,"id":4,"lots":[5]}',
  "seven\r",
  '{"id":9}{"id":9}',
  '{"id":5, "of": {}}',
];
const REJECTS = [
  { line: 2, reason: "not valid JSON", text: '{"id":2,"of":{"n":2}' },
  { line: 4, reason: "not valid JSON", text: "[1, 2" },
  { line: 6, reason: "not valid JSON", text: "seven" },
  { line: 7, reason: "not valid JSON", text: '{"id":9}{"id":9}' },
];

test("lines that are no JSON are left out, counted, and kept with their reasons", async () => {
  const run = await load({ "a.jsonl": LINES.join("\n"), "b.jsonl.gz": gzipSync('{"id":6}\nnul\n') });
  expect(run.result.tables[0]).toMatchObject({ table: "t", rowsRead: 9, rows: 4, rejected: 5 });
  expect(await run.rejects()).toEqual([
    ...REJECTS.map((reject) => ({ file: `lines${count}/a.jsonl`, ...reject })),
    { file: `lines${count}/b.jsonl.gz`, line: 2, reason: "not valid JSON", text: "nul" },
  ]);
  expect(run.result.warnings).toEqual(
    expect.arrayContaining([
      `4 records of lines${count}/a.jsonl could not be read and were rejected (line 2: not valid JSON). See the artifact with the rejected records.`,
      `1 record of lines${count}/b.jsonl.gz could not be read and was rejected (line 2: not valid JSON). See the artifact with the rejected records.`,
    ]),
  );
  expect(await run.rows("id, of__n AS n")).toEqual([
    { id: 1, n: 1 },
    { id: 4, n: null },
    { id: 5, n: null },
    { id: 6, n: null },
  ]);
});

test("so they are with maxRows, chosen columns and a cursor", async () => {
  const cut = await load({ "a.jsonl": LINES.join("\n") }, { columns: ["id"] }, { maxRows: 2 });
  expect(cut.result.tables[0]).toMatchObject({ rows: 2, rejected: 2 });
  expect(await cut.rejects()).toHaveLength(2);
  const since = await load({ "a.jsonl": LINES.join("\n") }, { incremental: { cursorField: "id" } });
  expect(since.result.tables[0]).toMatchObject({ rows: 3, rejected: 4, cursor: { end: 5 } });
});

test("a byte order mark belongs to no line, and bytes that are no UTF-8 only to theirs", async () => {
  const text = '\ufeff{"id":1}\n{"id":2,"n":"é"}\nZ\xfcrich\n{"id":3,"n":"é"}\n';
  const [before = "", after = ""] = text.split("Z\xfcrich");
  const bytes = Buffer.concat([Buffer.from(before), Buffer.from("Z\xfcrich", "latin1"), Buffer.from(after)]);
  const run = await load({ "a.jsonl": bytes });
  expect(run.result.tables[0]).toMatchObject({ rows: 3, rejected: 1 });
  expect(await run.rejects()).toEqual([
    { file: `lines${count}/a.jsonl`, line: 3, reason: "not utf-8", text: "Z\ufffdrich" },
  ]);
});

test("many bad lines are all counted, and among them no row is lost", async () => {
  const lines = Array.from({ length: 60_000 }, (_, n) => (n % 3 === 0 ? `{"id":${n}` : `{"id":${n}}`));
  const run = await load({ "a.jsonl": lines.join("\n") });
  expect(run.result.tables[0]).toMatchObject({ rowsRead: 60_000, rows: 40_000, rejected: 20_000 });
  expect(await run.rejects()).toHaveLength(10_000);
  expect(await run.rows("count(DISTINCT id)::INT AS n")).toEqual([{ n: 40_000 }]);
});

test("a file of only bad lines loads nothing", async () => {
  const run = await load({ "a.jsonl": "no\nJSON\n" });
  expect(run).toMatchObject({ status: "completed", result: { rows: 0, tables: [{ rejected: 2 }] } });
});

test("without onBadRow such a line fails the run, and other values become rows", async () => {
  const file = { format: "jsonl" };
  const bad = await load({ "a.txt": '{"id":1}\n{"id":2\n' }, { file });
  expect(bad.error).toMatchObject({
    code: "upstream",
    message: `Line 2 of lines${count}/a.txt is not valid JSON.`,
  });
  const values = await load({ "a.txt": '{"id":1}\n7\n' }, { file });
  expect(await values.rows("id, value")).toEqual([
    { id: 1, value: null },
    { id: null, value: 7 },
  ]);
});

test("formats that are read as a whole can't reject records, as is said when they are saved or read", async () => {
  for (const format of ["json", "parquet", "avro", "xlsx"]) {
    const answer = await data.owner("POST", ACTIONS, {
      kind: "dlt_extract",
      name: format,
      connectionId: folder,
      definition: {
        dataset: "x",
        resources: [{ name: "t", spec: "t", file: { format, onBadRow: "reject" } }],
      },
    });
    expect([answer.status, answer.body.detail]).toEqual([
      422,
      [
        expect.objectContaining({
          loc: ["body", "definition", "resources", "0", "file", "onBadRow"],
          msg: `Records can be rejected in csv, tsv and jsonl, and not in ${format}. Remove onBadRow.`,
        }),
      ],
    ]);
  }
  const run = await load({ "a.csv": "id\n1\n", "b.json": '[{"id":2}]' });
  expect([run.status, run.result.warnings]).toEqual([
    "completed",
    [expect.stringContaining(`file.onBadRow "reject" has no effect on lines${count}/b.json`)],
  ]);
});

test("values that aren't objects become rows, with and without it", async () => {
  const run = await load({ "a.jsonl": '{"id":1}\n7\n[{"id":2}]\n' });
  expect(await run.rows("id, value")).toEqual([
    { id: 1, value: null },
    { id: 2, value: null },
    { id: null, value: 7 },
  ]);
});

test("in a transform's files too", async () => {
  await data.upload(folder, "/bad.jsonl", '{"a":1}\nno\n{"a":4}\n');
  const file = { connectionId: folder, path: "/bad.jsonl" };
  const run = await data.end("duckdb_transform", {
    sql: "SELECT sum(a) AS a FROM files.bad",
    files: { bad: { file, ...REJECT } },
  });
  expect(run.result).toMatchObject({
    items: [{ a: 5 }],
    warnings: [expect.stringContaining("1 record of bad.jsonl could not be read and was rejected (line 2: ")],
  });
});

const latin = (text: string) => Buffer.from(text, "latin1");
const PLAIN = { file: {} };

test.each([
  ["a.csv", latin("n\xe9,b\n1,2\n"), PLAIN, "line 1: it is not utf-8. Set file.encoding"],
  ["a.tsv", latin("\xe9\t\xfc\n1\t2\n"), PLAIN, "line 1: it is not utf-8. Set file.encoding"],
  ["a.csv.gz", gzipSync(latin("n\xe9,b\n1,2\n")), PLAIN, "line 1: it is not utf-8. Set file.encoding"],
  ["a.csv", latin("a,\xe9\n1,2\n"), {}, "line 1: it is not utf-8. Set file.encoding"],
  ["a.csv", latin("no\nmore\nn\xe9\n1\n"), { file: { skipRows: 2 } }, "line 3: it is not utf-8."],
])(
  "a header of %s that is not UTF-8 fails the run, as a row does",
  async (name, bytes, resource, message) => {
    const run = await load({ [name]: bytes }, resource);
    expect([run.status, run.error?.code, run.error?.message]).toEqual([
      "failed",
      "upstream",
      expect.stringContaining(message),
    ]);
  },
);

test("a header in UTF-8 or in the given encoding names its columns", async () => {
  for (const [bytes, file] of [
    [Buffer.from("\ufeffn\u00e9,\ufffd\n1,2\n"), {}],
    [latin("# \xe9\nn\xe9,\xfc\n1,2\n"), { encoding: "windows-1252", comment: "#" }],
  ] as const) {
    const run = await load({ "a.csv": bytes }, { file });
    expect([run.status, run.error]).toEqual(["completed", null]);
    expect((await run.rows("né"))[0]).toEqual({ né: 1 });
  }
});

test("text with the bytes of a compressed file fails the run, whatever its name, options and format", async () => {
  const packed = Bun.zstdCompressSync("a,b\n1,2\n");
  for (const [name, bytes, resource, message] of [
    ["e.csv", packed, PLAIN, "compressed with Zstandard. Add .zst to its name"],
    ["e.csv", packed, { file: { encoding: "windows-1252", header: false } }, "Add .zst to its name"],
    ["e.csv", gzipSync("a,b\n1,2\n"), {}, "compressed with gzip. Add .gz to its name"],
    ["e.jsonl", gzipSync('{"a":1}\n'), {}, "compressed with gzip. Add .gz to its name"],
  ] as const) {
    const run = await load({ [name]: bytes }, resource);
    expect([run.status, run.error?.message]).toEqual(["failed", expect.stringContaining(message)]);
  }
});
