import { timestamp } from "../../base/clock.ts";
import type { Json } from "../../base/json.ts";
import type { Context, WriteContext } from "../../context.ts";
import { record } from "../events/service.ts";
import { withinStorage } from "../usage/quotas.ts";
import { type ArtifactKind, type ArtifactRow, artifacts } from "./table.ts";

/** Larger content is stored in a file (values over 256 KiB). */
const MAX_INLINE_BYTES = 256 * 1024;

export interface ArtifactInput {
  /** Generated if omitted. */
  id?: string;
  title: string | null;
  kind: Exclude<ArtifactKind, "file">;
  data: Json;
  mimeType?: string;
}

export interface FileInput {
  id?: string;
  title: string | null;
  fileName: string;
  mimeType: string;
  bytes: Uint8Array | Blob;
}

/**
 * Returns the row of a new artifact. Large content is written to its file first, before the transaction that inserts
 * the row. The sweeper deletes files without a row.
 */
export async function stageArtifact(ctx: Context, runId: string, input: ArtifactInput): Promise<ArtifactRow> {
  const { id, title, kind, data, mimeType } = input;
  const text = textOf(kind, data);
  const bytes = Buffer.byteLength(text);
  const row = newRow(ctx, runId, {
    id: id ?? ctx.ids.uuid(),
    kind,
    title,
    bytes,
    mimeType: mimeType ?? (kind === "text" ? "text/plain; charset=utf-8" : "application/json"),
  });
  if (bytes <= MAX_INLINE_BYTES) return { ...row, storageType: "inline", data, path: null };
  const path = `${ctx.organizationId}/${row.id}.${kind === "text" ? "txt" : "json"}`;
  await ctx.artifacts.put(path, text);
  return { ...row, storageType: "file", data: null, path };
}

/** Stages a long artifact that is already JSON text. */
export async function stageJson(
  ctx: Context,
  runId: string,
  { title, json }: { title: string; json: Uint8Array | Blob },
): Promise<ArtifactRow> {
  const bytes = json instanceof Blob ? json.size : json.length;
  const facts = { id: ctx.ids.uuid(), kind: "json", title, bytes } as const;
  const row = newRow(ctx, runId, { ...facts, mimeType: "application/json" });
  const path = `${ctx.organizationId}/${row.id}.json`;
  await ctx.artifacts.put(path, json);
  return { ...row, storageType: "file", data: null, path };
}

/** Returns the content to send: a text unchanged, nothing for null, otherwise JSON. */
export function textOf(kind: ArtifactKind, data: Json): string {
  if (kind !== "text") return JSON.stringify(data);
  return typeof data === "string" ? data : data === null ? "" : JSON.stringify(data);
}

/** Stages an artifact of binary content, which is always stored in a file. */
export async function stageFile(ctx: Context, runId: string, input: FileInput): Promise<ArtifactRow> {
  const { id, title, fileName, mimeType, bytes: content } = input;
  const bytes = content instanceof Blob ? content.size : content.length;
  const row = newRow(ctx, runId, { id: id ?? ctx.ids.uuid(), kind: "file", title, bytes, mimeType });
  const path = `${ctx.organizationId}/${row.id}.bin`;
  await ctx.artifacts.put(path, content);
  return { ...row, storageType: "file", data: { fileName, mimeType, bytes }, path };
}

type Facts = Pick<ArtifactRow, "id" | "kind" | "title" | "bytes" | "mimeType">;

function newRow(ctx: Context, actionRunId: string, facts: Facts) {
  const at = timestamp(ctx.clock);
  const { organizationId, privateTo = null } = ctx;
  return { organizationId, privateTo, createdAt: at, updatedAt: at, actionRunId, ...facts };
}

/** Throws `quota_exceeded`. */
export async function insertArtifact(tx: WriteContext, row: ArtifactRow): Promise<void> {
  await withinStorage(tx, async () => void (await tx.db.insert(artifacts).values(row)));
  const { actionRunId, kind, bytes } = row;
  const title = row.privateTo === null ? row.title : null;
  await record(tx, "artifact.created", { type: "artifact", id: row.id }, { actionRunId, title, kind, bytes });
}
