import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Answer,
  answersOf,
  DATASET,
  type Line,
  nameOf,
  rowsOf,
  TABLE,
  tableOf,
} from "../../scripts/docs/types/line.ts";
import { MYSQL_LINES, type MysqlLine } from "../../scripts/docs/types/mysql.ts";
import { POSTGRES_LINES, POSTGRES_SETUP } from "../../scripts/docs/types/postgres.ts";
import { avroName, avroSchemas, XLSX_LINES } from "../../scripts/docs/types/sheets.ts";
import { answersHere, FILES, TYPE_SOURCES } from "../../scripts/docs/types/sources.ts";
import { CSV_LINES, JSON_LINES } from "../../scripts/docs/types/texts.ts";
import { MYSQL_TYPES } from "../../src/providers/mysql/types.ts";
import { POSTGRES_TYPES } from "../../src/providers/postgres/types.ts";
import { LOGICAL } from "../../src/sheets/avro/logical.ts";
import { PRIMITIVES } from "../../src/sheets/avro/types.ts";
import { connectFolder, connectPostgres, startData } from "../data/place.ts";
import { csvOf } from "../exact/csv.ts";
import { jsonOf, linesOf } from "../exact/json.ts";
import { SECRETS, startJsonApi } from "../peers/json-api.ts";
import { published } from "../support/bundles.ts";
import { connect } from "../support/connections.ts";
import { credentialsOf, definitionOf } from "../support/json-api.ts";
import { hasMariadb, startMariadb } from "../support/mariadb.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { someOf } from "../support/scale.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  data = await startData();
});
afterAll(() => data[Symbol.asyncDispose]());

/** Results of a real extract of lines, over HTTP only. */
async function load(connectionId: string, lines: readonly Line[], resource: object): Promise<Answer[]> {
  await data.owner("DELETE", `/api/v1/datasets/raw/${DATASET}`);
  const run = await data.end(
    "dlt_extract",
    { dataset: DATASET, resources: [{ name: TABLE, ...resource }] },
    { connectionId },
  );
  expect(run.error).toBeNull();
  const { datasets } = (await data.owner("GET", `/api/v1/datasets?layer=raw&q=${DATASET}`)).body;
  const query = (sql: string) => data.rows(sql);
  return answersOf(lines, { tables: datasets[0].tables, warnings: run.result.warnings, query });
}

/** One test per line: the source itself confirms its documentation. */
function everyLine(lines: readonly Line[], source: string, found: () => readonly Answer[]): void {
  let documented: Answer[] = [];
  beforeAll(async () => {
    documented = await answersHere(TYPE_SOURCES[source]!);
  });
  const documentedLines = TYPE_SOURCES[source]!.lines;
  for (const [at, line] of lines.entries()) {
    test(`${line.title ?? line.type}: ${line.values.join(", ")}`, () => {
      const answer = found()[at]!;
      expect(answer).toEqual(documented[documentedLines.indexOf(line)]!);
      expect(answer.lake).not.toBe("");
      expect(answer.told !== null).toBe(line.odd !== undefined);
    });
  }
}

