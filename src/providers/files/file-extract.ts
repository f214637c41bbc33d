import { AppError } from "../../base/errors.ts";
import type { Extraction, ExtractRequest, FileFormat } from "../contract.ts";
import type { Unread } from "../contract-tree.ts";
import { unpacked } from "./compression.ts";
import { type Compression, FILE_ENDINGS, kindOf } from "./file-kinds.ts";
import { compileGlob } from "./glob.ts";

/** A file store, as an extract needs it. Paths are relative to the root, without a leading slash. */
export interface FileSource {
  /** All files whose paths start with `prefix`, in order of UTF-8 bytes. Calls `unread` as `Tree.walk` does. */
  walk(prefix: string, unread: Unread): AsyncIterable<ListedFile>;
  /** Whether files can have other names. */
  hasOthers?: true;
}

interface ListedFile {
  path: string;
  open(format: FileFormat): Promise<ReadableStream<Uint8Array>>;
  /** Other names of a file that can be read in several formats. */
  others?: readonly OtherName[];
}

export interface OtherName {
  path: string;
  format: FileFormat;
  /** Whether patterns with wildcards skip it. */
  isPlain: boolean;
}

type SourceFiles = Extract<Extraction, { kind: "files" }>["files"];

/**
 * The files that match `request.spec`, decompressed, with the format given in the request or by their names. A wildcard
 * skips files that can't be read as a table. Throws `not_found` if none is left.
 */
export async function extractFiles(source: FileSource, request: ExtractRequest): Promise<Extraction> {
  const { spec } = request;
  const format = request.format ?? null;
  const glob = compileGlob(spec);
  const isUntold = !glob.wild && (format ?? kindOf(glob.prefix).format) === null;
  const untold = new AppError(
    "definition_invalid",
    `The name ${JSON.stringify(spec)} doesn't end in ${ENDINGS}. Set file.format. For a folder, use a pattern such as ${spec}/*.csv.`,
  );
  if (isUntold && !source.hasOthers) throw untold;
  const matching = match(source, glob, format);
  const first = await matching.next();
  if (first.done) {
    if (isUntold) throw untold;
    const { skipped } = first.value;
    throw new AppError(
      "not_found",
      skipped > 0
        ? `${JSON.stringify(spec)} matches ${skipped} files, and none of their names ends in ${ENDINGS}. Set file.format to read them all as one format.`
        : `No file matches ${JSON.stringify(spec)}.`,
    );
  }
  return { kind: "files", files: rest(first.value, matching), ranged: false };
}

const ENDINGS = `.${FILE_ENDINGS.slice(0, -1).join(", .")} or .${FILE_ENDINGS.at(-1)}, with or without .gz or .zst`;

type SourceFile = SourceFiles extends AsyncIterable<infer F> ? F : never;

async function* match(
  source: FileSource,
  glob: ReturnType<typeof compileGlob>,
  fixedFormat: FileFormat | null,
): AsyncGenerator<SourceFile, { skipped: number }> {
  let skipped = 0;
  const unread: Unread = (path, reason) => {
    const isMeant = path.endsWith("/") ? glob.mayMatchBelow(path.slice(0, -1)) : glob.matches(path);
    if (isMeant) throw new AppError("upstream", `Couldn't read ${JSON.stringify(path)}: ${reason}.`);
  };
  for await (const file of source.walk(glob.prefix, unread)) {
    const { path } = file;
    if (!glob.wild && path > glob.prefix && !source.hasOthers) break;
    if (glob.matches(path)) {
      const { format, compression } = kindOf(path);
      const kind = fixedFormat ?? format;
      if (kind === null) skipped++;
      else yield { name: path, format: kind, open: opener(file, kind, compression) };
      continue;
    }
    const other = file.others?.find(
      ({ path: name, isPlain }) => !(isPlain && glob.wild) && glob.matches(name),
    );
    if (!other) continue;
    const kind = fixedFormat ?? other.format;
    yield { name: other.path, format: kind, open: opener(file, kind, null) };
  }
  return { skipped };
}

const opener = (file: ListedFile, format: FileFormat, compression: Compression | null) => async () => {
  const bytes = await file.open(format);
  return compression === null ? bytes : unpacked(bytes, file.path, compression);
};

async function* rest(first: SourceFile, more: AsyncGenerator<SourceFile>): AsyncGenerator<SourceFile> {
  yield first;
  yield* more;
}
