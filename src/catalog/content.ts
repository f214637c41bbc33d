import { AppError } from "../base/errors.ts";
import { isObject, type Json } from "../base/json.ts";
import type { ReadApi } from "./contract.ts";
import { readCurl } from "./curl.ts";
import { parseDocument } from "./document.ts";
import { isHar, readHar } from "./har.ts";
import { isOpenApi, readOpenApi } from "./openapi.ts";
import { isPostman, readPostman } from "./postman.ts";

export const CONTENT_TYPES = ["auto", "openapi", "curl", "html", "markdown", "har", "postman"] as const;
export type ContentType = (typeof CONTENT_TYPES)[number];

/** Maximum number of parts of a page or text that are read as documents. */
const MAX_PARTS = 200;

/**
 * Reads the API that a text describes in a machine-readable form: an OpenAPI document, an HTTP archive, a Postman
 * collection, curl commands, or a page or Markdown text that contains one of these. Null for prose.
 *
 * Throws `bad_request` if the text isn't of the given `type`.
 */
export async function readContent(
  text: string,
  type: ContentType,
  baseUrl: string | null,
): Promise<ReadApi | null> {
  switch (type) {
    case "openapi":
      return readPasted(await parseDocument(text), baseUrl);
    case "har":
      return readHar(await parseDocument(text), baseUrl);
    case "postman":
      return readPostman(await parseDocument(text), baseUrl);
    case "curl":
      return readCurl(text, baseUrl);
    case "html":
      return (await readWhole(text, baseUrl)) ?? readParts(partsOfHtml(text), baseUrl);
    case "markdown":
      return (await readWhole(text, baseUrl)) ?? readParts(partsOfMarkdown(text), baseUrl);
    case "auto": {
      const isPage = /^\s*<(!doctype|html|head|body|!--|\w+[\s>])/i.test(text);
      const parts = isPage ? partsOfHtml(text) : partsOfMarkdown(text);
      const found = (await readWhole(text, baseUrl)) ?? (await readParts(parts, baseUrl));
      if (found === null && DOCUMENT.test(text)) await parseDocument(text); // throws the parser's error
      return found;
    }
  }
}

/** The start of a text that is certainly meant as a document, not as prose. */
const DOCUMENT = /^\s*(?:\{\s*["}]|["']?(?:openapi|swagger)["']?[ \t]*:)/i;

/** Without `servers`, a document's base address is the given one. */
async function readPasted(document: Json, baseUrl: string | null): Promise<ReadApi> {
  const api = await readOpenApi(document, baseUrl, null);
  const isSaid = isObject(document) && (document.servers !== undefined || document.swagger !== undefined);
  return baseUrl === null || (isSaid && api.baseUrl !== null)
    ? api
    : { ...api, baseUrl: baseUrl.replace(/\/+$/, "") };
}

/** Reads the whole text as one document; null if it isn't one. */
async function readWhole(text: string, baseUrl: string | null): Promise<ReadApi | null> {
  const start = text.trimStart();
  if (/^[{[]/.test(start) || /^["']?(openapi|swagger)["']?[ \t]*:/im.test(start.slice(0, HEAD_CHARACTERS))) {
    const value = await documentIn(start);
    if (value === undefined) return null;
    if (isOpenApi(value)) return readPasted(value, baseUrl);
    if (isHar(value)) return readHar(value, baseUrl);
    return isPostman(value) ? readPostman(value, baseUrl) : null;
  }
  return COMMAND.test(start.slice(0, 100)) ? readCurl(start, baseUrl) : null;
}

/** A YAML description says what it is near its beginning. */
const HEAD_CHARACTERS = 10_000;
const COMMAND = /^[ \t]*(?:[$>#%][ \t]+)?curl\s/;
const COMMANDS = /^[ \t]*(?:[$>#%][ \t]+)?curl\s/m;

async function documentIn(text: string): Promise<Json | undefined> {
  try {
    return await parseDocument(text);
  } catch (error) {
    if (error instanceof AppError) return undefined; // not a document
    throw error;
  }
}

/** Reads the first part that is a document, else all curl commands in the parts together. */
async function readParts(parts: readonly string[], baseUrl: string | null): Promise<ReadApi | null> {
  for (const part of parts) {
    if (COMMAND.test(part.trimStart().slice(0, 100))) continue;
    const found = await readWhole(part, baseUrl);
    if (found) return found;
  }
  const commands = parts.filter((part) => COMMANDS.test(part)).join("\n\n");
  return commands === "" ? null : readCurl(commands, baseUrl);
}

/** Fenced blocks; if there are none, the whole text if it contains curl commands. One pass over the lines. */
function partsOfMarkdown(text: string): string[] {
  const parts: string[] = [];
  let fence: string | null = null;
  let block: string[] = [];
  for (const line of text.split("\n")) {
    const mark = /^[ \t]*(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === null) {
      if (mark !== undefined) fence = mark;
    } else if (mark?.startsWith(fence)) {
      if (parts.push(block.join("\n")) >= MAX_PARTS) return parts;
      fence = null;
      block = [];
    } else block.push(line);
  }
  return parts.length > 0 ? parts : COMMANDS.test(text) ? [text] : [];
}

/** Contents of `pre`, `code`, `textarea` and `script`. One pass: each unclosed tag is searched for only once. */
function partsOfHtml(text: string): string[] {
  const parts: string[] = [];
  const lower = text.toLowerCase();
  const open = /<(pre|code|textarea|script)\b([^<>]*)>/g;
  const unclosed = new Set<string>();
  for (let found = open.exec(lower); found && parts.length < MAX_PARTS; found = open.exec(lower)) {
    const [whole, tag = "", attributes = ""] = found;
    const start = found.index + whole.length;
    const end = unclosed.has(tag) ? -1 : lower.indexOf(`</${tag}>`, start);
    if (end < 0) {
      unclosed.add(tag);
      continue;
    }
    open.lastIndex = end;
    const inner = text.slice(start, end);
    if (tag !== "script") {
      const plain = inner.replace(/<br[ \t]*\/?>/gi, "\n").replace(/<[^<>]*>/g, "");
      parts.push(unescaped(plain));
    } else if (/type\s*=\s*["']?application\/([\w.-]{1,50}\+)?json/.test(attributes)) parts.push(inner);
  }
  return parts;
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
};

function unescaped(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|\w{2,6});/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return ENTITIES[name.toLowerCase()] ?? whole;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
      ? String.fromCodePoint(code)
      : whole;
  });
}
