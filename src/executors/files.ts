import { type Static, Type } from "@sinclair/typebox";
import { AppError } from "../base/errors.ts";
import { NOT_UPWARD } from "../base/file-path.ts";
import { isObject, type Json } from "../base/json.ts";
import { described, object, uuid } from "../base/shape.ts";
import type { Provider } from "../providers/contract.ts";
import type { NamedConnection, RunContext } from "./contract.ts";

/** A reference to an existing file: an artifact, or a file of a connection. */
export const FileReference = Type.Union([
  object({ artifactId: described("ID of an artifact", uuid()) }),
  object({
    connectionId: described("ID of a connection with files", uuid()),
    path: Type.String({
      minLength: 1,
      maxLength: 4096,
      pattern: NOT_UPWARD,
      description: "Path of the file at the connection",
      examples: ["/2026/orders.csv"],
    }),
  }),
]);
export type FileReference = Static<typeof FileReference>;

interface File {
  fileName: string;
  mimeType: string;
  bytes: Uint8Array;
}

/** The connection in a reference. Null if a template names it. */
export function connectionOf(reference: Json | undefined, path: readonly string[]): NamedConnection[] {
  const id = isObject(reference) ? reference.connectionId : undefined;
  if (typeof id !== "string" || id.includes("{{")) return [];
  const refusal = ({ files, title }: Provider) =>
    files ? null : `A connection of ${title} has no files to read.`;
  return [{ path: [...path, "connectionId"], id, refusal }];
}

/** Reads a file of at most `most` bytes. Throws `tooMuch` for a longer one. */
export async function readFile(
  ctx: RunContext,
  reference: FileReference,
  most: number,
  tooMuch: () => AppError,
): Promise<File> {
  if ("artifactId" in reference) {
    const { fileName, mimeType, content } = await ctx.artifact(reference.artifactId);
    if (content.size > most) throw tooMuch();
    return { fileName, mimeType, bytes: await content.bytes() };
  }
  const { provider, link } = await ctx.openConnection(reference.connectionId, "read");
  if (!provider.files)
    throw new AppError("definition_invalid", `A connection of ${provider.id} has no files to read.`);
  const { path } = reference;
  const { name, mimeType, size } = await provider.files.stat(link, path);
  if (size !== null && size > most) throw tooMuch();
  const bytes = await gather(await provider.files.read(link, path), most, tooMuch);
  return { fileName: name, mimeType: mimeType ?? "application/octet-stream", bytes };
}

async function gather(
  stream: ReadableStream<Uint8Array>,
  most: number,
  tooMuch: () => AppError,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > most) throw tooMuch();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
