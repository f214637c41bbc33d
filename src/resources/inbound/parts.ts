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
  const text = textOf(head, "windows-1252");
  const parameters = parametersOf(/\r\ncontent-disposition[ \t]*:([^\r]*)/i.exec(text)?.[1] ?? "");
  const type = /\r\ncontent-type[ \t]*:([^\r]*)/i.exec(text)?.[1]?.trim() ?? "";
  const name = parameters.get("name");
  if (name === undefined) throw invalid(["body"], "A part of this form has no name", "form_invalid");
  const fileName = fileNameOf(parameters);
  if (fileName === undefined) return [name, textOf(content, charsetOf(type))];
  const [extension = ""] = /\.[A-Za-z0-9]{1,10}$/.exec(fileName) ?? [];
  const mimeType = type || Bun.file(`x${extension}`).type;
  return [name, { fileName, mimeType, data: content.toString("base64") }];
}

/**
 * Returns the parameters of a header by lowercase name, the first of each name. Browsers percent-encode quotes in values.
 * Others put a backslash before them.
 */
function parametersOf(header: string): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const [, name = "", quoted, plain = ""] of header.matchAll(PARAMETER).take(MAX_PARAMETERS)) {
    const key = name.toLowerCase();
    if (!parameters.has(key)) parameters.set(key, quoted ?? plain);
  }
  return parameters;
}

/** Senders use three at most. */
const MAX_PARAMETERS = 16;

const PARAMETER = /;\s*([\w*]+)\s*=\s*(?:"((?:\\"|[^"])*)"|([^\s;]*))/g;

function fileNameOf(parameters: Map<string, string>): string | undefined {
  const extended = parameters.get("filename*");
  const [, encoded] = /^utf-8'[^']*'(.*)$/is.exec(extended ?? "") ?? [];
  try {
    if (encoded !== undefined) return decodeURIComponent(encoded);
  } catch {
    // not percent-encoded
  }
  return parameters.get("filename") ?? extended;
}

/** UTF-8, or the charset. */
function textOf(bytes: Uint8Array, charset: Bun.Encoding): string {
  for (const each of ["utf-8", charset] as const) {
    try {
      return new TextDecoder(each, { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      // the next charset
    }
  }
  throw invalid(["body"], "A field of this form isn't UTF-8 text. Send UTF-8.", "string_unicode");
}

const unreadable = () => invalid(["body"], "The parts of this form can't be read", "form_invalid");
