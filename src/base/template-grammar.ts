import { AppError } from "./errors.ts";
import { ExpressionError } from "./expression/fault.ts";
import { parse } from "./expression/parse.ts";
import { pathAt } from "./expression/path.ts";
import { readsOf } from "./expression/reads.ts";
import { reasonOf } from "./expression/reason.ts";
import type { Json } from "./json.ts";
import { parseLossless } from "./json-numbers.ts";
import { repeatedKeys } from "./repeated-keys.ts";

/**
 * Syntax of templates:
 *
 *     {{payload.a.b[0]["odd key"]}}        a path
 *     {{payload.a ?? "x"}}                 a path with a JSON default for missing and null values
 *     {{"{{"}}                             literal text, for braces that aren't a template
 *     {{payload.a * 2 > 10 ? "x" : "y"}}   a CEL expression, for anything else
 *
 * In a path, names between dots consist of letters, digits, `_`, `-`, `$` and `@`. Other keys are JSON
 * strings in brackets. Anything that can be read as a path is one, so `payload.order-id` isn't a subtraction, nor is it
 * in `payload.order-id ?? payload.id`.
 * In a run of braces, the last two open. Parsing takes one pass and linear time.
 */
export interface Template {
  /** Source text, including the braces. */
  source: string;
  /** Keys, outermost first. Empty for literal text and for an expression. */
  path: readonly string[];
  /** Source text of an expression. */
  expression?: string;
  /** Present if it was given. */
  fallback?: Json;
}

/** Pieces of a text: plain text and templates. */
export type Piece = string | Template;

/** Throws `template_error` for opening braces that aren't a template. */
export function readPieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (let open = opening(text, 0); open >= 0; open = opening(text, at)) {
    if (open > at) pieces.push(text.slice(at, open));
    const { template, end } = readTemplate(text, open);
    pieces.push(template);
    at = end;
  }
  if (at < text.length) pieces.push(text.slice(at));
  return pieces;
}

/** Returns where the next template opens, or -1. */
function opening(text: string, from: number): number {
  const first = text.indexOf("{{", from);
  return first < 0 ? -1 : lastOpening(text, first);
}

/** Returns the last two of the run of braces that starts at `at`. */
export function lastOpening(text: string, at: number): number {
  let open = at;
  while (text.charCodeAt(open + 2) === 0x7b) open++;
  return open;
}

const SPACE = /\s*/y;
const SCALAR = /-?\d[\d.eE+-]*|true|false|null/y;

/** Returns the paths that a template reads, as far as they are literal. */
export function pathsOf({ path, expression }: Template): (readonly string[])[] {
  if (expression !== undefined) return readsOf(parse(expression).node).map((read) => read.path);
  return path.length > 0 ? [path] : [];
}

/** Parses the template that opens at `open`. `end` is after its closing braces. */
export function readTemplate(text: string, open: number): { template: Template; end: number } {
  return readPath(text, open) ?? readExpression(text, open);
}

function readExpression(text: string, open: number): { template: Template; end: number } {
  try {
    const { end } = parse(text, open + 2);
    if (!text.startsWith("}}", end)) {
      const reason = end >= text.length ? "it isn't closed" : `unexpected ${text.charAt(end)}`;
      throw new ExpressionError("syntax", reason, end);
    }
    const source = text.slice(open, end + 2);
    return { template: { source, path: [], expression: text.slice(open + 2, end).trim() }, end: end + 2 };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const start = excerpt(text.slice(open, open + 100));
    throw new AppError("template_error", `Invalid template ${start}: ${reasonOf(error, text, open + 2)}.`);
  }
}

/** Parses a path or literal text. Null for anything else. */
function readPath(text: string, open: number): { template: Template; end: number } | null {
  const reader = new Reader(text, open + 2);
  reader.take(SPACE);
  const path = reader.peek() === '"' ? [] : reader.path();
  if (path === null) return null;
  reader.take(SPACE);
  let fallback: { value: Json } | null = null;
  if (path.length === 0 || reader.skip("??")) {
    reader.take(SPACE);
    fallback = reader.json();
    if (fallback === null) return null;
  }
  reader.take(SPACE);
  if (!reader.skip("}}")) return null;
  const source = text.slice(open, reader.at);
  return { template: { source, path, ...(fallback ? { fallback: fallback.value } : {}) }, end: reader.at };
}

class Reader {
  constructor(
    private readonly text: string,
    public at: number,
  ) {}

  peek(): string {
    return this.text.charAt(this.at);
  }

  skip(word: string): boolean {
    if (!this.text.startsWith(word, this.at)) return false;
    this.at += word.length;
    return true;
  }

  take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  /** Null if there is none here. */
  path(): string[] | null {
    const path = pathAt(this.text, this.at);
    if (path === null) return null;
    this.at = path.end;
    return path.keys;
  }

  /** Null if it isn't JSON, or if an object in it has a key twice. */
  json(): { value: Json } | null {
    const start = this.at;
    if (/["[{]/.test(this.peek())) this.at = this.structureEnd();
    else this.take(SCALAR);
    const json = this.text.slice(start, this.at);
    try {
      const value: Json = parseLossless(json);
      return repeatedKeys(json, value).length === 0 ? { value } : null;
    } catch {
      return null;
    }
  }

  /** Position after the string, list or object that starts here. Ignores brackets in strings. */
  private structureEnd(): number {
    const { text } = this;
    let depth = 0;
    let quoted = false;
    for (let i = this.at; i < text.length; i++) {
      const c = text.charCodeAt(i);
      if (quoted && c === 0x5c) i++;
      else if (c === 0x22) quoted = !quoted;
      else if (quoted) continue;
      else if (c === 0x5b || c === 0x7b) depth++;
      else if (c === 0x5d || c === 0x7d) depth--;
      if (depth === 0 && !quoted) return i + 1;
    }
    return text.length;
  }
}

const MAX_EXCERPT = 60;

const excerpt = (text: string) => (text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT)}…` : text);
