import { invalid } from "../../base/errors.ts";
import { charsetOf } from "../../base/http-message.ts";
import type { Json } from "../../base/json.ts";

const LINE = "\r\n";

/** Heads are decoded and searched as a whole. Those of browsers have a few hundred bytes. */
const MAX_HEAD_BYTES = 16 * 1024;

/**
 * Reads the parts of a `multipart/form-data` body (RFC 7578) one by one, as fields. A file has a name, the type that its
 * part has, and its bytes in base64. Throws `invalid` for parts without a name, and for ones that can't be read.
 */
export function* partsIn(body: Uint8Array, type: string): Generator<[name: string, value: Json]> {
  for (const part of piecesOf(body, type)) {
    const name = part.parameters.get("name");
    if (name === undefined) throw invalid(["body"], "A part of this form has no name", "form_invalid");
    const isList = /^multipart\/mixed\b/i.test(part.type) && fileNameOf(part.parameters) === undefined;
    if (isList) yield* filesIn(part, name);
    else yield [name, contentOf(part)];
  }
}

/** Reads several files of one field, as curl sends them (RFC 2388, section 4.2). */
function* filesIn({ content, type }: Part, name: string): Generator<[string, Json]> {
  let isEmpty = true;
  for (const file of piecesOf(content, type)) {
    isEmpty = false;
    yield [name, contentOf(file)];
  }
  if (isEmpty) throw unreadable(); // would not count as a field
}

interface Part {
  /** Of its `Content-Disposition`. */
  parameters: Map<string, string>;
  /** Its `Content-Type`. Empty without one. */
  type: string;
  content: Buffer;
}

/** A line that begins with the boundary and continues with other text is content. */
function* piecesOf(body: Uint8Array, type: string): Generator<Part> {
  const boundary = parametersOf(type).get("boundary");
  if (!boundary) throw unreadable();
  const bytes = Buffer.concat([Buffer.from(LINE), body]);
  const delimiter = new RegExp(`${LINE}--${RegExp.escape(boundary)}(--|[ \\t]*(?=${LINE}))`, "g");
  let start: number | undefined;
  for (const { index, 0: line, 1: end } of bytes.toString("latin1").matchAll(delimiter)) {
    if (start !== undefined) yield partOf(bytes.subarray(start, index + LINE.length));
    if (end === "--") return;
    start = index + line.length;
  }
  throw unreadable();
}

/** `bytes` begin and end with a line end. */
function partOf(bytes: Buffer): Part {
  const headEnd = bytes.subarray(0, MAX_HEAD_BYTES).indexOf(LINE + LINE);
  if (headEnd < 0) throw unreadable();
  const head = textOf(bytes.subarray(0, headEnd), "windows-1252");
  return {
    parameters: parametersOf(/\r\ncontent-disposition[ \t]*:([^\r]*)/i.exec(head)?.[1] ?? ""),
    type: /\r\ncontent-type[ \t]*:([^\r]*)/i.exec(head)?.[1]?.trim() ?? "",
    content: bytes.subarray(headEnd + 2 * LINE.length, -LINE.length),
  };
}

function contentOf({ parameters, type, content }: Part): Json {
  const fileName = fileNameOf(parameters);
  if (fileName === undefined) return textOf(content, charsetOf(type));
  const [extension = ""] = /\.[A-Za-z0-9]{1,10}$/.exec(fileName) ?? [];
  return { fileName, mimeType: type || Bun.file(`x${extension}`).type, data: content.toString("base64") };
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
