import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { parseLossless } from "../base/json-numbers.ts";
import { beginJson } from "../base/json-write.ts";
import { LongJson } from "../base/long-json.ts";
import { measure } from "../base/measure.ts";
import { withoutUnseen } from "../catalog/tools.ts";
import { MAX_RESULT_BYTES } from "./limits.ts";

/** The result of a tool call. */
export interface ToolResult {
  /** Structured content, else its single text (parsed if it is JSON), else its parts. */
  body: Json;
  /** All texts, concatenated. */
  text: string;
  /** Types of parts that structured content stands in for, but that aren't text. */
  omitted: string[];
  isError: boolean;
  /** As JSON. */
  bytes: number;
  truncated: boolean;
}

/** Reads the result of `tools/call`. Truncates results over the limit, with a note. */
export function readResult(result: JsonObject): ToolResult {
  const { content: parts = [] } = result;
  const content = Array.isArray(parts) ? parts : [];
  const texts = content.flatMap((part) =>
    isObject(part) && typeof part.text === "string" ? [part.text] : [],
  );
  const text = texts.join("\n");
  const isError = result.isError === true;
  const { structuredContent } = result;
  const isText = content.length > 0 && texts.length === content.length;
  const isStructured = structuredContent !== undefined && structuredContent !== null;
  const omitted = isStructured ? content.flatMap(typeUnlessText) : [];
  const body = isStructured
    ? structuredContent
    : isText
      ? text.length > MAX_RESULT_BYTES
        ? text
        : valueIn(text)
      : isLong(parts)
        ? parts
        : content;
  const size = measure(body, MAX_RESULT_BYTES * 2);
  if (size <= MAX_RESULT_BYTES && text.length <= MAX_RESULT_BYTES) {
    const bytes = Buffer.byteLength(JSON.stringify(body));
    if (bytes <= MAX_RESULT_BYTES) return { body, text, omitted, isError, bytes, truncated: false };
  }
  const whole = isText ? text : beginJson(body, MAX_RESULT_BYTES);
  const cut = `${withinBytes(whole, MAX_RESULT_BYTES - 200)}\n[cut: the result has more than ${MAX_RESULT_BYTES} bytes]`;
  return { body: cut, text: cut, omitted, isError, bytes: Buffer.byteLength(cut), truncated: true };
}

const typeUnlessText = (part: Json): string[] =>
  isObject(part) && typeof part.type === "string" && part.type !== "text" ? [part.type] : [];

const isLong = (value: unknown): boolean => value instanceof LongJson;

function withinBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.slice(0, maxBytes)).subarray(0, maxBytes);
  return bytes.toString("utf8").replace(/\ufffd+$/, "");
}

function valueIn(text: string): Json {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return parseLossless(text);
  } catch {
    return text; // not JSON
  }
}

/** Error message of a failed tool, on one line. */
export function failureText({ text, body }: ToolResult): string {
  const isEmpty = body === null || body === "" || (Array.isArray(body) && body.length === 0);
  const why = text !== "" || isEmpty ? text : JSON.stringify(body);
  return withoutUnseen(why.slice(0, 4_000)).replace(/\s+/g, " ").trim().slice(0, 500) || "no reason given";
}
