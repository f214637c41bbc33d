import { invalid } from "../../base/errors.ts";
import { charsetOf } from "../../base/http-message.ts";
import type { Json } from "../../base/json.ts";

const LINE = "\r\n";

/**
 * Returns the parts of a `multipart/form-data` body (RFC 7578) as fields. A file has a name, the type that its part has,
 * and its bytes in base64. Throws `invalid` for parts without a name, and for ones that can't be read.
 */
export function partsIn(body: Uint8Array, type: string): [name: string, value: Json][] {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]+)"|([^\s;,]+))/i.exec(type) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw unreadable();
  return [...piecesOf(Buffer.concat([Buffer.from(LINE), body]), `${LINE}--${boundary}`)].map(fieldOf);
}

interface Piece {
  head: Buffer;
  content: Buffer;
}

function* piecesOf(bytes: Buffer, delimiter: string): Generator<Piece> {
  const next = (mark: string, from: number) => {
    const at = bytes.indexOf(mark, from, "latin1");
    if (at < 0) throw unreadable();
    return at;
  };
  for (let at = next(delimiter, 0); ; ) {
    const start = at + delimiter.length;
    if (bytes.toString("latin1", start, start + 2) === "--") return;
    const lineEnd = next(LINE, start);
    if (bytes.subarray(start, lineEnd).some((byte) => byte !== 0x20 && byte !== 0x09)) throw unreadable();
    at = next(delimiter, lineEnd);
    const part = bytes.subarray(lineEnd, at + LINE.length); // with the line end before the delimiter
    const headEnd = part.indexOf(LINE + LINE);
    if (headEnd < 0) throw unreadable();
    yield {
      head: part.subarray(0, headEnd),
      content: part.subarray(headEnd + 2 * LINE.length, -LINE.length),
    };
  }
}

function fieldOf({ head, content }: Piece): [string, Json] {
  const headers = new Map(textOf(head).split(LINE).map(headerOf));
  const disposition = headers.get("content-disposition") ?? "";
  const type = headers.get("content-type");
  const name = parameterOf(disposition, "name");
  if (name === undefined) throw invalid(["body"], "A part of this form has no name", "form_invalid");
  const fileName = fileNameOf(disposition);
  if (fileName === undefined) return [name, textOf(content, type)];
  const mimeType = type ?? Bun.file(fileName).type;
  return [name, { fileName, mimeType, data: content.toString("base64") }];
}

function headerOf(line: string): [name: string, value: string] {
  const [name = "", ...value] = line.split(":");
  return [name.trim().toLowerCase(), value.join(":").trim()];
}

/** Browsers percent-encode quotes in names. Others put a backslash before them. */
function parameterOf(disposition: string, name: string): string | undefined {
  const pattern = new RegExp(`;\\s*${name}\\s*=\\s*(?:"((?:\\\\"|[^"])*)"|([^\\s;]*))`, "i");
  const [, quoted, plain] = pattern.exec(disposition) ?? [];
  return quoted ?? plain;
}

function fileNameOf(disposition: string): string | undefined {
  const [, encoded] = /;\s*filename\*\s*=\s*utf-8'[^']*'([^\s;]*)/i.exec(disposition) ?? [];
  if (encoded === undefined) return parameterOf(disposition, "filename");
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw unreadable();
  }
}

/** UTF-8, or the charset that the part names. */
function textOf(bytes: Uint8Array, type = ""): string {
  for (const charset of ["utf-8", charsetOf(type)] as const) {
    try {
      return new TextDecoder(charset, { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      // the next charset
    }
  }
  throw invalid(["body"], "A field of this form isn't UTF-8 text. Send UTF-8.", "string_unicode");
}

const unreadable = () => invalid(["body"], "The parts of this form can't be read", "form_invalid");
