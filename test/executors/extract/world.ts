import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { Type } from "@sinclair/typebox";
import { AppError } from "../../../src/base/errors.ts";
import type { Json, JsonObject } from "../../../src/base/json.ts";
import { read } from "../../../src/base/shape.ts";
import type { Done, RunContext } from "../../../src/executors/contract.ts";
import { dltExtract } from "../../../src/executors/dlt-extract.ts";
import type { CursorState, LakeTable } from "../../../src/lake/contract.ts";
import { openFolderLake } from "../../../src/lake/folder.ts";
import { sqlTables } from "../../../src/lake/views.ts";
import type { Extraction, ExtractRequest, Link, Provider } from "../../../src/providers/contract.ts";
import { localFiles } from "../../../src/providers/local-files/local-files.ts";
import { postgres } from "../../../src/providers/postgres/postgres.ts";
import type { Sheets } from "../../../src/sheets/contract.ts";
import type { Sql, SqlSession } from "../../../src/sql/contract.ts";
import { jsonText, textOf } from "../../../src/sql/values.ts";
import { link } from "../../support/link.ts";
import type { TestPostgres } from "../../support/postgres.ts";
import { testContext } from "../../support/run-context.ts";

export type Source = (request: ExtractRequest) => Extraction | Promise<Extraction>;

interface TableResult {
  table: string;
  rowsRead: number;
  rows: number;
  inserted: number;
  updated: number;
  deleted: number;
  deduplicated: number;
  rejected: number;
  bytes: number;
  files: number;
  cursor: { start: Json; end: Json } | null;
  schemaChanges: {
    table: string;
    column: string | null;
    change: string;
    from: string | null;
    to: string | null;
  }[];
  columns?: { name: string; dataType: string }[];
  sample?: JsonObject[];
}

export interface Result {
  loadId: string;
  mode: string;
  tables: TableResult[];
  rows: number;
  bytes: number;
  warnings: string[];
}

