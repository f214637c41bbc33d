import { invalid } from "../../base/errors.ts";
import { charsetIn, charsetOf } from "../../base/http-message.ts";
import { type Json, type JsonObject, NotJson, parseJsonInSlices } from "../../base/json.ts";
import { partsIn } from "./parts.ts";

/** Content of a request. */
interface Content {
  headers: Headers;
  body: Uint8Array;
}

/**
 * Parses the body as JSON, form fields or text. Without a content type, it is JSON if it can be parsed as such. Bytes
 * that aren't text are returned like a file in a form. Throws `invalid` if the body doesn't match its content type.
 */
export function payloadOf({ headers, body }: Content): Json | Promise<Json> {
  const label = headers.get("content-type") ?? "";
  const type = label.toLowerCase();
  const isForm = type.startsWith("application/x-www-form-urlencoded");
  if (body.length === 0) return isForm ? {} : null; // a form whose only boxes are unticked sends nothing
  if (type.startsWith("multipart/form-data")) return fieldsOf(partsIn(body, label));
  const isJson = /^(application|text)\/([\w.+-]+\+)?json\b/.test(type);
  const text = decoded(body, charsetIn(body, type));
  if (text === null) {
    if (isJson || isForm || type.startsWith("text/")) throw wrongCharset(type);
    return { fileName: null, mimeType: type || null, data: Buffer.from(body).toString("base64") };
  }
  if (isJson) return parseJsonInSlices(text);
  if (isForm) {
    refuseFields(count(body, "&") + 1); // before all are parsed at once
    const params = new URLSearchParams(text);
    const whole = isReplaced(params) ? (paramsIn(body, "utf-8") ?? paramsIn(body, charsetOf(type))) : params;
    if (whole === null) throw wrongCharset(type);
    return fieldsOf(whole);
  }
  return type === "" && /^\s*[[{]/.test(text) ? jsonOrText(text) : text;
}

async function jsonOrText(text: string): Promise<Json> {
  try {
    return await parseJsonInSlices(text);
  } catch (error) {
    if (error instanceof NotJson) return text;
    throw error;
  }
}

/** Returns null for bytes that aren't text of the charset. */
function decoded(body: Uint8Array, charset: Bun.Encoding): string | null {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(body);
  } catch {
    return null; // A replacement character would hide what was sent.
  }
}

/** Returns whether the form may contain bytes that aren't UTF-8, which `URLSearchParams` replaces. */
const isReplaced = (params: URLSearchParams): boolean =>
  [...params].some(([name, value]) => name.includes(REPLACED) || value.includes(REPLACED));

/** Returns the fields of a form whose bytes, percent-encoded ones included, are text of the charset; null for others. */
function paramsIn(body: Uint8Array, charset: Bun.Encoding): URLSearchParams | null {
  let isWhole = true;
  const encoded = Buffer.from(body)
    .toString("latin1")
    .replace(/[^&=]+/g, (part) => {
      const text = isWhole ? decoded(bytesIn(part), charset) : null;
      isWhole = text !== null;
      return encodeURIComponent(text ?? "");
    });
  return isWhole ? new URLSearchParams(encoded) : null;
}

/** Decodes a part of a form to bytes. */
function bytesIn(part: string): Uint8Array {
  const bytes = Buffer.from(part.replaceAll("+", " "), "latin1");
  let end = 0;
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at] === PERCENT ? HEX.exec(part.slice(at + 1, at + 3)) : null;
    bytes[end++] = code ? Number.parseInt(code[0], 16) : Number(bytes[at]);
    if (code) at += 2;
  }
  return bytes.subarray(0, end);
}

const PERCENT = 0x25;
const HEX = /^[\da-f]{2}$/i;

const wrongCharset = (type: string) =>
  invalid(
    ["body"],
    `The request body isn't ${charsetOf(type).toUpperCase()} text. Send UTF-8, or name the charset in Content-Type.`,
    "string_unicode",
  );

/** Replacement character, which a sender may also have written. */
const REPLACED = "\uFFFD";

/** A form is parsed without interruption, so its size is limited. */
const MAX_FIELDS = 10_000;

function refuseFields(fields: number): void {
  if (fields > MAX_FIELDS) {
    const most = MAX_FIELDS.toLocaleString("en-US");
    throw invalid(
      ["body"],
      `A form can have at most ${most} fields. Send fewer at a time.`,
      "form_too_large",
    );
  }
}

/** Counts `mark` in `bytes`, ignoring case. Stops at the limit. */
function count(bytes: Uint8Array, mark: string): number {
  const text = Buffer.from(bytes).toString("latin1").toLowerCase();
  let found = 0;
  for (let at = text.indexOf(mark); at >= 0 && found <= MAX_FIELDS; at = text.indexOf(mark, at + 1)) found++;
  return found;
}

/** Returns the parameters of the query. Throws `invalid` for percent-encoded bytes that aren't UTF-8. */
export function queryOf(url: URL): JsonObject {
  if (url.search === "") return {};
  if (isReplaced(url.searchParams) && paramsIn(Buffer.from(url.search.slice(1)), "utf-8") === null)
    throw invalid(["query"], "The query isn't UTF-8 text. Percent-encode it in UTF-8.", "string_unicode");
  return fieldsOf(url.searchParams);
}

/** The value of a field, or a list if the field is repeated. */
function fieldsOf(pairs: Iterable<[string, Json]>): JsonObject {
  const fields: JsonObject = Object.create(null);
  let fieldCount = 0;
  for (const [name, value] of pairs) {
    refuseFields(++fieldCount);
    const before = fields[name];
    if (before === undefined) fields[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else fields[name] = [before, value];
  }
  return { ...fields };
}
