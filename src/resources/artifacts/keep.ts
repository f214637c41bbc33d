import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { timestamp } from "../../base/clock.ts";
import type { Json } from "../../base/json.ts";
import type { Context, WriteContext } from "../../context.ts";
import { record } from "../events/service.ts";
import { type ArtifactKind, type ArtifactRow, artifacts } from "./table.ts";

/** Larger content lies in a file (safety: values over 256 KiB). */
const MAX_INLINE_BYTES = 256 * 1024;

export interface ArtifactInput {
  title: string | null;
  kind: ArtifactKind;
  data: Json;
  mimeType?: string;
}

/**
 * The row of an artifact to be, with the file of a large one written. Done before the transaction that
 * inserts it; a file whose row never came is a leftover, which the sweeper finds.
 */
export async function stageArtifact(ctx: Context, runId: string, { title, kind, data, mimeType }: ArtifactInput): Promise<ArtifactRow> {
  const text = kind === "text" && typeof data === "string" ? data : JSON.stringify(data);
  const bytes = Buffer.byteLength(text);
  const id = ctx.ids.uuid();
  const path = bytes > MAX_INLINE_BYTES ? join(ctx.organizationId, `${id}.${kind === "text" ? "txt" : "json"}`) : null;
  if (path !== null) await writeDurably(ctx.artifactsFolder, path, text);
  const at = timestamp(ctx.clock);
  return {
    id,
    organizationId: ctx.organizationId,
    createdAt: at,
    updatedAt: at,
    actionRunId: runId,
    kind,
    storageType: path === null ? "inline" : "file",
    title,
    data: path === null ? data : null,
    path,
    mimeType: mimeType ?? (kind === "text" ? "text/plain; charset=utf-8" : "application/json"),
    bytes,
  };
}

/** Stores a staged artifact, with its event. */
export async function insertArtifact(tx: WriteContext, row: ArtifactRow): Promise<void> {
  await tx.db.insert(artifacts).values(row);
  const { actionRunId, title, kind, bytes } = row;
  await record(tx, "artifact.created", { type: "artifact", id: row.id }, { actionRunId, title, kind, bytes });
}

async function writeDurably(folder: string, path: string, text: string): Promise<void> {
  const target = join(folder, path);
  await mkdir(join(target, ".."), { recursive: true, mode: 0o700 });
  try {
    const file = await open(target, "wx", 0o600);
    await file.writeFile(text);
    await file.sync();
    await file.close();
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  }
}
