import { AppError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import { textOf } from "./keep.ts";
import type { ArtifactRow } from "./table.ts";

/** What an artifact holds, as bytes. Throws `gone` when its file is not there. */
export async function openContent(ctx: Pick<Context, "artifacts" | "log">, row: ArtifactRow): Promise<Blob> {
  if (row.path === null) return new Blob([textOf(row.kind, row.data)]);
  const file = await ctx.artifacts.open(row.path);
  if (file !== null) return file;
  ctx.log.write("error", "the file of an artifact is missing", { artifactId: row.id });
  throw new AppError("gone", "The file of this artifact is no longer there.");
}

const ENDINGS = { json: "json", text: "txt", file: "bin" } as const;

/** `Content-Disposition` that makes a browser save the content, under its own name or one of ours (RFC 6266). */
export function dispositionOf(row: ArtifactRow): string {
  const name = fileNameOf(row);
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  return `attachment; filename="${plain}"; filename*=UTF-8''${percent(name)}`;
}

/** Its own name, or one of ours. */
export function fileNameOf(row: ArtifactRow): string {
  const own = row.kind === "file" && isObject(row.data) ? row.data.fileName : null;
  return typeof own === "string" ? own : `${row.id}.${ENDINGS[row.kind]}`;
}

/** As RFC 8187 has it: more signs are encoded than in addresses. */
const percent = (text: string) =>
  encodeURIComponent(text.toWellFormed()).replace(
    /['()*!~]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
