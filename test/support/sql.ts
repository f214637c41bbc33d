import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Column, SqlFile, SqlJob, SqlTable } from "../../src/sql/contract.ts";
import { openSql, type SqlOptions } from "../../src/sql/sql.ts";
import { keepLibrary, lendLibrary } from "./ground.ts";
import { PROGRAM } from "./program.ts";

/** A real DuckDB child and a folder for its files. `await using` ends both. */
export function openTestSql(options: Partial<SqlOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "weir-sql-"));
  const scratch = join(folder, "scratch", "sql");
  lendLibrary(folder);
  const sql = openSql({
    self: [...PROGRAM, "__sql"],
    folder: scratch,
    memory: "512MB",
    timeoutMs: 60_000,
    cacheDir: join(folder, "scratch", "cache"),
    paths: { read: [tmpdir()], write: [tmpdir()] },
    ...options,
  });
  let written = 0;

  return {
    sql,
    folder,
    scratch,
    /** Writes the rows of `select` as one Parquet file below `place`. */
    async parquet(select: string, place = `file-${++written}`): Promise<SqlFile & { columns: Column[] }> {
      const into = join(folder, place);
      mkdirSync(into, { recursive: true });
      const { files, columns } = await sql.materialize({ tables: [], sql: select }, into);
      return { ...(files[0] ?? { path: "", rows: 0, bytes: 0 }), columns };
    },
    /** A table with the rows of `select`. */
    async table(layer: string, name: string, select: string): Promise<SqlTable> {
      const { path, columns } = await this.parquet(select);
      return { layer, name, columns, files: path === "" ? [] : [path] };
    },
    /** The rows of `text`, at most 1000. */
    async rows(text: string, tables: readonly SqlTable[] = [], parameters: SqlJob["parameters"] = {}) {
      return (await sql.query({ tables, sql: text, parameters }, 1000)).rows;
    },
    async [Symbol.asyncDispose]() {
      await sql.close();
      keepLibrary(folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const column = (name: string, dataType: string): Column => ({ name, dataType, nullable: true });

/** The error with a code that a promise rejects with. Fails if it doesn't. */
export async function failure(promise: Promise<unknown>): Promise<{ code: string; message: string }> {
  const found = await promise.then(
    (value) => ({ code: "nothing", message: JSON.stringify(value) }),
    (error: { code?: string; message?: string }) => error,
  );
  return { code: String(found.code), message: String(found.message) };
}
