import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { parseLossless } from "../base/json-numbers.ts";
import { beginJson } from "../base/json-write.ts";
import { measure } from "../base/measure.ts";
import { withoutUnseen } from "../catalog/tools.ts";
import { MAX_RESULT_BYTES } from "./limits.ts";

/** What a tool gave back. */
export interface ToolResult {
  /** What it gave as data; else its one text, as JSON where it is JSON; else its parts. */
  body: Json;
  /** All of its texts, one after the other. */
  text: string;
  isError: boolean;
  /** As JSON. */
  bytes: number;
  truncated: boolean;
}

/** Reads the result of `tools/call`. What is longer than a result may be is cut, and says so. */
export function readResult(result: JsonObject): ToolResult {
  const content = Array.isArray(result.content) ? result.content : [];
  const texts = content.flatMap((part) =>
    isObject(part) && typeof part.text === "string" ? [part.text] : [],
  );
  const text = texts.join("\n");
  const isError = result.isError === true;
  const { structuredContent } = result;
  const isText = content.length > 0 && texts.length === content.length;
  const body =
    structuredContent !== undefined && structuredContent !== null
      ? structuredContent
      : isText
        ? text.length > MAX_RESULT_BYTES
          ? text
          : valueIn(text)
        : content;
  const size = measure(body, MAX_RESULT_BYTES * 2);
  if (size <= MAX_RESULT_BYTES && text.length <= MAX_RESULT_BYTES) {
    const bytes = Buffer.byteLength(JSON.stringify(body));
    if (bytes <= MAX_RESULT_BYTES) return { body, text, isError, bytes, truncated: false };
  }
  const whole = isText ? text : beginJson(body, MAX_RESULT_BYTES);
  const cut = `${withinBytes(whole, MAX_RESULT_BYTES - 200)}\n[cut: the result has more than ${MAX_RESULT_BYTES} bytes]`;
  return { body: cut, text: cut, isError, bytes: Buffer.byteLength(cut), truncated: true };
}

function withinBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.slice(0, maxBytes)).subarray(0, maxBytes);
  return bytes.toString("utf8").replace(/\ufffd+$/, "");
}

function valueIn(text: string): Json {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return parseLossless(text);
  } catch {
    return text; // no JSON after all
  }
}

/** What a failed tool says of it, in one line. */
export const failureText = ({ text }: ToolResult) =>
  withoutUnseen(text.slice(0, 4_000)).replace(/\s+/g, " ").trim().slice(0, 500) || "it gives no reason";
