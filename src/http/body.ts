import { AppError, invalid } from "../base/errors.ts";
import { type Json, parseJsonInSlices } from "../base/json.ts";
import { hasLongNumbers, parseNumberTexts } from "../base/json-numbers.ts";
import { withStoredNumbers } from "../base/parameter-numbers.ts";
import { sizeText } from "../base/size.ts";
import type { App } from "../context.ts";
import { BODY_MEMORY } from "./body-memory.ts";
import type { Visit } from "./operation.ts";

/** Time limit for receiving a body (docs/decisions/http-conventions.md). */
const BODY_DEADLINE_MS = 30_000;
/** Larger bodies are counted as they arrive, since senders can announce more than they send. */
const SMALL_BYTES = 64 * 1024;

/** Reads the raw bytes of a body, at most `WEIR_MAX_BODY_BYTES`. Stops reading there. */
export async function readBytes(app: App, visit: Visit): Promise<Uint8Array> {
  const { request } = visit;
  const { maxBodyBytes } = app.config;
  const announced = checkAnnounced(request, maxBodyBytes);
  if (!request.body) return new Uint8Array();
  const arrived = new AbortController();
  const late = app.clock.limit(BODY_DEADLINE_MS, arrived.signal).then(() => null);
  const memory = app.memory.of(BODY_MEMORY);
  const hold = (bytes: number) => memory.take(visit, bytes, maxBodyBytes);
  try {
    if (announced === null || announced > SMALL_BYTES)
      return await gather(request.body, maxBodyBytes, late, hold);
    hold(announced);
    return await inOnePiece(request, maxBodyBytes, late); // cheaper than piece by piece
  } finally {
    arrived.abort();
  }
}

const tooSlow = () => new AppError("request_timeout", "The request body didn't arrive within 30 seconds.");

/** The sender disconnected before its body was complete, and won't read this. */
function brokenOff(cause: unknown): never {
  throw new AppError("bad_request", "The request body ended unexpectedly.", { cause });
}

async function inOnePiece(request: Request, maxBytes: number, late: Promise<null>): Promise<Uint8Array> {
  const bytes = await Promise.race([request.bytes().catch(brokenOff), late]);
  if (bytes === null) throw tooSlow();
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  return bytes;
}

/**
 * Checks the headers before the body is read. Returns the announced length, or null if there is none.
 * Throws `unsupported_media_type`, `bad_request`, `payload_too_large`.
 */
export function checkAnnounced(request: Request, maxBytes: number): number | null {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new AppError(
      "unsupported_media_type",
      `Compressed request bodies aren't supported (Content-Encoding: ${encoding.slice(0, 50)}).`,
    );
  }
  const announced = announcedLength(request);
  if (announced !== null && announced > maxBytes) throw tooLarge(maxBytes);
  return announced;
}

/** Bun joins two equal Content-Length headers with a comma. */
function announcedLength({ headers }: Request): number | null {
  const length = headers.get("content-length");
  if (length === null) return null;
  if (!/^\d+$/.test(length))
    throw new AppError("bad_request", "A request can have only one Content-Length header, a whole number.");
  return Number(length);
}

async function gather(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  late: Promise<null>,
  hold: (bytes: number) => void,
): Promise<Uint8Array> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for (;;) {
      const step = await Promise.race([reader.read().catch(brokenOff), late]);
      if (step === null) throw tooSlow();
      if (step.done) break;
      length += step.value.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      hold(step.value.length);
      chunks.push(step.value);
    }
  } catch (error) {
    reader.cancel().catch(() => undefined); // reported in the response
    throw error;
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length);
}

const tooLarge = (maxBytes: number) =>
  new AppError("payload_too_large", `Request body too large. The limit is ${sizeText(maxBytes)}.`);

/** Bodies are validated value by value, stored and shown. More values would block other requests. */
export const MAX_VALUES = 25_000;
/** Maximum number of values in data, which is passed on unchanged, and in long lists such as an API's endpoints. */
const MAX_LONG_VALUES = 100_000;

/** Larger limits for some bodies. */
export interface BodyKind {
  /** True for data, in which nothing is a template. */
  readonly takesData?: boolean;
  readonly takesLists?: boolean;
  /** Numbers beyond doubles become `NumberText` instead of text. */
  readonly keepsNumbers?: boolean;
  /** In definitions, numbers beyond doubles among the parameters of SQL become `{"$number": …}` instead of text. */
  readonly hasDefinitions?: boolean;
}

/** Returns the JSON body, or undefined if it is empty. Throws `unsupported_media_type`, `invalid`. */
export async function readJson(app: App, visit: Visit, kind: BodyKind = {}): Promise<Json | undefined> {
  return parseBody(visit.request, await readBytes(app, visit), kind);
}

/** Like `readJson`, for bytes that were already read. */
export function parseBody(
  request: Request,
  bytes: Uint8Array,
  { takesData = false, takesLists = false, keepsNumbers = false, hasDefinitions = false }: BodyKind = {},
): Json | undefined | Promise<Json> {
  if (bytes.length === 0) return undefined;
  const type = request.headers.get("content-type");
  if (type !== null && !/^application\/([\w.+-]+\+)?json\b/i.test(type)) {
    throw new AppError(
      "unsupported_media_type",
      `Unsupported content type: ${type.slice(0, 100)}. Use application/json.`,
    );
  }
  const text = decodeText(bytes);
  if (!takesData) refuseTemplates(text);
  const isTagged = hasDefinitions && hasLongNumbers(text);
  const read = parseJsonInSlices(text, {
    maxValues: takesData || takesLists ? MAX_LONG_VALUES : MAX_VALUES,
    ...(keepsNumbers || isTagged ? { parse: parseNumberTexts } : {}),
  });
  const parsed = isTagged ? Promise.resolve(read).then((value) => withStoredNumbers(value)) : read;
  if (takesData || !SURROGATE.test(text)) return parsed;
  return Promise.resolve(parsed).then((value) => {
    refuseHalves(value, ["body"]);
    return value;
  });
}

const SURROGATE = /\\u[dD][89a-fA-F]/;

/**
 * A lone surrogate isn't a character, and databases can't store it as text.
 * Data is stored as JSON, which can contain it.
 */
function refuseHalves(value: Json, loc: readonly string[]): void {
  if (typeof value === "string" && !value.isWellFormed())
    throw invalid(loc, "Input should be valid Unicode text", "string_unicode");
  if (typeof value !== "object" || value === null) return;
  for (const [key, one] of Object.entries(value)) {
    if (!key.isWellFormed())
      throw invalid(loc, "Keys of an object should be valid Unicode text", "string_unicode");
    refuseHalves(one as Json, [...loc, key]);
  }
}

/** Every expression is parsed. One takes as long as a value, and a string can contain many. */
const MAX_TEMPLATES = 10_000;

function refuseTemplates(text: string): void {
  let found = 0;
  for (let at = text.indexOf("{{"); at >= 0; at = text.indexOf("{{", at + 2)) {
    if (++found <= MAX_TEMPLATES) continue;
    const most = MAX_TEMPLATES.toLocaleString("en-US");
    throw invalid(
      ["body"],
      `A request body can have at most ${most} template expressions.`,
      "json_too_large",
    );
  }
}

/** Throws `invalid` if the bytes aren't UTF-8. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw Object.assign(invalid(["body"], "The request body is not UTF-8 text", "json_invalid"), { cause });
  }
}
