import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { AppError, invalid } from "../../base/errors.ts";
import { openFairSemaphore, type Semaphore } from "../../base/semaphore.ts";
import { type Context, write } from "../../context.ts";
import { byteOrderOf } from "../../executors/extract/spool.ts";
import { unite } from "../../executors/transform/change.ts";
import { asJson } from "../../executors/transform/work.ts";
import type { LakeFile, LakeTable, TableChange } from "../../lake/contract.ts";
import { isMixed } from "../../lake/iceberg/fields.ts";
import { type FileFormat, landFile } from "../../lake/landing.ts";
import { nameFault } from "../../lake/names.ts";
import { unpackStream } from "../../providers/files/compression.ts";
import { atLeast } from "../../providers/files/streams.ts";
import { LOAD_COLUMNS, type NamedColumn, nameColumns, renameWarnings } from "../../sql/column-names.ts";
import type { Column, Sql, SqlFile } from "../../sql/contract.ts";
import { quoteText } from "../../sql/text.ts";
import { record } from "../events/service.ts";
import { commitLoad } from "./commit.ts";
import { holdLoad } from "./hold.ts";
import { readTables } from "./tables.ts";
import type { DatasetRef, Uploaded, UploadQuery } from "./wire.ts";

export const MAX_UPLOAD_BYTES = 1024 ** 3;

/** Media types of files in `Content-Type`. */
const FORMATS: Readonly<Record<string, FileFormat>> = {
  "text/csv": "csv",
  "application/csv": "csv",
  "text/tab-separated-values": "tsv",
  "application/json": "json",
  "application/x-ndjson": "jsonl",
  "application/jsonl": "jsonl",
  "application/x-jsonlines": "jsonl",
  "application/vnd.apache.parquet": "parquet",
};

/** Number of attempts, since another load can be committed while a file is read. */
const MAX_TRIES = 5;

interface Upload {
  contentType: string | null;
  /** Starts reading the bytes. */
  open: () => ReadableStream<Uint8Array>;
  signal: AbortSignal;
}

/**
 * Loads a file into a table, completely or not at all. Throws 422 at `body` for invalid content, `payload_too_large`,
 * and `schema_contract_violation` if a column has another type in the table.
 */
export async function uploadDataset(
  ctx: Context,
  ref: DatasetRef,
  query: UploadQuery,
  upload: Upload,
): Promise<Uploaded> {
  for (const noun of ["layer", "dataset"] as const) {
    const fault = nameFault(noun, ref[noun]);
    if (fault) throw invalid(["path", noun], fault);
  }
  const format = formatOf(query, upload.contentType);
  const table = query.table ?? ref.dataset;
  const loadId = ctx.ids.uuid();
  await using hold = holdLoad(ctx, loadId);
  const work = await ctx.lake.workFolder(loadId);
  try {
    const path = join(work.path, `upload.${format}`);
    await save(upload.open(), path, format === "parquet" ? null : query.encoding);
    const here = { organizationId: ctx.organizationId, ...ref, table };
    const [before] = query.writeDisposition === "append" ? await readTables(ctx.db, here) : [];
    const landed = await land(ctx, {
      path,
      folder: work.path,
      loadId,
      format,
      query,
      table: before?.columns ?? [],
      signal: upload.signal,
    });
    const at = { ...here, loadId };
    const add: LakeFile[] = [];
    for (const file of landed.files) add.push(await ctx.lake.add(at, file));
    hold.check();
    const { columns } = await commit(ctx, { ref, table, loadId, add, landed, format, query });
    const warnings = renameWarnings(namedIn(landed.columns));
    const sumOf = (field: "rows" | "bytes") => add.reduce((sum, file) => sum + file[field], 0);
    return {
      loadId,
      ...ref,
      table,
      rows: sumOf("rows"),
      bytes: sumOf("bytes"),
      files: add.length,
      columns: columns.map(asJson),
      ...(warnings.length > 0 ? { warnings } : {}),
    };
  } finally {
    await work.dispose();
  }
}

function formatOf({ format }: UploadQuery, contentType: string | null): FileFormat {
  const chosen = format ?? FORMATS[contentType?.split(";")[0]?.trim().toLowerCase() ?? ""];
  if (chosen) return chosen;
  throw invalid(
    ["query", "format"],
    "Unknown file format. Set csv, tsv, json, jsonl or parquet, here or as its Content-Type.",
    "missing",
  );
}

/** Decompresses the bytes. Throws `invalid` for incomplete ones. */
async function* plain(bytes: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* unpackStream(bytes);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "upstream") throw error;
    throw new AppError("invalid", error.message, { loc: ["body"], type: "compression", cause: error });
  }
}

/** Writes the decompressed bytes to disk, with text converted to UTF-8. */
async function save(
  bytes: ReadableStream<Uint8Array>,
  path: string,
  encoding: UploadQuery["encoding"] | null,
): Promise<void> {
  let decoder: TextDecoder | null = null;
  const decode = (chunk?: Uint8Array) => {
    try {
      return decoder?.decode(chunk, { stream: chunk !== undefined }) ?? "";
    } catch (cause) {
      const message = `The file isn't valid ${decoder?.encoding.toUpperCase()}. Set its encoding, such as encoding=latin1.`;
      throw new AppError("invalid", message, { loc: ["body"], type: "encoding", cause });
    }
  };
  const file = await open(path, "wx", 0o600);
  let size = 0;
  try {
    for await (const chunk of atLeast(plain(bytes), 3)) {
      if (size === 0 && encoding) decoder = decoderFor(encoding, chunk);
      size += chunk.byteLength;
      if (size > MAX_UPLOAD_BYTES)
        throw new AppError("payload_too_large", "The file is too large. The limit is 1 GiB.");
      await file.writeFile(decoder ? decode(chunk) : chunk);
    }
    await file.writeFile(decode());
  } finally {
    await file.close();
  }
}

