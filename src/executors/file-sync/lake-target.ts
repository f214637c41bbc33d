import { createWriteStream } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import type { LakeFile, LakeLoad, LakeTable } from "../../lake/contract.ts";
import { isMixed } from "../../lake/iceberg/fields.ts";
import { writeRows } from "../../lake/merge.ts";
import { arrivedAt, arrivedPart, nameFault } from "../../lake/names.ts";
import { lossOf, type ParquetColumn, parquetColumns } from "../../lake/parquet-source.ts";
import type { Opened, TreeFile } from "../../providers/contract-tree.ts";
import { exactly, readChunks } from "../../providers/files/streams.ts";
import { renameWarnings } from "../../sql/column-names.ts";
import type { Column, SqlFile, SqlSession } from "../../sql/contract.ts";
import { parquet, quoteName, quoteText } from "../../sql/text.ts";
import type { ManifestEntry, RunContext } from "../contract.ts";
import { folderValues, lostValuesSentence } from "../extract/folder-values.ts";
import { commonType } from "../extract/types.ts";
import { lakePathFault, partsOf } from "./definition.ts";
import { columnNames, type TableFile } from "./lake-names.ts";
import type { Target, Written } from "./sides.ts";

/** Changes of a load to one table so far. */
interface Draft {
  before: LakeTable | null;
  columns: Column[];
  /** Each with the columns that the file itself has. */
  add: { file: LakeFile; columns: readonly Column[] }[];
  remove: Set<string>;
}

