import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { type Context, write } from "../../context.ts";
import type { FileItem } from "../../providers/contract.ts";
import { record } from "../events/service.ts";
import { findWithFiles } from "./browse.ts";
import { providerOf } from "./input.ts";
import { reach } from "./reach.ts";
import { entity } from "./service.ts";

const LIMIT_MS = 30_000;

/** Opens the file at `path`. The reader must close it. Throws as `listFiles` does, and `bad_request` for a folder. */
export async function openFile(
  ctx: Context,
  id: string,
  path: string,
  signal: AbortSignal,
): Promise<{ item: FileItem; bytes: ReadableStream<Uint8Array> }> {
  const { row, files } = await findWithFiles(ctx, id, path);
  return reach(ctx, row, { limitMs: null, signal, purpose: "read" }, async (_, link) => {
    const item = await files.stat(link, path);
    if (item.kind === "folder") throw isFolder(path);
    return { item, bytes: await files.read(link, path) };
  });
}

/**
 * Deletes a file. Some systems move it to a trash. Recorded in the audit log before the request, and again if it fails.
 *
 * Throws as `listFiles` does, and `bad_request` for a folder or a system whose files are read-only.
 */
export async function deleteFile(ctx: Context, id: string, path: string, signal: AbortSignal): Promise<void> {
  const { row, files } = await findWithFiles(ctx, id, path);
  const { tree, title } = providerOf(ctx, row);
  const refusal = tree?.writes ? tree.writes.refusal?.(row.config) : `Files of ${title} are read-only.`;
  if (!tree?.writes || refusal) throw new AppError("bad_request", refusal ?? "");
  const { writes } = tree;
  await reach(ctx, row, { limitMs: LIMIT_MS, signal, purpose: "write" }, async (_, link) => {
    const { id: file, name, size, kind } = await files.stat(link, path);
    if (kind === "folder") throw isFolder(path);
    const tell = (change: { from: Json; to: Json }) =>
      write(ctx, (tx) =>
        record(tx, "connection.updated", entity(row.id), { changes: [{ field: "files", ...change }] }),
      );
    await tell({ from: { id: file, name, size }, to: null });
    await writes.remove(link, path).catch(async (error: unknown) => {
      await tell({ from: null, to: { id: file, name, size } });
      throw error;
    });
  });
}

const isFolder = (path: string) =>
  new AppError("bad_request", `${JSON.stringify(path)} is a folder. Select a file in it.`);
