import type { DuckDBConnection } from "@duckdb/node-api";
import { AppError } from "../base/errors.ts";
import type { SqlTable } from "./contract.ts";
import type { Start } from "./protocol.ts";
import { parquet, quoteList, quoteName, quoteText } from "./text.ts";
import { typeName } from "./values.ts";

/** Layers that always exist, so that a missing table is reported as a missing table. */
const LAYERS = ["raw", "staging", "marts"];

/** Settings that don't depend on the job, made in advance. */
export async function prepare(connection: DuckDBConnection, start: Start): Promise<void> {
  const folder = (name: string) => quoteText(`${start.folder}/${name}`);
  const settings = [
    `temp_directory = ${folder("temp")}`,
    `home_directory = ${folder("home")}`,
    `secret_directory = ${folder("secrets")}`,
    `extension_directory = ${folder("extensions")}`,
    `memory_limit = ${quoteText(start.memory)}`,
    `threads = ${start.threads}`,
    `max_temp_directory_size = '${start.tempBytes}B'`,
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "allow_community_extensions = false",
    "allow_unsigned_extensions = false",
    "allow_persistent_secrets = false",
    "parquet_metadata_cache = true",
  ];
  for (const setting of settings) await connection.run(`SET ${setting}`);
}

/** After this, only `folders` and `files` are accessible, and settings can't be changed. */
export async function lock(
  connection: DuckDBConnection,
  folders: readonly string[],
  files: readonly string[],
): Promise<void> {
  const within = folders.map((folder) => (folder.endsWith("/") ? folder : `${folder}/`));
  await connection.run(`SET allowed_directories = ${quoteList(within)}`);
  await connection.run(`SET allowed_paths = ${quoteList([...files, ...folders])}`); // a COPY to a folder names it without the slash
  await connection.run("SET enable_external_access = false");
  await connection.run("SET lock_configuration = true");
}

/**
 * Creates a view for each table, over a macro: the text of a view is readable, and would reveal the files. Throws
 * `dataset_changed` (retryable) if a file no longer exists, for example after a load that replaced it.
 */
export async function makeViews(connection: DuckDBConnection, tables: readonly SqlTable[]): Promise<void> {
  const layers = new Set([...LAYERS, ...tables.map((table) => table.layer)]);
  for (const layer of layers) await connection.run(`CREATE SCHEMA IF NOT EXISTS ${quoteName(layer)}`);
  for (const table of tables) {
    if (table.columns.length === 0) continue;
    try {
      const select = await selectOf(connection, table);
      const rows = `main.${quoteName(`${table.layer}.${table.name}`)}()`;
      await connection.run(`CREATE MACRO ${rows} AS TABLE ${select}`);
      await connection.run(`CREATE VIEW ${quoteName(table.layer)}.${quoteName(table.name)} AS FROM ${rows}`);
    } catch (cause) {
      if (!(cause instanceof Error) || !/^IO Error/.test(cause.message)) throw cause;
      throw new AppError(
        "dataset_changed",
        `${table.layer}.${table.name} changed while it was opened. Try again. If this persists, a file of it may be missing: an operator finds out with weir doctor.`,
        {
          retryable: true,
          cause,
        },
      );
    }
  }
}

/** Selects the declared columns from files that may have fewer, in other types. Counting rows reads only footers. */
async function selectOf(connection: DuckDBConnection, { columns, files }: SqlTable): Promise<string> {
  if (files.length === 0) {
    return `SELECT ${columns.map((c) => `CAST(NULL AS ${c.dataType}) AS ${quoteName(c.name)}`).join(", ")} WHERE false`;
  }
  const source = `FROM ${parquet(files)}`;
  const statement = await connection.prepare(`SELECT * ${source}`);
  const types = new Map<string, string>();
  for (let i = 0; i < statement.columnCount; i++)
    types.set(statement.columnName(i).toLowerCase(), typeName(statement.columnType(i)));
  statement.destroySync();
  const wanted = columns.map(({ name, dataType }) => {
    const type = types.get(name.toLowerCase());
    if (type === dataType) return quoteName(name);
    return `CAST(${type === undefined ? "NULL" : quoteName(name)} AS ${dataType}) AS ${quoteName(name)}`;
  });
  return `SELECT ${wanted.join(", ")} ${source}`;
}
