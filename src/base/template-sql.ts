import { AppError } from "./errors.ts";
import type { Json } from "./json.ts";
import { lastOpening, type Piece, readTemplate, type Template } from "./template-grammar.ts";
import { textOf } from "./template-lookup.ts";

/** Before a quoted text, these give it another meaning. */
const PREFIXES = new Set(["e", "b", "x", "n", "u&"]);
/** Before a quoted text, these make it a typed literal, which can't be a parameter. */
const TYPES = new Set(["date", "time", "timestamp", "timestamptz", "interval"]);

const WORD = /[\p{L}_][\p{L}\p{N}_$]*&?/uy;
const BLANK = /\s+/y;
const DOLLAR_QUOTE = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy;
const PART_OF_NAME = /[\p{L}\p{N}_$."`]/u;

/**
 * Replaces each template in SQL by a parameter named `weir_1`, `weir_2` … that isn't in `taken` or in the text.
 * Values never become text of the statement.
 *
 * A quoted text with templates becomes one parameter: `'%{{payload.q}}%'` is the text with the value inserted,
 * and only null stays NULL. `DATE '{{…}}'` becomes a cast. Templates in quoted names,
 * comments and other quotes throw `template_error`, as do those that would be part of a name.
 */
export function sqlTemplate(
  sql: string,
  look: (template: Template) => Json,
  taken: Iterable<string>,
): { sql: string; parameters: Record<string, Json> } {
  return fillSql(
    sql,
    {
      takes: () => true,
      value: look,
      text(pieces) {
        const values = pieces.map((piece) => (typeof piece === "string" ? piece : look(piece)));
        return values.length === 1 && values[0] === null ? null : values.map(textOf).join("");
      },
    },
    taken,
  );
}

/** How the templates of a statement are filled in. */
export interface SqlFiller {
  /** False for a template that is left unchanged. */
  takes(template: Template): boolean;
  value(template: Template): Json;
  /** Value of a quoted text that contains a template to fill in. */
  text(pieces: readonly Piece[]): Json;
}

/** `sqlTemplate` with a custom lookup. */
export function fillSql(
  sql: string,
  filler: SqlFiller,
  taken: Iterable<string>,
): { sql: string; parameters: Record<string, Json> } {
  if (!sql.includes("{{")) return { sql, parameters: {} };
  const writer = new Writer(sql, filler, taken);
  while (writer.at < sql.length) writer.next();
  return { sql: writer.out.join(""), parameters: writer.parameters };
}

class Writer {
  at = 0;
  readonly out: string[] = [];
  readonly parameters: Record<string, Json> = {};
  /** Position of the last word in `out`, while only whitespace follows. */
  private word = -1;
  private count = 0;
  private readonly taken: Set<string>;

  constructor(
    private readonly sql: string,
    private readonly filler: SqlFiller,
    taken: Iterable<string>,
  ) {
    this.taken = new Set([...taken, ...(sql.match(/weir_\d+/g) ?? [])]);
  }

  /** Reads and writes one token. */
  next(): void {
    const { sql, at } = this;
    const two = sql.slice(at, at + 2);
    if (two === "{{") return this.bare();
    if (sql[at] === "'") return this.literal();
    if (sql[at] === '"' || sql[at] === "`") return this.untouched(this.quoteEnd(sql[at]), "a quoted name");
    if (two === "--") return this.untouched(endOf(sql, "\n", at), "a comment");
    if (two === "/*") return this.untouched(this.commentEnd(), "a comment");
    const dollar = match(DOLLAR_QUOTE, sql, at);
    if (dollar && !PART_OF_NAME.test(sql[at - 1] ?? "")) {
      return this.untouched(endOf(sql, dollar, at + dollar.length), "dollar-quoted strings");
    }
    const blank = match(BLANK, sql, at);
    if (blank) return this.copy(blank, this.word);
    const word = match(WORD, sql, at);
    if (word) return this.copy(word, this.out.length);
    this.copy(sql.charAt(at), -1);
  }

  private copy(text: string, word: number): void {
    this.out.push(text);
    this.at += text.length;
    this.word = word;
  }

  private untouched(end: number, what: string): void {
    const text = this.sql.slice(this.at, end);
    if (text.includes("{{")) throw refused(`Templates aren't allowed in ${what} in SQL`);
    this.copy(text, -1);
  }

  /** A template outside quotes. */
  private bare(): void {
    const open = lastOpening(this.sql, this.at);
    if (open > this.at) return this.copy(this.sql.slice(this.at, open), -1);
    const { template, end } = readTemplate(this.sql, open);
    const before = this.sql[open - 1] ?? " ";
    const after = this.sql[end] ?? " ";
    if (PART_OF_NAME.test(before) || /[\p{L}\p{N}_$"`{]/u.test(after)) {
      throw refused(`Template ${template.source} is bound as a value and can't be used in an SQL identifier`);
    }
    this.out.push(
      this.filler.takes(template) ? this.bind(() => this.filler.value(template)) : template.source,
    );
    this.at = end;
    this.word = -1;
  }

  private literal(): void {
    const before = this.out[this.word]?.toLowerCase() ?? "";
    const adjacent = before !== "" && this.word === this.out.length - 1;
    const { pieces, end } = this.literalPieces(adjacent && before === "e");
    if (pieces.every((piece) => typeof piece === "string" || !this.filler.takes(piece)))
      return this.copy(this.sql.slice(this.at, end), -1);
    if (adjacent && PREFIXES.has(before)) {
      throw refused("Templates are allowed only in plain SQL string literals, without a prefix letter");
    }
    const name = this.bind(() => this.filler.text(pieces));
    if (TYPES.has(before)) {
      this.out.length = this.word;
      this.out.push(`CAST(${name} AS ${before.toUpperCase()})`);
    } else {
      this.out.push(name);
    }
    this.at = end;
    this.word = -1;
  }

  /** The pieces of the quoted text that starts here. Quotes inside a template belong to the template. */
  private literalPieces(escapes: boolean): { pieces: Piece[]; end: number } {
    const { sql } = this;
    const pieces: Piece[] = [];
    let start = this.at + 1;
    for (let i = start; i < sql.length; i++) {
      if ((sql[i] === "'" && sql[i + 1] === "'") || (escapes && sql[i] === "\\")) i++;
      else if (sql[i] === "'") {
        pieces.push(sql.slice(start, i).replaceAll("''", "'"));
        return { pieces: pieces.filter((piece) => piece !== ""), end: i + 1 };
      } else if (sql[i] === "{" && sql[i + 1] === "{") {
        const open = lastOpening(sql, i);
        const { template, end } = readTemplate(sql, open);
        pieces.push(sql.slice(start, open).replaceAll("''", "'"), template);
        start = end;
        i = end - 1;
      }
    }
    throw refused("An SQL string literal isn't closed");
  }

  /** Stores a value under a free name. Returns its parameter. */
  private bind(value: () => Json): string {
    let name: string;
    do name = `weir_${++this.count}`;
    while (this.taken.has(name));
    this.parameters[name] = value();
    return `$${name}`;
  }

  private quoteEnd(quote: string): number {
    const { sql } = this;
    for (let i = this.at + 1; i < sql.length; i++) {
      if (sql[i] !== quote) continue;
      if (sql[i + 1] === quote) i++;
      else return i + 1;
    }
    return sql.length;
  }

  /** Comments can be nested, as in PostgreSQL and DuckDB. */
  private commentEnd(): number {
    const edges = /\/\*|\*\//g;
    edges.lastIndex = this.at;
    let depth = 0;
    for (let edge = edges.exec(this.sql); edge; edge = edges.exec(this.sql)) {
      depth += edge[0] === "/*" ? 1 : -1;
      if (depth === 0) return edges.lastIndex;
    }
    return this.sql.length;
  }
}

function match(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}

/** Position after the next `mark`, or the end of the text. */
function endOf(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found < 0 ? text.length : found + mark.length;
}

const refused = (reason: string) => new AppError("template_error", `${reason}.`);