describe("the documents' types of PostgreSQL match a server's", () => {
  let pg: TestPostgres;
  let found: Answer[];
  beforeAll(async () => {
    pg = await startPostgres();
    const declared = POSTGRES_LINES.map(({ type }, at) => `${nameOf(at)} ${type}`);
    const values = rowsOf(POSTGRES_LINES).map(
      (row, index) => `(${[index + 1, ...row.map((text) => quoted(text))].join()})`,
    );
    await pg.sql.unsafe(
      `${POSTGRES_SETUP} create table rows (id int, ${declared.join()}); insert into rows values ${values.join()}`,
    );
    found = await load(await connectPostgres(data.owner, pg), POSTGRES_LINES, { spec: "public.rows" });
  });
  afterAll(() => pg[Symbol.asyncDispose]());

  everyLine(POSTGRES_LINES, "postgres", () => found);

  test("a column of JSON has its exact text as VARCHAR", async () => {
    const name = nameOf(POSTGRES_LINES.findIndex(({ type }) => type === "jsonb"));
    expect(
      await data.rows(`SELECT CAST(${name} AS VARCHAR) AS text FROM raw.types__rows WHERE id = 1`),
    ).toEqual([{ text: '{"a": 12345678901234567890}' }]);
  });

  test("each type with an equivalent in the lake is a line", () => {
    const bases = new Set(POSTGRES_LINES.map(({ base }) => base));
    expect(Object.keys(POSTGRES_TYPES).filter((type) => !bases.has(type))).toEqual([]);
  });

  test("each built-in type is a line, a list of one, or arrives as its text", async () => {
    // No column is a list of pseudo-types, or of rows that contain one.
    await pg.sql.unsafe(`
      create function is_for_columns(type text) returns boolean language plpgsql as $$ begin
        execute format('create temp table probe (c %s)', type);
        drop table probe;
        return true;
      exception when invalid_table_definition then return false;
      end $$`);
    const types = await pg.sql<{ name: string; base: string; element: string | null; kind: string | null }[]>`
      select format_type(t.oid, null) as name, t.typname as base, e.typname as element, e.typtype as kind
        from pg_type t left join pg_type e on e.oid = t.typelem and e.typarray = t.oid
       where t.typnamespace = 'pg_catalog'::regnamespace and t.typtype in ('b', 'r', 'm', 'e', 'd')
         and is_for_columns(format_type(t.oid, null))
       order by t.oid`;
    const columns = types.map(({ name }, at) => `${nameOf(at)} ${name}`);
    await pg.sql.unsafe(`create table every (id int, ${columns.join()}); insert into every values (1)`);
    const lines = types.map(({ name }) => ({ type: name, values: [] }));
    const answers = await load(await connectPostgres(data.owner, pg), lines, { spec: "public.every" });
    const lakeOf = (base: string): string => {
      const at = POSTGRES_LINES.findIndex((line) => line.base === base && !line.isList);
      return at < 0 ? "VARCHAR" : (found[at]?.lake ?? "");
    };
    const listOf = (element: string, kind: string | null): string => {
      if (kind === "c" || lakeOf(element) === "JSON") return "JSON";
      return `${element === "numeric" ? "VARCHAR" : lakeOf(element)}[]`;
    };
    const expected = types.map(({ name, base, element, kind }) => [
      name,
      element === null ? (base === "numeric" ? "DECIMAL(38,0)" : lakeOf(base)) : listOf(element, kind),
    ]);
    expect(types.length).toBeGreaterThan(100);
    expect(types.map(({ name }, at) => [name, answers[at]?.lake])).toEqual(expected);
  });
});

const quoted = (text: string | null): string => (text === null ? "null" : `'${text.replaceAll("'", "''")}'`);

describe("the documents' types of MySQL", () => {
  const bases = new Set(MYSQL_LINES.map(({ base }) => base));
  /** Aliases of types, and shapes that are handled like others. */
  const ALIASES = [
    "integer",
    "numeric",
    "real",
    "linestring",
    "polygon",
    "multilinestring",
    "multipolygon",
    "geomcollection",
  ];

  test("have a line for each type with an equivalent in the lake", () => {
    expect(Object.keys(MYSQL_TYPES).filter((type) => !bases.has(type) && !ALIASES.includes(type))).toEqual(
      [],
    );
  });
});

