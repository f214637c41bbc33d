import { join } from "node:path";
import type { Piece } from "./chore.ts";
import type { EgressResponse } from "./egress.ts";
import { AppError } from "./errors.ts";
import type { Ids } from "./ids.ts";
import { isObject, type Json } from "./json.ts";
import { parseLossless } from "./json-numbers.ts";
import { maskSecrets } from "./mask.ts";
import { textOf } from "./template-lookup.ts";

type Scalar = string | number | boolean | null;

/** Set by the connection itself, so definitions can't set them. */
const REFUSED_HEADERS =
  /^(host|content-length|transfer-encoding|connection|keep-alive|proxy-.*|te|trailer|upgrade|expect)$/i;

/** Returns what is wrong with a header of a request, ignoring templates in its value. Null if nothing is. */
export function headerFault(name: string, value: unknown = null): string | null {
  if (REFUSED_HEADERS.test(name)) return `Weir sets the header ${name} itself.`;
  return fieldFault(name, value);
}

/** The same for a header of any message, including those that the connection sets. */
export function fieldFault(name: string, value: unknown = null): string | null {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return `${JSON.stringify(name)} is not a valid header name.`;
  return typeof value === "string" && !value.includes("{{") ? valueFault(name, value) : null;
}

const valueFault = (name: string, value: string): string | null =>
  /[^\t\x20-\x7e\x80-\xff]/.test(value.trim())
    ? `The value of the header ${name} contains characters that aren't allowed, such as a line break.`
    : null;

/** Returns headers with lowercase names. Null values are dropped. */
export function headersOf(values: Readonly<Record<string, Scalar>>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    if (value === null) continue;
    const text = String(value).trim();
    const fault = headerFault(name) ?? valueFault(name, text);
    if (fault) throw new AppError("definition_invalid", fault);
    headers[name.toLowerCase()] = text;
  }
  return headers;
}

/** Returns `url` with `query` appended. Lists repeat the parameter, nulls are dropped. */
export function withQuery(url: URL, query: Readonly<Record<string, Scalar | Scalar[]>>): URL {
  const full = new URL(url);
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== null) full.searchParams.append(name, String(item));
    }
  }
  return full;
}

/**
 * Returns a URL with the credentials it needs.
 * Throws `definition_invalid` if they go into the path and the URL isn't below theirs.
 */
export function withCredentials(
  url: URL | string,
  { query, path }: { query: Readonly<Record<string, string>>; path?: { base: string; segment: string } },
): URL {
  const full = new URL(url);
  const names = Object.keys(query);
  if (names.length > 0) {
    // as a text: searchParams would encode what others need as it is, such as commas between items
    const others = full.search.slice(1).split("&");
    const kept = others.filter((each) => each !== "" && !names.includes(nameOf(each)));
    full.search = [...kept, new URLSearchParams(query)].join("&");
  }
  if (path === undefined) return full;
  const rest = full.pathname.slice(path.base.length);
  if (!full.pathname.startsWith(path.base) || !/^(\/|$)/.test(rest))
    throw new AppError(
      "definition_invalid",
      `The connection's credentials only go below ${path.base || "/"}.`,
    );
  // links from the server may already have them
  if (!`${rest}/`.startsWith(`${path.segment}/`)) full.pathname = `${path.base}${path.segment}${rest}`;
  return full;
}

const nameOf = (parameter: string): string => new URLSearchParams(parameter).keys().next().value ?? "";

