import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import { isObject, type Json } from "../../base/json.ts";
import { described, map, object, optional } from "../../base/shape.ts";
import type { FileFormat } from "../../providers/contract.ts";
import { unpacked } from "../../providers/files/compression.ts";
import { FILE_ENDINGS, kindOf } from "../../providers/files/file-kinds.ts";
import type { SqlTable } from "../../sql/contract.ts";
import type { NamedConnection, NewArtifact, RunContext } from "../contract.ts";
import { FileOptions, fileFaults } from "../extract/file-options.ts";
import { takeLoose } from "../extract/intake.ts";
import { landStaged, type Site } from "../extract/land.ts";
import { META_COLUMNS, Names } from "../extract/naming.ts";
import { planResource } from "../extract/plan.ts";
import { rejectsArtifact } from "../extract/rejects.ts";
import { columnsOf } from "../extract/resolve.ts";
import { Staging } from "../extract/staging.ts";
import { warnOfOdd } from "../extract/warnings.ts";
import { connectionOf, FileReference } from "../files.ts";

/** The layer of these tables in SQL. */
export const FILES_LAYER = "files";

const FileTable = object(
  {
    file: described("The file: an artifact or a file of a connection", FileReference),
    ...FileOptions.properties,
    sheet: optional(
      described(
        "Name of the sheet to read from a workbook. Default: the first",
        Type.String({ minLength: 1, maxLength: 100 }),
      ),
    ),
  },
  { title: "File" },
);
const MAX_FILES = 20;
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
export const FileTables = map(FileTable);
type FileTables = Static<typeof FileTables>;

/** Connections named in `files`. */
export const fileConnections = (files: Json | undefined): NamedConnection[] =>
  Object.entries(isObject(files) ? files : {}).flatMap(([name, table]) =>
    connectionOf(isObject(table) ? table.file : undefined, ["files", name, "file"]),
  );

/** Errors that the shape can't express. */
export function fileTableFaults(files: FileTables): { path: string[]; message: string }[] {
  const names = Object.keys(files);
  const many = { path: ["files"], message: `A transform reads at most ${MAX_FILES} files.` };
  const faults = Object.entries(files).flatMap(([name, { file: _, ...options }], at) => {
    const path = ["files", name];
    if (!NAME.test(name))
      return [
        { path, message: "A name can have up to 63 letters, digits and _, and can't start with a digit." },
      ];
    if (names.findIndex((other) => other.toLowerCase() === name.toLowerCase()) < at)
      return [{ path, message: "SQL can't distinguish these names. Use another." }];
    return fileFaults(options).map((fault) => ({ ...fault, path: [...path, ...fault.path] }));
  });
  return names.length > MAX_FILES ? [many] : faults;
}

interface FilesRead {
  tables: SqlTable[];
  warnings: string[];
  /** Records that couldn't be read. */
  artifacts: NewArtifact[];
}

/** Reads each file into the work folder, with types that fit all of its values. Errors name `files.NAME`. */
export async function readFiles(ctx: RunContext, files: FileTables): Promise<FilesRead> {
  const read: FilesRead = { tables: [], warnings: [], artifacts: [] };
  if (Object.keys(files).length === 0) return read;
  const folder = join(await ctx.workFolder(), "files");
  await mkdir(folder, { mode: 0o700 });
  const session = await ctx.sql.session({ folders: [folder], signal: ctx.signal });
  try {
    for (const [name, table] of Object.entries(files)) {
      ctx.progress({ phase: "read", message: `Reading ${name}` });
      const into = join(folder, name);
      await mkdir(into, { mode: 0o700 });
      const warn = (text: string) => {
        read.warnings.push(text);
        ctx.log("warn", text);
      };
      const { file, ...options } = table;
      const staging = new Staging(session, into);
      try {
        const { rejects, ...own } = await land(ctx, { name, file, options, staging, warn });
        read.tables.push(own);
        if (rejects.length > 0) read.artifacts.push(rejectsArtifact(name, rejects));
      } catch (error) {
        await staging.conveyor.idle();
        throw atField(error, name);
      }
    }
    return read;
  } finally {
    await session.close();
  }
}

interface Landing {
  name: string;
  file: FileReference;
  options: FileOptions;
  staging: Staging;
  warn(text: string): void;
}

