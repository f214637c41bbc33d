import { type Static, Type } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import { upwardFault } from "../../base/file-path.ts";
import type { JsonObject } from "../../base/json.ts";
import { described, object, oneOf, optional, uuid } from "../../base/shape.ts";
import type { Provider } from "../../providers/contract.ts";
import { type Compression, kindOf } from "../../providers/files/file-kinds.ts";
import { COMPRESSIONS, SAVE_FORMATS, type SqlJob } from "../../sql/contract.ts";
import { MEDIA_TYPES } from "../../sql/media-types.ts";
import type { Done, NewArtifact, RunContext } from "../contract.ts";

/** An artifact is in memory. A file of a connection isn't. */
const MAX_ARTIFACT_BYTES = 64 * 1024 * 1024;
const MAX_FILE_BYTES = 20 * 1024 ** 3;

export const FileOutput = object(
  {
    connectionId: described(
      "ID of a connection to write to, or `artifact` to store the file with the run",
      Type.Union([Type.Literal("artifact"), uuid()]),
    ),
    path: optional(
      described("Path of the file at the connection", Type.String({ minLength: 1, maxLength: 4096 })),
    ),
    title: optional(described("Title of the artifact", Type.String({ minLength: 1, maxLength: 200 }))),
    format: oneOf(SAVE_FORMATS, { description: "Format of the file" }),
    compression: optional(
      described(
        "Compression. csv and jsonl: none (the default), gzip (path ends in .gz) or zstd (.zst). parquet: also snappy, lz4 and brotli; zstd is the default",
        oneOf([...new Set(Object.values(COMPRESSIONS).flat())]),
      ),
    ),
  },
  { title: "File" },
);
export type FileOutput = Static<typeof FileOutput>;

/** An artifact has a title, a file of a connection a path. */
export function fileFaults({ connectionId, path, title, format, compression }: FileOutput): {
  path: string[];
  message: string;
}[] {
  const known: readonly string[] = COMPRESSIONS[format] ?? [];
  if (compression !== undefined && SAVE_FORMATS.includes(format) && !known.includes(compression))
    return [{ path: ["compression"], message: `${format} takes ${known.join(", ")}, not ${compression}.` }];
  const isArtifact = connectionId === "artifact";
  const misleading = path === undefined ? null : endingFault(path, format, compression);
  if (misleading !== null && !isArtifact) return [{ path: ["path"], message: misleading }];
  if (!isArtifact && path === undefined)
    return [{ path: ["path"], message: "A file of a connection needs a path." }];
  if (path?.endsWith("/")) return [{ path: ["path"], message: "The path names a folder. Add a filename." }];
  const upward = path === undefined ? null : upwardFault(path);
  if (upward) return [{ path: ["path"], message: upward }];
  if (isArtifact && path !== undefined)
    return [{ path: ["path"], message: "An artifact can't have a path. Remove it." }];
  return !isArtifact && title !== undefined
    ? [{ path: ["title"], message: "A file of a connection can't have a title. Remove it." }]
    : [];
}

/** Readers, Weir among them, decompress a file by the ending of its name. */
function endingFault(path: string, format: string, compression = "none"): string | null {
  if (path.endsWith("}}")) return null; // known when the run starts
  const ending = /\.(?:gz|zstd?)$/i.exec(path)?.[0];
  const packed = format === "parquet" ? undefined : PACKED[compression];
  if (kindOf(path).compression === (packed?.kind ?? null)) return null;
  if (packed) return `With compression ${compression}, the path has to end in ${packed.ending}.`;
  const remedy = format === "csv" || format === "jsonl" ? "Set compression, or remove it." : "Remove it.";
  return `The path ends in ${ending}, but the file isn't compressed as a whole. ${remedy}`;
}

/** Returns why files can't be written with a connection. Null if they can. */
export const writeRefusal = ({ tree, title }: Provider, config: JsonObject): string | null =>
  tree?.writes ? (tree.writes.refusal?.(config) ?? null) : `Files of ${title} can't be written.`;

/**
 * Writes the rows to one file. In a connection, it appears completely or not at all. An artifact appears when the run
 * completes.
 */
export async function intoFile(
  ctx: RunContext,
  job: SqlJob,
  { connectionId, path = "", title, format, compression }: FileOutput,
): Promise<Done> {
  const isArtifact = connectionId === "artifact";
  const target = isArtifact ? null : await openTarget(ctx, connectionId, path);
  const saved = await ctx.sql.save(job, await ctx.workFolder(), {
    format,
    ...(compression ? { compression } : {}),
    maxBytes: isArtifact ? MAX_ARTIFACT_BYTES : MAX_FILE_BYTES,
  });
  const file = Bun.file(saved.path);
  const { warnings } = saved;
  for (const warning of warnings) ctx.log("warn", warning);
  if (target) {
    ctx.progress({ phase: "store", total: file.size, unit: "bytes" });
    await target.put(file.stream(), file.size);
    ctx.log("info", `Wrote ${file.size} bytes to ${path}.`);
    return { result: { output: { connectionId, path, bytes: file.size }, warnings } };
  }
  await ctx.room(file.size);
  const id = ctx.ids.uuid();
  const name = title ?? "Rows";
  const packed = format === "parquet" ? undefined : PACKED[compression ?? "none"];
  const artifact: NewArtifact = {
    id,
    title: name,
    kind: "file",
    fileName: `${name.replaceAll(/[\\/]|\p{Cc}/gu, "_")}.${format}${packed?.ending ?? ""}`,
    mimeType: packed?.mimeType ?? MEDIA_TYPES[format],
    bytes: await file.bytes(),
  };
  return { result: { output: { artifactId: id, bytes: file.size }, warnings }, artifacts: [artifact] };
}

/** Compression of a whole file. That of parquet is within. */
const PACKED: Readonly<Record<string, { kind: Compression; ending: string; mimeType: string }>> = {
  gzip: { kind: "gz", ending: ".gz", mimeType: "application/gzip" },
  zstd: { kind: "zst", ending: ".zst", mimeType: "application/zstd" },
};

async function openTarget(ctx: RunContext, connectionId: string, path: string) {
  const { provider, link } = await ctx.openConnection(connectionId, "write");
  const writes = provider.tree?.writes;
  const refusal = writeRefusal(provider, link.config);
  if (!writes || refusal !== null) throw new AppError("definition_invalid", refusal ?? "");
  const fault = path.endsWith("/") ? "is that of a folder" : writes.fault(link, path);
  if (fault !== null) throw new AppError("definition_invalid", `output.path: ${path} ${fault}.`);
  return {
    put: (bytes: ReadableStream<Uint8Array>, size: number) => writes.put(link, path, { bytes }, size),
  };
}