/** Returns the target of the first link with the relation `next` (RFC 8288). */
export function nextLink(header: string): string | null {
  const links = /<([^<>]*)>((?:\s*;\s*[\w!#$%&'*+.^`|~-]+(?:\s*=\s*(?:"[^"]*"|[^\s",;]*))?)*)/g;
  for (const [, target = "", parameters = ""] of header.slice(0, 16_384).matchAll(links)) {
    const [, quoted, plain] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s",;]*))/i.exec(parameters) ?? [];
    if ((quoted ?? plain ?? "").toLowerCase().split(/\s+/).includes("next")) return target;
  }
  return null;
}

export type BodyType = "json" | "form" | "text";

/**
 * Encodes a body. Without a `type`, a string is text and anything else is JSON.
 * A string of type json is sent unchanged if it is JSON already, else as a JSON string. Encode a string that is a
 * value first, or its type would depend on what it says.
 */
export function bodyOf(body: Json, type?: BodyType): { text: string; contentType: string } {
  switch (type ?? (typeof body === "string" ? "text" : "json")) {
    case "text":
      return { text: textOf(body), contentType: "text/plain; charset=utf-8" };
    case "json":
      return {
        text: typeof body === "string" && isJson(body) ? body : JSON.stringify(body),
        contentType: "application/json",
      };
    case "form":
      return { text: formText(body), contentType: "application/x-www-form-urlencoded" };
  }
}

function formText(body: Json): string {
  if (typeof body === "string") return body;
  if (!isObject(body))
    throw new AppError("definition_invalid", "A form body must be an object of its fields.");
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) {
    for (const item of Array.isArray(value) ? value : [value])
      if (item !== null) form.append(name, textOf(item));
  }
  return form.toString();
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A response that was read. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  /** URL of the last hop. */
  url: string;
  /** The body. See `bytesOf` and `readBody`. */
  pieces: Piece[];
  /** Length of the body, after decoding. */
  bytes: number;
  truncated: boolean;
  /** True if it claims to be text but has bytes that are invalid in its charset. */
  isGarbled: boolean;
}

/** Larger bodies go to a file. */
const HELD_BYTES = 1024 * 1024;

/** Storage of a large body during its run. */
export interface Spill {
  /** Waits until this many bytes are available. */
  room(bytes: number): Promise<void>;
  workFolder(): Promise<string>;
  ids: Ids;
}

/** Reads at most `maxBytes` of the body. A large one goes to a file, once there is room for it. */
export async function readReply(response: EgressResponse, maxBytes: number, spill: Spill): Promise<Reply> {
  const { status, url } = response;
  const headers: Record<string, string> = {};
  for (const [name, value] of response.headers) {
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  const length = response.headers.get("content-length");
  const isPlain = length !== null && !response.headers.has("content-encoding");
  const known = isPlain ? Number(length) : Number.POSITIVE_INFINITY;
  const most = Math.min(known, maxBytes);
  if (most > HELD_BYTES) {
    return { status, headers, url, ...(await readPieces(response, { maxBytes, most, spill })) };
  }
  const { bytes, truncated } = await response.bytes(maxBytes);
  const check = textCheck(headers["content-type"] ?? "");
  check.add(bytes);
  const isGarbled = check.end(truncated);
  return { status, headers, url, pieces: [bytes], bytes: bytes.length, truncated, isGarbled };
}

/** Decodes text chunk by chunk, to check that it is valid in one of its charsets. */
function textCheck(type: string) {
  const isText = TEXT.test(type);
  let decoders = isText ? charsetsOf(type).map((charset) => new TextDecoder(charset, { fatal: true })) : [];
  const decode = (piece: Uint8Array, stream: boolean) => {
    decoders = decoders.filter((decoder) => decodedBy(decoder, piece, stream) !== null);
  };
  return {
    add: (piece: Uint8Array) => decode(piece, true),
    /** Returns true for invalid text. A truncated body can end within a character. */
    end(truncated: boolean): boolean {
      if (!truncated) decode(new Uint8Array(), false);
      return isText && decoders.length === 0;
    },
  };
}

async function readPieces(
  response: EgressResponse,
  { maxBytes, most, spill }: { maxBytes: number; most: number; spill: Spill },
): Promise<Pick<Reply, "pieces" | "bytes" | "truncated" | "isGarbled">> {
  const check = textCheck(response.headers.get("content-type") ?? "");
  const chunks: Uint8Array[] = [];
  let file: { path: string; sink: Bun.FileSink } | null = null;
  let bytes = 0;
  let truncated = false;
  try {
    for await (const value of response.body) {
      const piece = value.subarray(0, maxBytes - bytes);
      bytes += piece.length;
      check.add(piece);
      if (file) {
        file.sink.write(piece);
        await file.sink.flush();
      } else chunks.push(piece);
      truncated = piece.length < value.length;
      if (truncated) break;
      if (bytes <= HELD_BYTES || file) continue;
      await spill.room(most);
      const path = join(await spill.workFolder(), `reply-${spill.ids.uuid()}`);
      file = { path, sink: Bun.file(path).writer() };
    }
  } finally {
    await file?.sink.end();
  }
  const pieces = [...chunks, ...(file ? [Bun.file(file.path)] : [])];
  return { pieces, bytes, truncated, isGarbled: check.end(truncated) };
}

const TEXT =
  /^text\/|[/+](json|xml|javascript|ecmascript|yaml|x-yaml|csv|graphql|x-www-form-urlencoded|x-ndjson)\b/i;
const JSON_TYPE = /[/+]json\b/i;

/** Returns the bytes of a body in memory. */
export const bytesOf = (pieces: readonly Piece[]): Buffer =>
  Buffer.concat(pieces.filter((piece) => piece instanceof Uint8Array));

/** A parsed body. */
interface Body {
  /** The JSON value, text, base64 for other bytes, or null if empty. */
  body: Json;
  encoding: "json" | "text" | "base64";
}

/** Parses a body by its content type. A truncated one isn't parsed as JSON. */
export function readBody(
  bytes: Uint8Array,
  type: string,
  truncated: boolean,
  parse: (text: string) => unknown = parseLossless,
): Body {
  if (bytes.length === 0) return { body: null, encoding: "text" };
  const text = readText(bytes, type, truncated);
  if (text === null) return { body: Buffer.from(bytes).toString("base64"), encoding: "base64" };
  if (!truncated && (type === "" || JSON_TYPE.test(type)) && !isTooDeep(text)) {
    try {
      return { body: parse(text) as Json, encoding: "json" };
    } catch {
      // Many servers declare JSON and send a page, whose text is more useful than an error.
    }
  }
  return { body: text, encoding: "text" };
}

/** Null for bytes that aren't text. */
function readText(bytes: Uint8Array, type: string, truncated: boolean): string | null {
  const declared = TEXT.test(type);
  const decoder = new TextDecoder(charsetIn(bytes, type, truncated), { fatal: !declared });
  const text = decodedBy(decoder, bytes, truncated); // null if not UTF-8, so not text without a declared charset
  return declared || !text?.includes("\0") ? text : null;
}

/** Returns null for bytes that are invalid in the charset. */
function decodedBy(decoder: TextDecoder, bytes: Uint8Array, stream: boolean): string | null {
  try {
    return decoder.decode(bytes, { stream });
  } catch {
    return null;
  }
}

/** Returns the charset of a body: the one that its `content-type` names, except for JSON that is UTF-8. */
export function charsetIn(bytes: Uint8Array, type: string, truncated = false): Bun.Encoding {
  const [first, named = first] = charsetsOf(type);
  if (named === first) return first;
  return decodedBy(new TextDecoder(first, { fatal: true }), bytes, truncated) === null ? named : first;
}

/** JSON is UTF-8, whatever its content type names (RFC 8259, section 8.1), unless its bytes are invalid in UTF-8. */
function charsetsOf(type: string): [Bun.Encoding, Bun.Encoding?] {
  const named = charsetOf(type);
  return JSON_TYPE.test(type) && !/^utf-(8|16)/.test(named) ? ["utf-8", named] : [named];
}

/** Returns the charset of a `content-type`. UTF-8 if it has none or an unknown one. */
export function charsetOf(type: string): Bun.Encoding {
  const [, charset = "utf-8"] = /;\s*charset="?([\w:.-]+)/i.exec(type) ?? [];
  try {
    return new TextDecoder(charset as Bun.Encoding).encoding as Bun.Encoding;
  } catch {
    return "utf-8"; // unknown charset
  }
}

/** JSON can have at most 64 levels. Deeper responses stay text. */
export function isTooDeep(text: string, levels = 64): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) {
      for (i++; i < text.length && text.charCodeAt(i) !== 0x22; i++) if (text.charCodeAt(i) === 0x5c) i++;
    } else if (c === 0x5b || c === 0x7b) {
      if (++depth > levels) return true;
    } else if (c === 0x5d || c === 0x7d) depth--;
  }
  return false;
}