describe.skipIf(!hasMariadb)(
  "the documents' types of MariaDB match a server's (skipped without mariadbd)",
  () => {
    const lines = MYSQL_LINES.filter(({ only }) => only !== "MySQL");
    let db: Awaited<ReturnType<typeof startMariadb>>;
    let found: Answer[];
    beforeAll(async () => {
      db = await startMariadb();
      const { config, credentials } = db;
      const declared = lines.map(({ type }, at) => `${nameOf(at)} ${type}`);
      const values = rowsOf(lines).map((row, index) => {
        const cells = row.map((text, at) => literal(lines[at]!, text, index));
        return `(${[index + 1, ...cells].join()})`;
      });
      await db.run(
        `SET sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'; CREATE TABLE \`rows\` (id int, ${declared.join()}); INSERT INTO \`rows\` VALUES ${values.join()}`,
      );
      const { id } = await connect(data.owner, { name: "MariaDB", provider: "mysql", config, credentials });
      found = await load(id, lines, { spec: "shop.rows" });
    });
    afterAll(() => db[Symbol.asyncDispose]());

    const literal = ({ sql }: MysqlLine, text: string | null, row: number): string =>
      row === 0 && sql !== undefined ? sql : quoted(text);

    everyLine(lines, "mysql", () => found);
  },
);

/** Files of lines, in every format that is read the same way. */
const FORMATS: readonly (readonly [format: string, source: string, lines: readonly Line[]])[] = [
  ["csv", "csv", CSV_LINES],
  ["json", "json", JSON_LINES],
  ["parquet", "parquet", FILES.parquet!.lines],
  ["tsv", "csv", CSV_LINES],
  ["jsonl", "json", JSON_LINES],
  ["xlsx", "xlsx", XLSX_LINES],
  ["avro", "avro", FILES.avro!.lines],
];

async function contentOf(format: string): Promise<string | Uint8Array> {
  if (format === "tsv") return tabbed(CSV_LINES);
  if (format === "csv") return csvOf(tableOf(CSV_LINES)).content;
  if (format === "json") return jsonOf(tableOf(JSON_LINES)).content;
  if (format === "jsonl") return linesOf(tableOf(JSON_LINES)).content;
  return FILES[format as keyof typeof FILES]!.content();
}

const tabbed = (lines: readonly Line[]): string =>
  [["id", ...lines.map((_, at) => nameOf(at))], ...rowsOf(lines).map((row, at) => [at + 1, ...row])]
    .map((row) => `${row.join("\t")}\n`)
    .join("");

describe.each(someOf(3, FORMATS))("the documents' types of a file: %s", (format, source, lines) => {
  let found: Answer[];
  beforeAll(async () => {
    const { app, owner } = data;
    const folder = join(app.dataFolder, "files", app.ids.organizationId, "types");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `rows.${format}`), await contentOf(format));
    found = await load(await connectFolder(owner, "/types"), lines, { spec: `rows.${format}` });
  });

  everyLine(lines, source, () => found);
});

test("each Avro type is a line of the documents", () => {
  const schemas = avroSchemas().map((schema) => avroName(schema).replace(/\(.*/, ""));
  const known = [...PRIMITIVES.keys(), ...LOGICAL.keys(), "record", "enum", "fixed", "array", "map"];
  expect(known.filter((name) => name !== "null" && !schemas.includes(name))).toEqual([]);
});

describe("the documents' types of JSON match an API's pages", () => {
  let peer: Awaited<ReturnType<typeof startJsonApi>>;
  let found: Answer[];
  beforeAll(async () => {
    peer = await startJsonApi();
    const body = jsonOf(tableOf(JSON_LINES)).content as string;
    peer.state.instead = () => ({ status: 200, body });
    const template = { slug: "types", displayName: "Types", templateType: "connection" };
    const { id: templateId } = await published(data.owner, {
      ...template,
      definition: definitionOf("bearer"),
    });
    const config = { baseUrl: peer.baseUrl, tokenUrl: peer.tokenUrl };
    const credentials = credentialsOf("bearer", SECRETS);
    const { id } = await connect(data.owner, { name: "API", templateId, config, credentials });
    found = await load(id, JSON_LINES, { spec: "/rows" });
  });
  afterAll(() => peer[Symbol.asyncDispose]());

  everyLine(JSON_LINES, "json", () => found);
});
