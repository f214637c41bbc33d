import { AppError } from "../../base/errors.ts";
import { type SearchLimits, SearchTooMuch, searchJson } from "../../base/jmespath.ts";
import { isObject, type Json } from "../../base/json.ts";
import { exactJson, parseExact } from "../../base/json-numbers.ts";
import { jsonOf } from "../api/send.ts";
import type { Link } from "../contract.ts";

/** A parsed page and its text. */
export interface PageBody {
  body: Json;
  text(): string;
}

/** Limits of a search in this process. Larger ones run in a child process. */
const HERE: SearchLimits = { ms: 15, size: 1024 * 1024 };

/** Names separated by dots: a JMESPath expression that is only a path. */
export const FIELD_PATH = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/;

/** What a JMESPath expression finds in a page; null if nothing. Throws as `searchJson` does. */
export async function searchPage(
  { compute }: Link,
  { body, text }: PageBody,
  expression: string,
): Promise<Json> {
  if (FIELD_PATH.test(expression)) return valueAt(body, expression.split("."));
  if (!compute) return searchJson(body, expression);
  try {
    return searchJson(body, expression, HERE);
  } catch (error) {
    if (!(error instanceof SearchTooMuch)) throw error;
  }
  const tooMuch = (why: string) =>
    new AppError("upstream", `The page takes ${why} to read. Request less at a time.`);
  const pieces = [Buffer.from(text())];
  const { bytes } = await compute({ name: "search", input: { expression }, pieces, tooMuch });
  return ((await jsonOf(Buffer.from(bytes).toString())) ?? null) as Json;
}

function valueAt(body: Json, names: readonly string[]): Json {
  let value: Json = body;
  for (const name of names)
    value = isObject(value) && Object.hasOwn(value, name) ? (value[name] ?? null) : null;
  return value;
}

export function searchJob({ expression }: { expression: string }, bytes: Buffer) {
  const found = searchJson(parseExact(bytes.toString()) as Json, expression);
  return { output: null, bytes: Buffer.from(exactJson(found)) };
}