const MAX_SHOWN_CHARACTERS = 2_000;

/** Returns the error for an unexpected status. `now` is needed for a `Retry-After` with a date. */
export function unexpectedStatus(method: string, reply: Reply, now: Date): AppError {
  const { status, headers, pieces, truncated } = reply;
  const { body, encoding } = readBody(bytesOf(pieces), headers["content-type"] ?? "", truncated);
  const host = new URL(reply.url).host;
  const retryable = status >= 500; // docs/decisions/runs.md: 4xx responses aren't retried
  const retryAfterSeconds = retryable ? retryAfter(headers["retry-after"], now) : undefined;
  const masked = encoding === "base64" ? null : maskSecrets(body);
  const shown = masked === null ? "" : textOf(masked);
  return new AppError("unexpected_status", `${host} returned ${status} for the ${method} request.`, {
    retryable,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    details: { status, body: shown.slice(0, MAX_SHOWN_CHARACTERS) },
  });
}

const MAX_RETRY_AFTER_SECONDS = 86_400;

/** Parses seconds or an HTTP date (RFC 9110, section 10.2.3). */
function retryAfter(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - now.getTime()) / 1000;
  return Number.isNaN(seconds)
    ? undefined
    : Math.min(Math.max(Math.ceil(seconds), 0), MAX_RETRY_AFTER_SECONDS);
}