/** A byte order mark shows UTF-8 and both orders of UTF-16 for certain; in windows-1252 it would be letters. */
function decoderFor(encoding: UploadQuery["encoding"], start: Uint8Array): TextDecoder {
  const marked = encoding === "latin1" ? null : byteOrderOf(start);
  return new TextDecoder(marked?.encoding ?? encoding, { fatal: true });
}

interface Landing {
  path: string;
  folder: string;
  loadId: string;
  format: FileFormat;
  query: UploadQuery;
  /** The table's columns. */
  table: readonly Column[];
  signal: AbortSignal;
}

/** Number of files that are read at once. Each can take as much memory as an SQL statement. */
const READERS = 2;
const semaphores = new WeakMap<Sql, Semaphore>();

function semaphoreOf(sql: Sql): Semaphore {
  const semaphore = semaphores.get(sql) ?? openFairSemaphore(READERS, "files");
  semaphores.set(sql, semaphore);
  return semaphore;
}

async function land(ctx: Context, { path, folder, loadId, format, query, table, signal }: Landing) {
  const leave = await semaphoreOf(ctx.sql).enter(signal, { organizationId: ctx.organizationId });
  const seconds = ctx.config.sqlTimeoutSeconds;
  const late = new AbortController();
  const done = new AbortController();
  void ctx.clock.limit(seconds * 1000, done.signal).then(() => {
    late.abort(new AppError("sql_timeout", `Reading the file exceeded the limit of ${seconds} seconds.`));
  });
  const either = AbortSignal.any([signal, late.signal]);
  try {
    const session = await ctx.sql.session({ folders: [folder], signal: either });
    try {
      const stamp = [
        { name: "_dlt_id", sql: `${quoteText(`${loadId}-`)} || row_number() OVER ()` },
        { name: "_dlt_load_id", sql: quoteText(loadId) },
      ];
      const { header, delimiter } = query;
      await mkdir(join(folder, "out"), { mode: 0o700 });
      return await landFile(session, {
        format,
        path,
        folder,
        header,
        ...(delimiter ? { delimiter } : {}),
        stamp,
        table,
        signal: either,
      });
    } finally {
      await session.close();
    }
  } catch (error) {
    if (!(error instanceof AppError) || !["sql_error", "sql_timeout", "sql_memory"].includes(error.code))
      throw error;
    throw new AppError(error.code, error.message, { loc: ["body"], type: error.code, cause: error });
  } finally {
    done.abort();
    leave();
  }
}

interface Commit {
  ref: DatasetRef;
  table: string;
  loadId: string;
  add: LakeFile[];
  landed: { files: SqlFile[]; columns: Column[] };
  format: FileFormat;
  query: UploadQuery;
}

/** Makes the rows visible, with their event. Returns the table's columns. */
async function commit(
  ctx: Context,
  { ref, table, loadId, add, landed, format, query }: Commit,
): Promise<{ columns: Column[] }> {
  const { writeDisposition } = query;
  for (let tries = 1; ; tries++) {
    const [before] = await readTables(ctx.db, { organizationId: ctx.organizationId, ...ref, table });
    const change = changeOf(before ?? null, writeDisposition, { table, add, columns: landed.columns });
    try {
      await write(ctx, async (tx) => {
        const load = { loadId, ...ref, tables: [change] };
        await commitLoad(tx, "", "", load, { kind: "upload", actionId: null });
        const rows = add.reduce((sum, file) => sum + file.rows, 0);
        const data = { ...ref, table, loadId, rows, format, writeDisposition };
        await record(tx, "dataset.uploaded", { type: "dataset", id: `${ref.layer}.${ref.dataset}` }, data);
      });
      return { columns: change.columns };
    } catch (error) {
      if (!(error instanceof AppError && error.code === "dataset_changed") || tries === MAX_TRIES)
        throw error;
    }
  }
}

function changeOf(
  before: LakeTable | null,
  writeDisposition: UploadQuery["writeDisposition"],
  { table, add, columns }: { table: string; add: LakeFile[]; columns: Column[] },
): TableChange {
  const baseVersion = before?.version ?? null;
  if (writeDisposition === "replace") return { table, columns, add, remove: "all", baseVersion };
  if (!before && columns.length === 0)
    throw new AppError("dataset_changed", "The table was deleted at the same time. Upload the file again.", {
      retryable: true,
    });
  checkNames(columns, before?.columns ?? []);
  const together = before ? unite(before, columns, "the file") : columns;
  const files = isMixed(columns, together) ? add.map((file) => ({ ...file, isMixed: true })) : add;
  return { table, columns: together, add: files, remove: [], baseVersion };
}

const namedIn = (columns: readonly Column[]): NamedColumn[] =>
  columns.flatMap(({ name, source }) => (source === undefined ? [] : [{ name, source }]));

/** Throws `dataset_changed` if the file was written for other columns than the table has now. */
function checkNames(columns: readonly Column[], table: readonly Column[]): void {
  const named = namedIn(columns);
  const isAside = ({ name, source }: NamedColumn, load: string) =>
    source.toLowerCase() === load && name.toLowerCase() !== load;
  const aside = LOAD_COLUMNS.filter((load) => named.some((column) => isAside(column, load)));
  const now = nameColumns(
    named.map(({ source }) => source),
    { table, isFile: true, aside },
  );
  if (now.every(({ name }, at) => name === named[at]?.name)) return;
  throw new AppError(
    "dataset_changed",
    "Another load added columns at the same time. Upload the file again.",
    {
      retryable: true,
    },
  );
}
