import { AppError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import { textOf } from "./keep.ts";
import type { ArtifactRow } from "./table.ts";

/** Returns an artifact's content as bytes. Throws `gone` if its file is missing. */
export async function openContent(ctx: Pick<Context, "artifacts" | "log">, row: ArtifactRow): Promise<Blob> {
  if (row.path === null) return new Blob([textOf(row.kind, row.data)]);
  const file = await ctx.artifacts.open(row.path);
  if (file !== null) return file;
  ctx.log.write("error", "the file of an artifact is missing", { artifactId: row.id });
  throw new AppError("gone", "The file of this artifact is no longer there.");
}

const ENDINGS = { json: "json", text: "txt", file: "bin" } as const;

/** Its own filename, or a default. */
export function fileNameOf(row: ArtifactRow): string {
  const own = row.kind === "file" && isObject(row.data) ? row.data.fileName : null;
  return typeof own === "string" ? own : `${row.id}.${ENDINGS[row.kind]}`;
}

/** Encodes as in RFC 8187, which allows fewer characters than URLs. */
