import { AppError } from "../../base/errors.ts";
import { type Context, write } from "../../context.ts";
import type { FileItem } from "../../providers/contract.ts";
import { record } from "../events/service.ts";
import { findWithFiles } from "./browse.ts";
import { reach } from "./reach.ts";
import { entity } from "./service.ts";

/** Decisions, section 6. */
export const MAX_UPLOAD_BYTES = 1024 ** 3;

/**
 * Writes a complete file, or nothing. Replaces an existing one. `open` starts reading the bytes, once the connection is
 * known to accept them.
 *
 * Throws `connection_disabled`, `bad_request` if the provider accepts no files, `payload_too_large`, `quota_exceeded`,
 * `disk_full`.
 */
export async function uploadFile(
  ctx: Context,
  id: string,
  { path, open, signal }: { path: string; open: () => ReadableStream<Uint8Array>; signal: AbortSignal },
): Promise<FileItem> {
  const { row, files } = await findWithFiles(ctx, id, path);
  const put = files.write;
  if (!put) throw new AppError("bad_request", "This connection is read-only for files.");
  const file = await reach(ctx, row, { limitMs: null, signal, purpose: "write" }, (_, link) =>
    put.call(files, link, path, open(), MAX_UPLOAD_BYTES),
  );
  await write(ctx, (tx) =>
    record(tx, "connection.updated", entity(row.id), {
      changes: [{ field: "files", from: null, to: { id: file.id, name: file.name, size: file.size } }],
    }),
  );
  return file;
}