/** One organization's lake and cursors, and what completing a run does to them. */
export function openWorld(options: { sql?: Sql; sheets?: Sheets } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "weir-extract-"));
  const lake = openFolderLake(join(folder, "lake"));
  const sql = options.sql ?? sessionsHere();
  const tables: LakeTable[] = [];
  const cursors = new Map<string, CursorState>();
  const locks: string[] = [];
  let runs = 0;

  const commit = ({ load }: Done) => {
    if (!load) return;
    const { layer, dataset } = load;
    const named = load.tables.map((change) => change.table);
    if (new Set(named).size !== named.length) throw new Error("A load names a table twice.");
    for (const change of load.tables) {
      const at = tables.findIndex(
        (t) => t.layer === layer && t.dataset === dataset && t.table === change.table,
      );
      const before = tables[at];
      if (change.remove !== "all" && change.baseVersion !== (before?.version ?? null))
        throw new Error("dataset_changed");
      const gone = change.remove;
      const kept = gone === "all" ? [] : (before?.files ?? []).filter((file) => !gone.includes(file.id));
      const files = [...kept, ...change.add];
      const after = {
        layer,
        dataset,
        table: change.table,
        columns: change.columns,
        files,
        rows: files.reduce((sum, file) => sum + file.rows, 0),
        bytes: files.reduce((sum, file) => sum + file.bytes, 0),
        version: (before?.version ?? 0) + 1,
      };
      tables.splice(at < 0 ? tables.length : at, at < 0 ? 0 : 1, after);
    }
    for (const [resource, state] of Object.entries(load.cursors ?? {})) cursors.set(resource, state);
  };

  return {
    folder,
    lake,
    tables,
    cursors,
    locks,
    /** Executes a definition against a source, and completes the run unless `complete` is false. */
    async run(
      definition: JsonObject,
      source: Source | { provider: Provider; link: Link },
      given: { commit?: boolean; signal?: AbortSignal; loadId?: string } = {},
    ): Promise<{ done: Done; result: Result; ctx: ReturnType<typeof testContext> }> {
      const checked = read(dltExtract.definition, { dataset: "shop", ...definition }, []);
      if (checked.faults.length > 0) throw new AppError("definition_invalid", JSON.stringify(checked.faults));
      const loadId = given.loadId ?? `load-${++runs}`;
      const ctx = testContext({
        run: { id: loadId, organizationId: "org", attempt: 1, startedAt: "2026-01-01T00:00:00.000Z" },
        sql,
        ...(options.sheets ? { sheets: options.sheets } : {}),
        ...(given.signal ? { signal: given.signal } : {}),
        hasConnection: true,
        connection: async () =>
          typeof source === "function" ? { provider: providerOf(source), link: link({}, {}) } : source,
        lake: {
          tables: async () => structuredClone(tables),
          table: async (layer, dataset, table) =>
            tables.find((t) => t.layer === layer && t.dataset === dataset && t.table === table) ?? null,
          past: async () => Promise.reject(new AppError("sql_error", "An extract reads no past.")),
          localPath: lake.localPath,
          add: (at, file) => lake.add({ organizationId: "org", ...at }, file),
          cursor: async (resource) => cursors.get(resource) ?? null,
          lock: async (layer, dataset) => void locks.push(`${layer}.${dataset}`),
        } satisfies RunContext["lake"],
      });
      await using _ = ctx;
      const done = await dltExtract.execute(ctx, checked.value as JsonObject);
      const shown = read(dltExtract.result, done.result, []);
      if (shown.faults.length > 0)
        throw new Error(`The result is not of its shape: ${JSON.stringify(shown.faults)}`);
      if (given.commit !== false) commit(done);
      return { done, result: done.result as unknown as Result, ctx };
    },
    /** Rows of a statement over the committed tables. */
    async query(text: string): Promise<JsonObject[]> {
      const { connection, instance } = await openDuck();
      for (const table of await sqlTables(lake, tables)) {
        await connection.run(`CREATE SCHEMA IF NOT EXISTS "${table.layer}"`);
        const columns = table.columns.map((c) => `CAST(NULL AS ${c.dataType}) AS "${c.name}"`).join(", ");
        const files = table.files.map((file) => `'${file}'`).join(", ");
        const source =
          files === ""
            ? ""
            : ` UNION ALL BY NAME SELECT * FROM read_parquet([${files}], union_by_name = true)`;
        await connection.run(
          `CREATE VIEW "${table.layer}"."${table.name}" AS SELECT ${columns} WHERE false${source}`,
        );
      }
      const rows = await rowsOf(connection, text);
      connection.closeSync();
      instance.closeSync();
      return rows;
    },
    columns: (table: string) =>
      Object.fromEntries(
        (tables.find((t) => t.table === table)?.columns ?? []).map((column) => [
          column.name,
          column.dataType,
        ]),
      ),
    /** The number of files of a table. */
    fileCount: (name: string) => tables.find(({ table }) => table === name)?.files.length ?? 0,
    /** Column types in the files of a table. */
    async fileTypes(name: string): Promise<Record<string, string>> {
      const { connection, instance } = await openDuck();
      const found = (await sqlTables(lake, tables)).find((table) => table.name.endsWith(`__${name}`));
      const files = (found?.files ?? []).map((file) => `'${file}'`).join(", ");
      const rows = await rowsOf(connection, `DESCRIBE SELECT * FROM read_parquet([${files}])`);
      connection.closeSync();
      instance.closeSync();
      return Object.fromEntries(rows.map((row) => [String(row.column_name), String(row.column_type)]));
    },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type World = ReturnType<typeof openWorld>;

const providerOf = (source: Source): Provider => ({
  id: "here",
  title: "Here",
  description: "A source in the test.",
  config: Type.Object({}),
  credentials: Type.Object({}),
  destination: [],
  verify: async () => undefined,
  extract: async (_link, request) => source(request),
});

/** Sessions in this process, which start immediately; the real ones each have a process. */
function sessionsHere(): Sql {
  const refuse = async (): Promise<never> => {
    throw new Error("Only sessions are here.");
  };
  return {
    query: refuse,
    queryText: refuse,
    explain: refuse,
    save: refuse,
    materialize: refuse,
    close: async () => undefined,
    session: async ({ signal }): Promise<SqlSession> => {
      const { connection, instance } = await openDuck();
      return {
        run: async (sql) => {
          signal?.throwIfAborted();
          try {
            return await rowsOf(connection, sql);
          } catch (cause) {
            throw new AppError(
              "sql_error",
              `${cause instanceof Error ? cause.message : cause} IN ${sql.slice(0, 1500)}`,
              { cause },
            );
          }
        },
        close: async () => {
          connection.closeSync();
          instance.closeSync();
        },
      };
    },
  };
}

/** Its days begin where those of the real child begin, in any time zone of this machine. */
async function openDuck() {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  return { connection, instance };
}

async function rowsOf(connection: DuckDBConnection, sql: string): Promise<JsonObject[]> {
  const reader = await connection.runAndReadAll(sql);
  const names = reader.columnNames();
  const texts = reader.columnTypes().map(textOf);
  return reader
    .getRows()
    .map((row) =>
      Object.fromEntries(
        row.map((value, at) => [names[at] ?? "", JSON.parse((texts[at] ?? jsonText)(value))]),
      ),
    );
}

async function* inPieces<T>(pieces: Iterable<T>): AsyncGenerator<T> {
  for (const piece of pieces) yield piece;
}

/** JSON rows, in pages. */
export const rows =
  (...pages: JsonObject[][]): Source =>
  () => ({ kind: "rows", pages: inPieces(pages), ranged: false });

/** JSON rows from a source that applies the range itself. */
export const rangedRows =
  (all: JsonObject[]): Source =>
  ({ range }) => {
    const value = (row: JsonObject) => row[range?.field ?? ""] as number;
    const inside = all.filter(
      (row) =>
        !range ||
        ((range.from === null || value(row) >= (range.from as number)) &&
          (range.to === null || value(row) < (range.to as number))),
    );
    return { kind: "rows", pages: inPieces([inside]), ranged: true };
  };

/** Typed CSV text, in pieces of a few bytes. */
export const csv =
  (
    columns: Record<string, string>,
    text: string,
    options: { ranged?: boolean; piece?: number } = {},
  ): Source =>
  () => {
    const bytes = new TextEncoder().encode(text);
    const size = options.piece ?? 7;
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.slice(at, at + size));
    return {
      kind: "csv",
      columns: Object.entries(columns).map(([name, dataType]) => ({ name, dataType, nullable: true })),
      bytes: inPieces(pieces),
      ranged: options.ranged ?? true,
    };
  };

/** The error that `work` fails with. */
export async function failure(work: Promise<unknown>): Promise<AppError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("It did not fail.");
}

/** The PostgreSQL provider, and a link to the server. */
export const sourceOf = ({ host, port, database, user, password }: TestPostgres) => ({
  provider: postgres,
  link: link({ host, port, database }, { user, password }),
});

/** A local_files connection for a folder with `files`. */
export function folderOf(world: World, files: Record<string, string | Uint8Array>) {
  const filesFolder = join(world.folder, "files");
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(filesFolder, name)), { recursive: true });
    writeFileSync(join(filesFolder, name), content);
  }
  return { provider: localFiles, link: link({}, {}, { filesFolder }) };
}