/**
 * A dataset, or one table of it, that accepts Parquet files: `TABLE/FILE.parquet`, or `TABLE.parquet`, below
 * /LAYER/DATASET, and files at any depth below /LAYER/DATASET/TABLE. Everything that a run writes becomes visible at once when the run completes. Rows without `_dlt_id`
 * and `_dlt_load_id` get them.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its parts share the dataset and its load
export async function openLakeTarget(ctx: RunContext, path: string): Promise<Target> {
  const fault = lakePathFault(path);
  if (fault) throw new AppError("definition_invalid", fault);
  const [layer = "", dataset = "", only] = partsOf(path);
  await ctx.lake.lock(layer, dataset);
  const drafts = new Map<string, Draft>();
  for (const table of await ctx.lake.tables()) {
    if (table.layer !== layer || table.dataset !== dataset) continue;
    drafts.set(table.table, { before: table, columns: [...table.columns], add: [], remove: new Set() });
  }
  const tableOf = (below: string): string =>
    only ?? /^([^/]+)\//.exec(below)?.[1] ?? basename(below, ".parquet");
  const draftOf = (table: string): Draft => {
    const known = drafts.get(table);
    if (known) return known;
    const draft: Draft = { before: null, columns: [], add: [], remove: new Set() };
    drafts.set(table, draft);
    return draft;
  };
  /** The live file at each path, and the one that this run has written there. */
  const lying = new Map<string, { table: string; fileId: string }>();
  const workshop = openWorkshop(ctx);
  const isChanged = ({ add, remove }: Draft) => add.length + remove.size > 0;
  const inDataset = (below: string) => (only === undefined ? below : `${only}/${below}`);
  /** The path of a live file, whatever action added it. */
  const pathOf = (table: string, file: LakeFile): string => {
    const came = arrivedAt(file.part);
    if (came?.startsWith(inDataset(""))) return came.slice(inDataset("").length);
    return `${only === undefined ? `${table}/` : ""}${basename(file.path)}`;
  };
  /** Removes the file at the path, to be replaced. */
  const takeOut = (below: string) => {
    const old = lying.get(below);
    if (!old) return;
    const draft = draftOf(old.table);
    const isNew = draft.add.some(({ file }) => file.id === old.fileId);
    if (isNew) draft.add = draft.add.filter(({ file }) => file.id !== old.fileId);
    else draft.remove.add(old.fileId);
    lying.delete(below);
  };
  const putIn = (below: string, file: LakeFile, columns: readonly Column[]) => {
    const table = tableOf(below);
    const draft = draftOf(table);
    draft.columns = unite(draft.columns, columns);
    draft.add.push({ file, columns });
    lying.set(below, { table, fileId: file.id });
  };

  const warned = new Set<string>();
  const warnOfLostValues = (below: string, columns: readonly Column[]) => {
    for (const value of folderValues(below)) {
      const key = value.column.toLowerCase();
      if (warned.has(key) || columns.some(({ name }) => name.toLowerCase() === key)) continue;
      warned.add(key);
      ctx.log("warn", lostValuesSentence(value));
    }
  };

  const warnOfNames = (columns: readonly Column[]) => {
    for (const text of renameWarnings(columns.map(({ name, source = name }) => ({ name, source })))) {
      if (!warned.has(text)) ctx.log("warn", text);
      warned.add(text);
    }
  };

  return {
    home: `lake:/${partsOf(path)
      .map((part) => `${part}/`)
      .join("")}`,
    isFolderLike: false,
    renamesTwins: false,

    async list(manifest) {
      const found = new Map<string, TreeFile>();
      const paths = new Map([...manifest.values()].map((entry) => [entry.targetVersion, entry.path]));
      for (const [table, { before }] of drafts) {
        if (only !== undefined && table !== only) continue;
        for (const file of before?.files ?? []) {
          const below = paths.get(file.id) ?? pathOf(table, file);
          lying.set(below, { table, fileId: file.id });
          found.set(below, presentFile(below, file.id, file.bytes));
        }
      }
      for (const entry of manifest.values()) {
        const stored = entry.runId === ctx.run.id ? storedOf(entry) : null;
        if (!stored || !(await isThere(ctx, stored.file))) continue;
        takeOut(entry.path);
        putIn(entry.path, stored.file, stored.columns);
        found.set(entry.path, presentFile(entry.path, entry.targetVersion, entry.size));
      }
      return found;
    },

    at: (below) => below,

    fault(below) {
      if (!below.endsWith(".parquet")) return "the lake takes Parquet files, whose names end in .parquet";
      if (only === undefined && partsOf(below).length > 2)
        return `it is more than one folder below the dataset, where a folder is a table. To load such files into one table, set destination.path to /${layer}/${dataset}/TABLE and source.path to its folder`;
      const name = tableOf(below);
      return nameFault("table", name) === null
        ? null
        : `${JSON.stringify(name)} can't be the name of a table`;
    },

    copy: async () => null,

    async put(below, opened, size): Promise<Written> {
      const table = tableOf(below);
      const before = draftOf(table).columns;
      const { sheet, columns, size: read } = await workshop.take({ below, table, before }, opened, size);
      warnOfLostValues(below, columns);
      warnOfNames(columns);
      unite(draftOf(table).columns, columns);
      const stored = { ...sheet, part: arrivedPart(inDataset(below)) };
      const file = await ctx.lake.add({ layer, dataset, table, loadId: ctx.run.id }, stored);
      takeOut(below);
      putIn(below, file, columns);
      return { version: file.id, size: read, detail: { file, columns } as unknown as JsonObject };
    },

    async remove(below) {
      takeOut(below);
    },

    async finish(): Promise<LakeLoad | null> {
      const tables = [...drafts].filter(([, draft]) => isChanged(draft));
      if (tables.length === 0) return null;
      return {
        loadId: ctx.run.id,
        layer,
        dataset,
        tables: tables.map(([table, { before, columns, add, remove }]) => ({
          table,
          columns,
          add: add.map((each) =>
            isMixed(each.columns, columns) ? { ...each.file, isMixed: true } : each.file,
          ),
          remove: [...remove],
          baseVersion: before?.version ?? null,
        })),
      };
    },

    close: workshop.close,
  };
}

const presentFile = (path: string, id: string, size: number): TreeFile => ({
  id,
  path,
  size,
  modifiedAt: null,
  version: id,
  hash: null,
});

/** The written file in a manifest entry. Null if it has none. */
function storedOf({ detail }: ManifestEntry): { file: LakeFile; columns: Column[] } | null {
  return detail && isObject(detail.file) && Array.isArray(detail.columns)
    ? (detail as unknown as { file: LakeFile; columns: Column[] })
    : null;
}

async function isThere(ctx: RunContext, file: LakeFile): Promise<boolean> {
  try {
    return (await stat(await ctx.lake.localPath(file))).size > 0;
  } catch {
    return false; // it was deleted in the meantime, and is copied again
  }
}

/** Start of the message of `parquetColumns` about numbers that it would misread. */
const WIDE = "decimals of";