async function land(ctx: RunContext, { name, file, options, staging, warn }: Landing) {
  const opened = await open(ctx, file);
  const { format: byName, compression } = kindOf(opened.name);
  const format = options.format ?? byName;
  if (format === null) {
    const message = `the name ${JSON.stringify(opened.name)} does not end in .${FILE_ENDINGS.join(", .")}. Set file.format.`;
    throw new AppError("definition_invalid", message);
  }
  const bytes = async () => {
    const stream = await opened.open();
    return compression === null ? stream : unpacked(stream, opened.name, compression);
  };
  const site = siteOf(ctx, { name, options, staging, warn });
  const taken = await takeLoose(
    { kind: "files", files: one(opened.name, format, bytes), ranged: false },
    staging,
    {
      table: name,
      idPrefix: site.idPrefix,
      maxNesting: 0,
      fingerprint: false,
      isPresenceKept: false,
      only: null,
      limit: null,
      strictCounts: false,
      tables: new Names([name]),
      namesOf: () => new Names(),
      file: options,
      readSheets: (source) => ctx.sheets.read(source),
      sheet: null,
      folder: staging.folder,
      known: null,
      fixed: site.fixed,
      isTrusting: false,
      signal: ctx.signal,
      warn,
      progress: (rows) =>
        ctx.progress({ phase: "read", message: `Reading ${name}`, current: rows, unit: "rows" }),
    },
  );
  const landed = await landStaged(site, taken, false);
  warnOfOdd(taken.odd, site);
  const others = taken.furtherSheets ?? [];
  if (others.length > 0)
    warn(
      `${name}: the first sheet was read; the workbook also has ${others.join(", ")}. Name one in files.${name}.sheet.`,
    );
  const [root] = landed.tables;
  const columns = columnsOf(root?.targets ?? []).filter((column) => !META_COLUMNS.includes(column.name));
  if (columns.length === 0) throw new AppError("upstream", "the file has no columns.");
  ctx.log("info", `${name}: ${root?.rows ?? 0} rows of ${opened.name}.`);
  const paths = (root?.files ?? []).map(({ path }) => path);
  return { layer: FILES_LAYER, name, columns, files: paths, rejects: landed.rejects };
}

function siteOf(ctx: RunContext, { name, options, staging, warn }: Omit<Landing, "file">): Site {
  const plan = planResource(
    { name, spec: name, writeDisposition: "replace", file: options },
    {
      purpose: "read",
      layer: FILES_LAYER,
      dataset: name,
      contract: EVOLVE,
      batchSize: null,
      maxRows: null,
      maxNesting: 0,
      dryRun: false,
      strictCounts: false,
      allowPartial: false,
    },
    null,
    warn,
  );
  return {
    staging,
    plan: { ...plan, table: name },
    contract: EVOLVE,
    loadId: ctx.run.id,
    idPrefix: "",
    startedAt: ctx.run.startedAt,
    dryRun: false,
    fixed: plan.fixed,
    where: null,
    existing: () => null,
    warn,
  };
}

const EVOLVE = { tables: "evolve", columns: "evolve", dataType: "evolve" } as const;

async function* one(name: string, format: FileFormat, open: () => Promise<ReadableStream<Uint8Array>>) {
  yield { name, format, open };
}

async function open(ctx: RunContext, file: FileReference) {
  if ("artifactId" in file) {
    const { fileName, content } = await ctx.artifact(file.artifactId);
    return { name: fileName, open: async () => content.stream() };
  }
  const { provider, link } = await ctx.openConnection(file.connectionId, "read");
  const { files } = provider;
  if (!files)
    throw new AppError("definition_invalid", `a connection of ${provider.title} has no files to read.`);
  const { name } = await files.stat(link, file.path);
  return { name, open: () => files.read(link, file.path) };
}

/** Adds the path of the file's field to the error. */
function atField(error: unknown, name: string): unknown {
  if (!(error instanceof AppError) || error.code === "cancelled") return error;
  const message = error.message.replaceAll(/\bfile\.(?=[a-z])/g, `files.${name}.`);
  const { code, retryable, details } = error;
  return new AppError(code, `files.${name}: ${message}`, {
    retryable,
    cause: error,
    ...(details ? { details } : {}),
  });
}
