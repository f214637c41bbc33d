import { AppError } from "./errors.ts";
import type { Json } from "./json.ts";

/**
 * How templates are written:
 *
 *     {{payload.a.b[0]["odd key"]}}        a path
 *     {{payload.a ?? "x"}}                 a path, and the JSON that stands in for nothing or null
 *     {{"{{"}}                             a text as it is, for braces that are no template
 *
 * Names between dots are letters, digits, `_`, `-`, `$` and `@`; any other key stands in brackets as a
 * JSON string. Of a run of braces the last two open. Reading takes one pass and linear time.
 */
export interface Template {
  /** As it was written, braces included. */
  source: string;
  /** Keys from the outermost in; empty for a text as it is. */
  path: readonly string[];
  /** Present where one was written. */
  fallback?: Json;
}

/** No value is as deep. */
const MAX_KEYS = 1_000;

/** What a text is made of: plain text, and templates between. */
export type Piece = string | Template;

/** Throws `template_error` for braces that open and are no template. */
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

/** Where the next template opens, or -1. */
function opening(text: string, from: number): number {
  const first = text.indexOf("{{", from);
  return first < 0 ? -1 : lastOpening(text, first);
}

/** The last two of the run of braces that starts at `at`. */
export function lastOpening(text: string, at: number): number {
  let open = at;
  while (text.charCodeAt(open + 2) === 0x7b) open++;
  return open;
}

const SPACE = /\s*/y;
const ROOT = /[\p{L}_$@][\p{L}\p{N}_$@-]*/uy;
const KEY = /[\p{L}\p{N}_$@-]+/uy;
const INDEX = /\d{1,15}/y;
const SCALAR = /-?\d[\d.eE+-]*|true|false|null/y;

/** Reads the template whose braces open at `open`; `end` is after those that close it. */
export function readTemplate(text: string, open: number): { template: Template; end: number } {
  const reader = new Reader(text, open);
  const path: string[] = [];
  let fallback: { value: Json } | null = null;
  reader.take(SPACE);
  if (reader.peek() === '"') {
    fallback = { value: reader.json() };
  } else {
    path.push(reader.need(ROOT, "a name such as payload is expected"));
    for (let key = reader.key(); key !== null; key = reader.key()) {
      path.push(key);
      if (path.length > MAX_KEYS) throw reader.fault("it goes too deep");
    }
    reader.take(SPACE);
    if (reader.skip("??")) {
      reader.take(SPACE);
      fallback = { value: reader.json() };
    }
  }
  reader.take(SPACE);
  if (!reader.skip("}}")) throw reader.fault(reader.peek() === "" ? "it is never closed" : "}} is expected");
  const source = text.slice(open, reader.at);
  return { template: { source, path, ...(fallback ? { fallback: fallback.value } : {}) }, end: reader.at };
}

class Reader {
  at: number;

  constructor(
    private readonly text: string,
    private readonly open: number,
  ) {
    this.at = open + 2;
  }

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

  need(pattern: RegExp, expectation: string): string {
    return this.take(pattern) || this.refuse(expectation);
  }

  /** The next `.name`, `[0]` or `["odd key"]`; null at the end of the path. */
  key(): string | null {
    if (this.skip(".")) return this.need(KEY, "a name is expected after the dot; odd ones stand in brackets");
    if (!this.skip("[")) return null;
    this.take(SPACE);
    const key =
      this.peek() === '"'
        ? String(this.json())
        : String(Number(this.need(INDEX, 'brackets hold a number or a name such as ["odd key"]')));
    this.take(SPACE);
    if (!this.skip("]")) this.refuse("] is expected");
    return key;
  }

  json(): Json {
    const start = this.at;
    if (/["[{]/.test(this.peek())) this.at = this.structureEnd();
    else this.need(SCALAR, "a JSON value is expected");
    try {
      return JSON.parse(this.text.slice(start, this.at));
    } catch {
      return this.refuse(`${excerpt(this.text.slice(start, this.at))} is not JSON`);
    }
  }

  /** After the string, list or object that starts here; brackets inside of strings don't count. */
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
    return this.refuse("it is never closed");
  }

  refuse(reason: string): never {
    throw this.fault(reason);
  }

  fault(reason: string): AppError {
    const start = excerpt(this.text.slice(this.open, this.open + 100));
    return new AppError("template_error", `The template ${start} can't be read: ${reason}.`);
  }
}

const MAX_EXCERPT = 60;

const excerpt = (text: string) => (text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT)}…` : text);
