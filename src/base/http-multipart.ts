import { AppError } from "./errors.ts";
import { isObject, type Json } from "./json.ts";
import { textOf } from "./template-lookup.ts";

/** One part of a form: a field, or a file by its text or in base64. */
export type Part = {
  name: string;
  contentType?: string;
  filename?: string;
} & ({ content: string } | { base64: string } | { bytes: Uint8Array });

/** Returns the parts of one field. A list has one part per item. */
export function partsOf(name: string, value: Json, isFile: boolean): Part[] {
  if (Array.isArray(value)) return value.flatMap((item) => partsOf(name, item, isFile));
  if (value === null) return [];
  if (isFile) return [filePart(name, value)];
  if (!isObject(value)) return [{ name, content: textOf(value) }];
  return [{ name, contentType: "application/json", content: JSON.stringify(value) }];
}

function filePart(name: string, value: Json): Part {
  const { filename, contentType, content, base64 } = isObject(value) ? value : { content: textOf(value) };
  const isText = base64 === undefined;
  const named = {
    name,
    filename: typeof filename === "string" && filename !== "" ? filename : name,
    contentType:
      typeof contentType === "string" ? contentType : isText ? "text/plain" : "application/octet-stream",
  };
  return isText ? { ...named, content: textOf(content ?? "") } : { ...named, base64: textOf(base64) };
}

const LINE = "\r\n";
const CONTENT_TYPE = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(;\s*[\w-]{1,50}=("?)[\w.-]{1,100}\2)*$/;

/**
 * Encodes parts as `multipart/form-data` (RFC 7578, with names escaped as browsers do).
 * The same parts give the same bytes. Throws `definition_invalid` for an invalid type or base64.
 */
export function multipartOf(parts: readonly Part[]): {
  content: Uint8Array<ArrayBuffer>;
  contentType: string;
} {
  const written = parts.map((part) => [headOf(part), bytesOf(part)] as const);
  const hash = new Bun.CryptoHasher("sha256");
  for (const [head, bytes] of written) hash.update(head).update(bytes);
  const boundary = `weir-${hash.digest("hex").slice(0, 48)}`; // depends on all parts, so no part can contain it
  const pieces = written.flatMap(([head, bytes]) => [
    Buffer.from(`--${boundary}${LINE}${head}${LINE}${LINE}`),
    bytes,
    Buffer.from(LINE),
  ]);
  const content = new Uint8Array(Buffer.concat([...pieces, Buffer.from(`--${boundary}--${LINE}`)]));
  return { content, contentType: `multipart/form-data; boundary=${boundary}` };
}

function headOf({ name, filename, contentType }: Part): string {
  const named = `Content-Disposition: form-data; name="${escaped(name)}"`;
  const head = filename === undefined ? named : `${named}; filename="${escaped(filename)}"`;
  if (contentType === undefined) return head;
  if (CONTENT_TYPE.test(contentType)) return `${head}${LINE}Content-Type: ${contentType}`;
  throw new AppError(
    "definition_invalid",
    `${name}: ${JSON.stringify(contentType)} is not a valid content type.`,
  );
}

const escaped = (name: string) =>
  name.toWellFormed().replaceAll("\r", "%0D").replaceAll("\n", "%0A").replaceAll('"', "%22");

function bytesOf(part: Part): Uint8Array {
  if ("bytes" in part) return part.bytes;
  if ("content" in part) return Buffer.from(part.content.toWellFormed());
  if (/^[A-Za-z0-9+/]*={0,2}$/.test(part.base64) && part.base64.length % 4 === 0)
    return Buffer.from(part.base64, "base64");
  throw new AppError("definition_invalid", `${part.name}: invalid base64.`);
}
