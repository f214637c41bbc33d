import type { Extraction, FileFormat } from "../../providers/contract.ts";
import { uncompressed } from "../../providers/files/compression.ts";
import { ahead } from "./ahead.ts";
import type { FileOptions } from "./file-options.ts";
import { inUtf8, spool } from "./spool.ts";
import type { Staging } from "./staging.ts";

export type SourceFiles = Extract<Extraction, { kind: "files" }>["files"];

/** A file whose text is read as a stream. */
export interface StreamedFile {
  name: string;
  format: "json" | "jsonl";
  open(): Promise<AsyncIterable<Uint8Array>>;
}

/** A file in the work folder. */
export interface CopiedFile {
  name: string;
  format: Exclude<FileFormat, "json" | "jsonl">;
  path: string;
  bytes: number;
}

interface Options {
  file: FileOptions;
  limit: number | null;
  signal: AbortSignal;
}

/** Files ready to be read, in order. Fetches the next file while one is read, unless it may not be needed. */
export function prepared(
  files: SourceFiles,
  staging: Staging,
  options: Options,
): AsyncGenerator<StreamedFile | CopiedFile> {
  const ready = prepare(files, staging, options);
  return options.limit === null ? ahead(ready) : ready;
}

async function* prepare(
  files: SourceFiles,
  staging: Staging,
  { file: { encoding }, signal }: Options,
): AsyncGenerator<StreamedFile | CopiedFile> {
  for await (const { name, format, open } of files) {
    signal.throwIfAborted();
    if (format === "json" || format === "jsonl") {
      yield {
        name,
        format,
        open: async () => {
          const bytes = uncompressed(await open(), name);
          return encoding === undefined ? bytes : inUtf8(name, bytes, encoding);
        },
      };
      continue;
    }
    const stream = await open();
    const isText = format === "csv" || format === "tsv";
    const path = staging.path(format);
    const content = isText ? inUtf8(name, uncompressed(stream, name), encoding ?? null) : stream;
    const bytes = await spool(content, path, signal);
    yield { name, format, path, bytes };
  }
}
