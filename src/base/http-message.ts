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

/** Said by the connection itself; a definition has no say in them. */
const REFUSED_HEADERS =
  /^(host|content-length|transfer-encoding|connection|keep-alive|proxy-.*|te|trailer|upgrade|expect)$/i;

/** What is wrong with a header, as far as its value holds no template; null for nothing. */
export function headerFault(name: string, value: unknown = null): string | null {
  if (REFUSED_HEADERS.test(name)) return `Weir sets the header ${name} itself.`;
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return `${JSON.stringify(name)} is not a valid header name.`;
  return typeof value === "string" && !value.includes("{{") ? valueFault(name, value) : null;
}

const valueFault = (name: string, value: string): string | null =>
  /[^\t\x20-\x7e\x80-\xff]/.test(value.trim())
    ? `The value of the header ${name} contains characters that aren't allowed, such as a line break.`
    : null;

/** Headers as they are sent, names in lower case; those that are null are left out. */
export function headersOf(given: Readonly<Record<string, Scalar>>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === null) continue;
    const text = String(value).trim();
    const fault = headerFault(name) ?? valueFault(name, text);
    if (fault) throw new AppError("definition_invalid", fault);
    headers[name.toLowerCase()] = text;
  }
  return headers;
}

/** `url` with the parameters of `query` after its own; lists repeat the name, null is left out. */
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
 * An address with what carries its credentials. Throws `definition_invalid` where a path has to carry them and the address
 * is not below the one that they are for.
 */
export function withCredentials(
  url: URL | string,
  { query, path }: { query: Readonly<Record<string, string>>; path?: { base: string; segment: string } },
): URL {
  const full = new URL(url);
  for (const [name, value] of Object.entries(query)) full.searchParams.set(name, value);
  if (path === undefined) return full;
  const rest = full.pathname.slice(path.base.length);
  if (!full.pathname.startsWith(path.base) || !/^(\/|$)/.test(rest))
    throw new AppError(
      "definition_invalid",
      `The connection's credentials only go below ${path.base || "/"}.`,
    );
  // a link of the other side may have them already
  if (!`${rest}/`.startsWith(`${path.segment}/`)) full.pathname = `${path.base}${path.segment}${rest}`;
  return full;
}

/** The target of the first link with the relation `next` (RFC 8288). */
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
 * The body's text and its type. Without a `type`, a string is text and all else is JSON; a string of
 * type json is sent as it is where it is JSON already, and as a JSON string where it is not.
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

/** A reply, read. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  /** Of the last hop. */
  url: string;
  /** The body, as it came; `bytesOf` and `readBody` read it. */
  pieces: Piece[];
  /** Of the body, after decoding. */
  bytes: number;
  truncated: boolean;
  /** Whether it says that it is text, and has bytes that its charset doesn't have. */
  isGarbled: boolean;
}

/** A body up to this long is held in memory. */
const HELD_BYTES = 1024 * 1024;

/** Where a long body goes while its run lasts. */
export interface Spill {
  /** Waits until there is room for so many bytes. */
  room(bytes: number): Promise<void>;
  workFolder(): Promise<string>;
  ids: Ids;
}

/** Reads at most `maxBytes` of the body. A long one goes to a file, once there is room for it. */
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

/** Decodes text piece by piece, to see whether it can be. */
function textCheck(type: string) {
  const decoder = TEXT.test(type) ? new TextDecoder(charsetOf(type), { fatal: true }) : null;
  let isGarbled = false;
  const decode = (piece: Uint8Array, stream: boolean) => {
    try {
      if (!isGarbled) decoder?.decode(piece, { stream });
    } catch {
      isGarbled = true;
    }
  };
  return {
    add: (piece: Uint8Array) => decode(piece, true),
    /** True for bytes that are no text. A body that is cut off may end within a character. */
    end(truncated: boolean): boolean {
      if (!truncated) decode(new Uint8Array(), false);
      return isGarbled;
    },
  };
}

async function readPieces(
  response: EgressResponse,
  { maxBytes, most, spill }: { maxBytes: number; most: number; spill: Spill },
): Promise<Pick<Reply, "pieces" | "bytes" | "truncated" | "isGarbled">> {
  const check = textCheck(response.headers.get("content-type") ?? "");
  const held: Uint8Array[] = [];
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
      } else held.push(piece);
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
  const pieces = [...held, ...(file ? [Bun.file(file.path)] : [])];
  return { pieces, bytes, truncated, isGarbled: check.end(truncated) };
}

const TEXT =
  /^text\/|[/+](json|xml|javascript|ecmascript|yaml|x-yaml|csv|graphql|x-www-form-urlencoded|x-ndjson)\b/i;
const JSON_TYPE = /[/+]json\b/i;

/** The bytes of a body that is held in memory. */
export const bytesOf = (pieces: readonly Piece[]): Buffer =>
  Buffer.concat(pieces.filter((piece) => piece instanceof Uint8Array));

/** A body, read. */
interface Body {
  /** The value of JSON, text, base64 for what is neither, null for nothing. */
  body: Json;
  encoding: "json" | "text" | "base64";
}

/** Reads a body by its content type; one that is cut off is no JSON any more. */
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
      // Many a server says JSON and sends a page: its text tells more than an error would.
    }
  }
  return { body: text, encoding: "text" };
}

/** Null for bytes that are no text. */
function readText(bytes: Uint8Array, type: string, truncated: boolean): string | null {
  const declared = TEXT.test(type);
  try {
    const text = new TextDecoder(charsetOf(type), { fatal: !declared }).decode(bytes, {
      stream: truncated,
    });
    return declared || !text.includes("\0") ? text : null;
  } catch {
    return null; // not UTF-8, so not a text of unknown kind
  }
}

/** What the text of a `content-type` is written in; UTF-8 where it does not say, or names what nobody knows. */
export function charsetOf(type: string): Bun.Encoding {
  const [, charset = "utf-8"] = /;\s*charset="?([\w:.-]+)/i.exec(type) ?? [];
  try {
    return new TextDecoder(charset as Bun.Encoding).encoding as Bun.Encoding;
  } catch {
    return "utf-8"; // a charset that nobody knows
  }
}

/** The house takes JSON of at most 64 levels; deeper replies stay text. */
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

/** The failure that an unwanted status is; `now` is for a `Retry-After` that names an instant. */
export function unexpectedStatus(method: string, reply: Reply, now: Date): AppError {
  const { status, headers, pieces, truncated } = reply;
  const { body, encoding } = readBody(bytesOf(pieces), headers["content-type"] ?? "", truncated);
  const host = new URL(reply.url).host;
  const retryable = status >= 500; // docs/decisions/runs.md: a 4xx reply is not retried
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

/** Seconds or an HTTP date (RFC 9110, section 10.2.3). */
function retryAfter(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - now.getTime()) / 1000;
  return Number.isNaN(seconds)
    ? undefined
    : Math.min(Math.max(Math.ceil(seconds), 0), MAX_RETRY_AFTER_SECONDS);
}