/** Copies files to this machine and turns them into files of the lake, one at a time in one process. */
function openWorkshop(ctx: RunContext) {
  let session: Promise<SqlSession> | null = null;
  let previous: Promise<unknown> = Promise.resolve();
  let count = 0;

  async function read(
    path: string,
    number: number,
    file: TableFile,
  ): Promise<{ sheet: SqlFile; columns: Column[] }> {
    const folder = await ctx.workFolder();
    session ??= ctx.sql.session({ folders: [folder], signal: ctx.signal });
    const sql = await session;
    const found = await parquetColumns(sql, path);
    const loss = lossOf(found);
    if (loss !== null) throw new AppError("bad_request", `It ${loss} Load it with an extract.`);
    const stamp = stamps(ctx.run.id, number);
    const names = await columnNames(sql, { path, found, stamp, file });
    const columns = found.map(({ name: source, type }, at) => {
      const name = names[at] ?? source;
      return { name, dataType: type, nullable: true, ...(name === source ? {} : { source }) };
    });
    const isKept =
      names.every((name, at) => name === found[at]?.name) && (await keepsTypes(sql, path, found));
    const lacking = stamp.filter(({ name }) => !columns.some((column) => column.name.toLowerCase() === name));
    if (lacking.length === 0 && isKept) {
      const [row] = await sql.run(`SELECT count(*) AS n FROM ${parquet([path])}`);
      return { sheet: { path, rows: Number(row?.n), bytes: (await stat(path)).size }, columns };
    }
    const values = [
      ...found.map(({ sql: value }, at) => `${value} AS ${quoteName(names[at] ?? "")}`),
      ...lacking.map(({ name, sql: value }) => `${value} AS "${name}"`),
    ].join(", ");
    const out = join(folder, `stamped-${number}`);
    await mkdir(out);
    const [sheet, ...others] = await writeRows(sql, `SELECT ${values} FROM ${parquet([path])}`, out);
    if (others.length > 0)
      throw new AppError("bad_request", "The file is too large for one file of the lake.");
    if (!sheet) throw new AppError("bad_request", "The file has no rows.");
    const made = lacking.map(({ name }) => ({ name, dataType: "VARCHAR", nullable: false }));
    return { sheet, columns: [...columns, ...made] };
  }

  return {
    async take(file: TableFile, { bytes }: Opened, size: number | null) {
      const number = ++count;
      const arrived = join(await ctx.workFolder(), `taken-${number}.parquet`);
      const chunks = readChunks(exactly(bytes, size, file.below), ctx.signal);
      await pipeline(Readable.from(chunks), createWriteStream(arrived), { signal: ctx.signal });
      const mine = previous.then(() => read(arrived, number, file));
      previous = mine.catch(() => undefined); // the next one in the queue doesn't depend on how this one ended
      try {
        const taken = await mine;
        return { ...taken, size: (await stat(arrived).catch(() => null))?.size ?? taken.sheet.bytes };
      } catch (error) {
        if (!(error instanceof AppError && error.code === "sql_error")) throw error;
        const message = error.message.startsWith(WIDE)
          ? `It has ${error.message}`
          : "It is not a complete Parquet file.";
        throw new AppError("bad_request", message, { cause: error });
      }
    },
    async close() {
      await (await session?.catch(() => null))?.close();
    },
  };
}

/**
 * Returns whether a file can be used unchanged: it has only types of the lake, and no field IDs, by which other engines
 * would find columns of another table.
 */
async function keepsTypes(
  session: SqlSession,
  path: string,
  columns: readonly ParquetColumn[],
): Promise<boolean> {
  if (columns.some(({ name, sql }) => sql !== quoteName(name))) return false;
  const ids = await session.run(
    `SELECT 1 FROM parquet_schema(${quoteText(path)}) WHERE field_id IS NOT NULL LIMIT 1`,
  );
  return ids.length === 0;
}

const stamps = (loadId: string, number: number) => [
  { name: "_dlt_id", sql: `${quoteText(`${loadId}-${number}-`)} || row_number() OVER ()` },
  { name: "_dlt_load_id", sql: quoteText(loadId) },
];

/** The combined columns of the table and a file. Throws `schema_contract_violation` for incompatible types. */
function unite(before: readonly Column[], more: readonly Column[]): Column[] {
  const united = new Map(before.map((column) => [column.name.toLowerCase(), column]));
  for (const column of more) {
    const known = united.get(column.name.toLowerCase());
    const dataType = known ? commonType(known.dataType, column.dataType) : column.dataType;
    if (dataType === null) {
      throw new AppError(
        "schema_contract_violation",
        `Its column ${column.name} is ${column.dataType}, and the table has it as ${known?.dataType}.`,
      );
    }
    united.set(column.name.toLowerCase(), { ...(known ?? column), dataType });
  }
  return [...united.values()];
}
