import { AppError } from "../../base/errors.ts";
import { hideInBytes } from "../../base/hide.ts";
import type { Reply } from "../../base/http-message.ts";
import type { Done, NewArtifact, RunContext } from "../contract.ts";

/** Filename extensions of common media types. */
const ENDINGS: Readonly<Record<string, string>> = {
  "application/json": "json",
  "application/pdf": "pdf",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "application/xml": "xml",
  "application/zip": "zip",
  "image/jpeg": "jpg",
  "image/png": "png",
  "text/csv": "csv",
  "text/html": "html",
  "text/plain": "txt",
};

/**
 * Stores a response as a file of the run, unchanged. Throws `response_too_large` for a truncated one, and `upstream`
 * for one that repeats a credential, which must not be stored.
 */
export async function savedReply(
  { ids }: Pick<RunContext, "ids">,
  { status, headers, pieces, bytes, truncated }: Reply,
  title: string,
  secrets: readonly string[],
): Promise<Done> {
  if (truncated)
    throw new AppError(
      "response_too_large",
      "The response is longer than maxBytes, so the file would be truncated.",
    );
  const parts = await Promise.all(
    pieces.map((piece) => (piece instanceof Uint8Array ? piece : piece.bytes())),
  );
  const content = Buffer.concat(parts);
  if (hideInBytes(content, secrets) !== content)
    throw new AppError(
      "upstream",
      "The response contains a credential of the connection, so it isn't stored as a file.",
    );
  const mimeType = headers["content-type"] ?? "application/octet-stream";
  const ending = ENDINGS[mimeType.split(";")[0]?.trim().toLowerCase() ?? ""] ?? "bin";
  const name = title.replaceAll(/[\\/]|\p{Cc}/gu, "_");
  const id = ids.uuid();
  const artifact: NewArtifact = {
    id,
    title,
    kind: "file",
    fileName: /\.\w{1,8}$/.test(name) ? name : `${name}.${ending}`,
    mimeType,
    bytes: content,
  };
  const result = { status, headers, body: null, extracted: null, pages: 1, bytes, truncated, artifactId: id };
  return { result, artifacts: [artifact] };
}
