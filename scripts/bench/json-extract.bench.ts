/**
 * JSON to Parquet by `dlt_extract`, `bun scripts/bench/json-extract.bench.ts [rows] [rounds]`, against DuckDB's own
 * `read_json`:
 * - pages of an API, each with the link to the next, by a connection template,
 * against DuckDB reading the same rows from
 *   a file; and the same rows from a provider that has to parse each;
 * - a JSONL file of orders with an object, a list of objects and a list of texts in each row, which become a table and
 *   two child tables, against DuckDB writing the same three tables, and against DuckDB leaving them nested in one file.
 *
 * DuckDB has the same number of threads on both sides. Medians of interleaved rounds. Before that, the API once,
 * and once with many times the rows: peak memory, including DuckDB's, may not grow with them.
 */
import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import type { JsonObject } from "../../src/base/json.ts";
import type { Link, Provider } from "../../src/providers/contract.ts";
import { httpTemplateProvider } from "../../src/providers/http-template/http-template.ts";
import { localFiles } from "../../src/providers/local-files/local-files.ts";
import { link } from "../../test/support/link.ts";
import { tell } from "./load.ts";
import { compare, copyTo, openBare, openLoads, timed, watched } from "./loads.ts";
import { startPeer } from "./peer.ts";
import { rssMb } from "./process.ts";
import { flatRow, nestedRow, writeLines } from "./rows.ts";

const rows = Number(process.argv[2] ?? 200_000);
const rounds = Number(process.argv[3] ?? 3);
const TIMES = 5;
const PAGE_ROWS = 500;
const PAGE_BYTES = 64 * 1024 * 1024;

const loads = openLoads();
const file = (name: string) => join(loads.folder, name);
const copy = (select: string, name = "bare") => copyTo(file(`${name}.parquet`), select);

/** The first `count` rows of the API, requested by a connection template. */
const api = httpTemplateProvider({
  http: { baseUrl: "{{config.baseUrl}}", auth: { type: "none" }, verify: { path: "/" } },
  configSchema: {},
  credentialsSchema: {},
});
const ofApi = (count: number): JsonObject => ({
  name: "orders",
  spec: "/orders",
  endpoint: {
    params: { pages: Math.ceil(count / PAGE_ROWS) },
    dataPath: "rows",
    paginator: { type: "json_link", nextPath: "next" },
  },
});

/** The same API behind a provider of its own, which returns parsed rows. */
const own = (count: number): Provider => ({
  id: "api",
  title: "API",
  description: "Pages of JSON.",
  config: Type.Object({}),
  credentials: Type.Object({}),
  destination: [],
  verify: async () => undefined,
  extract: async (link) => ({
    kind: "rows",
    ranged: false,
    pages: pagesOf(link, Math.ceil(count / PAGE_ROWS)),
  }),
});

async function* pagesOf({ egress, signal }: Link, pages: number) {
  for (let next: string | null = `/orders?pages=${pages}`; next !== null; ) {
    const reply = await egress.fetch(`${peer.origin}${next}`, { method: "GET", signal });
    const { bytes } = await reply.bytes(PAGE_BYTES);
    const page = JSON.parse(new TextDecoder().decode(bytes)) as { rows: JsonObject[]; next: string | null };
    yield page.rows;
    next = page.next;
  }
}

const peer = await startPeer("json-peer.ts", String(rows), String(PAGE_ROWS));
try {
  await writeLines(file("flat.ndjson"), rows, flatRow);
  await writeLines(file("nested.jsonl"), rows, nestedRow);
  Bun.gc(true);
  const idleMb = rssMb(process.pid);

  const there = link({ baseUrl: peer.origin }, {});
  const small = await watched(() => loads.replace(api, there, ofApi(rows), rows));
  const large = await watched(() => loads.replace(api, there, ofApi(rows * TIMES), rows * TIMES));
  console.log(
    `  memory: ${small.peakMb.toFixed(0)} MB, with ${TIMES} × the rows ${large.peakMb.toFixed(0)} MB`,
  );
  tell(
    `memory of ${TIMES} × the pages above idle, DuckDB's included`,
    large.peakMb - idleMb,
    300,
    300,
    "MB",
    true,
  );

  const bare = await openBare(); // Its memory isn't Weir's.
  const flat = copy(`SELECT * FROM read_json('${file("flat.ndjson")}', format = 'newline_delimited')`);
  const [pages] = await compare(rounds, "API pages", { DuckDB: () => timed(bare, flat) }, () =>
    loads.replace(api, there, ofApi(rows), rows),
  );
  tell("API pages → Parquet, against DuckDB reading the same NDJSON", pages ?? Number.NaN, 0.4, 0.5);
  const [read] = await compare(rounds, "API pages, read", { DuckDB: () => timed(bare, flat) }, () =>
    loads.replace(own(rows), there, { name: "orders" }, rows),
  );
  tell("the same, of a provider that reads each row", read ?? Number.NaN, 0.35, 0.5);

  const nested = `read_json('${file("nested.jsonl")}', format = 'newline_delimited')`;
  const tables = {
    root: `SELECT * EXCLUDE (lines, tags) FROM ${nested}`,
    lines: `SELECT id, unnest(lines, recursive := true) FROM ${nested}`,
    tags: `SELECT id, unnest(tags) AS value FROM ${nested}`,
  };
  const apart = async () => {
    let ms = 0;
    for (const [name, select] of Object.entries(tables)) ms += await timed(bare, copy(select, name));
    return ms;
  };
  const folder = link({}, {}, { filesFolder: loads.folder });
  const [whole, split] = await compare(
    rounds,
    "JSONL",
    { "DuckDB, nested": () => timed(bare, copy(`SELECT * FROM ${nested}`)), "DuckDB, three tables": apart },
    () => loads.replace(localFiles, folder, { name: "orders", spec: "nested.jsonl" }, rows),
  );
  tell("JSONL with nesting → Parquet, against DuckDB's read_json", whole ?? Number.NaN, 0.5, 0.5);
  tell("the same, against DuckDB writing the same three tables", split ?? Number.NaN, 0.8, 0.95);
} finally {
  await loads.close();
  await peer.stop();
}
process.exit(0);
