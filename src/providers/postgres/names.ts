import { AppError } from "../../base/errors.ts";
import { exactJson } from "../../base/json-numbers.ts";
import type { SqlValue } from "../../sql/contract.ts";

/** Quotes any identifier for SQL. Throws `definition_invalid` for a NUL. */
export function quoteName(name: string): string {
  if (name.includes("\0")) throw new AppError("definition_invalid", "A name can't contain a NUL character.");
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * A JSON value as an expression of `type`, a type name of the server, such as `text[]`.
 *
 * Contains only hex digits of the value, so that it is safe anywhere in other SQL.
 */
export function valueExpression(value: SqlValue, type: string): string {
  if (value === null) return `NULL::${type}`;
  const text = type.endsWith("[]") && Array.isArray(value) ? arrayText(value) : plainText(value);
  if (text.includes("\0")) {
    throw new AppError("definition_invalid", "PostgreSQL can't store a value with a NUL character.");
  }
  return `convert_from(decode('${Buffer.from(text).toString("hex")}', 'hex'), 'UTF8')::${type}`;
}

const plainText = (value: Exclude<SqlValue, null>): string =>
  typeof value === "object" ? exactJson(value) : String(value);

const arrayText = (values: readonly SqlValue[]): string => `{${values.map(elementText).join(",")}}`;

function elementText(value: SqlValue): string {
  if (value === null) return "NULL";
  if (Array.isArray(value)) return arrayText(value);
  return `"${plainText(value).replace(/["\\]/g, "\\$&")}"`;
}

const PLAIN = /^[A-Za-z_][A-Za-z0-9_$]*$/;

/** The `spec` of a table: parts with special characters are in double quotes. */
export const tableSpec = (schema: string, table: string): string =>
  [schema, table].map((part) => (PLAIN.test(part) ? part : quoteName(part))).join(".");

/**
 * The parts of `schema.table`, or of a bare table name (then `schema` is null, and the search path decides). Quoted
 * parts may contain anything. Throws `definition_invalid`.
 */
export function parseSpec(spec: string): { schema: string | null; table: string } {
  const parts: string[] = [];
  let rest = spec.trim();
  for (;;) {
    const quoted = /^"((?:[^"]|"")*)"(?=\.|$)/.exec(rest);
    const part = quoted ?? /^[^.]*/.exec(rest);
    const text = quoted ? (quoted[1] ?? "").replaceAll('""', '"') : (part?.[0] ?? "");
    parts.push(text);
    rest = rest.slice(part?.[0].length ?? 0);
    if (rest === "") break;
    rest = rest.slice(1); // the dot
  }
  const [first = "", second] = parts;
  if (parts.length > 2 || parts.some((part) => part === "" || part.includes("\0"))) {
    throw new AppError(
      "definition_invalid",
      `${JSON.stringify(spec)} isn't a table name. Use schema.table, with special characters in double quotes.`,
    );
  }
  return second === undefined ? { schema: null, table: first } : { schema: first, table: second };
}

/**
 * `sql` with each `$n` outside strings, quoted names and comments replaced by `literal`.
 * Follows PostgreSQL's lexical rules with `standard_conforming_strings` on.
 */
export function fillParameters(sql: string, literal: (position: number) => string): string {
  const token = new RegExp(
    [
      /--[^\n\r]*/, // a comment
      /[eE]'(?:[^'\\]|\\[\s\S]|'')*'(?:\s*[\n\r]\s*'(?:[^'\\]|\\[\s\S]|'')*')*/, // with backslashes; continues in the next line
      /'(?:[^']|'')*'/,
      /"(?:[^"]|"")*"/,
      /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/, // opens a dollar-quoted string
      /\$\d+/,
      /\/\*/,
      /[\w\u0080-\uffff][\w$\u0080-\uffff]*/, // words and numbers, so that the $1 in a$1 isn't a parameter
    ]
      .map((part) => part.source)
      .join("|"),
    "g",
  );
  let out = "";
  let at = 0;
  for (let match = token.exec(sql); match; match = token.exec(sql)) {
    const [text] = match;
    let end = match.index + text.length;
    if (text === "/*") end = commentEnd(sql, match.index);
    else if (text.endsWith("$") && text.startsWith("$")) {
      const close = sql.indexOf(text, end);
      end = close < 0 ? sql.length : close + text.length;
    }
    const parameter = /^\$(\d+)$/.exec(text);
    out += sql.slice(at, match.index);
    out += parameter ? `(${literal(Number(parameter[1]))})` : sql.slice(match.index, end);
    at = end;
    token.lastIndex = end;
  }
  return out + sql.slice(at);
}

/** Block comments nest in PostgreSQL. */
function commentEnd(sql: string, start: number): number {
  let depth = 0;
  for (let i = start; i < sql.length - 1; i++) {
    const pair = sql.slice(i, i + 2);
    if (pair === "/*") depth++;
    else if (pair === "*/") depth--;
    else continue;
    i++;
    if (depth === 0) return i + 1;
  }
  return sql.length;
}
