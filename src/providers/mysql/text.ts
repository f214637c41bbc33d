import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { exactJson, NumberText } from "../../base/json-numbers.ts";
import { parameterValue } from "../../base/parameter-numbers.ts";
import type { SqlValue } from "../../sql/contract.ts";
import type { SourceColumn } from "./types.ts";

/** Quotes any identifier for SQL. Throws `definition_invalid` for a NUL. */
export function quoteName(name: string): string {
  if (name.includes("\0")) throw new AppError("definition_invalid", "A name can't contain a NUL character.");
  return `\`${name.replaceAll("`", "``")}\``;
}

/** A string as a SQL literal that consists only of hex digits. */
export const quoteText = (text: string): string => `_utf8mb4 X'${Buffer.from(text).toString("hex")}'`;

/** A JSON value as a SQL literal. */
function valueText(value: SqlValue): string {
  if (value === null) return "NULL";
  if (typeof value === "boolean") return value ? "TRUE" : "FALSE";
  if (typeof value === "number" || value instanceof NumberText) return String(value);
  return quoteText(typeof value === "string" ? value : exactJson(value));
}

const NUMBER = /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const INSTANT = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d(?::?\d\d)?)?)?$/;

/** A bound of a cursor in the column's own type, so that an index can be used. Throws `definition_invalid`. */
export function cursorText(value: Exclude<Json, null>, column: SourceColumn): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  switch (column.sort) {
    case "number":
      if (NUMBER.test(text)) return text;
      break;
    case "date": {
      const day = INSTANT.exec(text)?.[1];
      if (day) return `DATE'${day}'`;
      break;
    }
    case "datetime": {
      const instant = inUtc(text);
      if (instant) return `TIMESTAMP'${instant}'`;
      break;
    }
    default:
      return quoteText(text);
  }
  throw new AppError(
    "definition_invalid",
    `The cursor value ${JSON.stringify(value)} isn't valid for the column "${column.name}", which is ${column.type}.`,
  );
}

/** ISO 8601 as a MySQL timestamp, converted to UTC if it has a zone; keeps microseconds. */
function inUtc(text: string): string | null {
  const [, day, time = "00:00:00", zone] = INSTANT.exec(text) ?? [];
  if (day === undefined) return null;
  const [whole = "", fraction = ""] = (time.length === 5 ? `${time}:00` : time).split(".");
  const micros = fraction === "" ? "" : `.${fraction.slice(0, 6)}`;
  if (zone === undefined || zone === "Z") return `${day} ${whole}${micros}`;
  const offset = zone.length === 3 ? `${zone}:00` : zone.replace(/^(...)(\d\d)$/, "$1:$2");
  const at = Date.parse(`${day}T${whole}${offset}`);
  if (Number.isNaN(at)) return null;
  return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")}${micros}`;
}

const TOKEN =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\$\d+|[\w\u0080-\uffff][\w$\u0080-\uffff]*|[\s\S]/g;

/**
 * A user's condition with its `$1` … filled in, in parentheses that it can't close: strings and names are terminated,
 * parentheses are balanced, and there are no comments and no second statement. The session's `sql_mode` has standard
 * quoting. Throws `definition_invalid`.
 */
export function conditionText({ sql, parameters }: { sql: string; parameters: readonly Json[] }): string {
  const wrong = (why: string) =>
    new AppError("definition_invalid", `The condition "where" is wrong: ${why}.`);
  if (/--|#|\/\*|\*\//.test(sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`/g, "''")))
    throw wrong("it contains a comment");
  let depth = 0;
  const text = sql.replace(TOKEN, (token) => {
    if (token === "(") depth++;
    else if (token === ")" && --depth < 0) throw wrong("it closes a parenthesis that it doesn't open");
    else if (token === ";") throw wrong("it is more than one statement");
    else if (token === "'" || token === '"' || token === "`") throw wrong("a quote is not closed");
    else if (token === "\0") throw wrong("it contains a NUL character");
    const position = /^\$(\d+)$/.exec(token)?.[1];
    if (position === undefined) return token;
    const value = parameters[Number(position) - 1];
    if (value === undefined) throw wrong(`it asks for ${token}, and ${parameters.length} values are given`);
    return valueText(parameterValue(value));
  });
  if (depth > 0) throw wrong("it opens a parenthesis that it doesn't close");
  return `(${text}\n)`;
}
