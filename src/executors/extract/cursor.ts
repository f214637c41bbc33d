import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import type { SqlSession } from "../../sql/contract.ts";
import { quoteText } from "../../sql/text.ts";
import type { SheetColumn } from "./sheet.ts";
import { instantFromText, isInstant, isInstantText, isInteger } from "./types.ts";

/** How one load compares the values of its cursor. */
export interface CursorSql {
  /** The value that is compared, over the staged rows. */
  sql: string;
  type: string;
  /** The value's text, which DuckDB gives without loss. */
  text: string;
  /** True where the source gave the value as text, which is then kept as it was. */
  isText: boolean;
}

/** How the values of `column` are compared: numbers as numbers, texts that are all instants as instants. */
export function cursorSql(column: SheetColumn): CursorSql {
  const [first, second] = column.slots;
  const numbers = column.slots.every((slot) => slot.type === "BIGINT" || slot.type === "DOUBLE");
  if (!first || (second && !numbers)) {
    const types = column.slots.map((slot) => slot.type).join(", ");
    throw new AppError(
      "definition_invalid",
      `The cursor "${column.source}" has values of several types (${types}), which have no order.`,
    );
  }
  if (second) {
    const sql = `COALESCE(CAST(${column.slots.map((slot) => slot.name).join(" AS DOUBLE), CAST(")} AS DOUBLE))`;
    return { sql, type: "DOUBLE", text: `CAST(${sql} AS VARCHAR)`, isText: false };
  }
  if (first.type === "VARCHAR" && column.instants) {
    return {
      sql: instantFromText(first.name, "TIMESTAMP"),
      type: "TIMESTAMP",
      text: first.name,
      isText: true,
    };
  }
  return {
    sql: first.name,
    type: first.type,
    text: `CAST(${first.name} AS VARCHAR)`,
    isText: first.type === "VARCHAR",
  };
}

/** `value` as SQL of the cursor's type; throws `definition_invalid` for one that can't be of that type. */
export async function cursorValue(
  session: SqlSession,
  value: Json,
  type: string,
  what: string,
): Promise<string> {
  const text = quoteText(typeof value === "string" ? value : JSON.stringify(value));
  const zoned = isInstant(type) && typeof value === "string" && isInstantText(value);
  const sql = zoned ? instantFromText(text, type) : `CAST(${text} AS ${type})`;
  const [row] = await session.run(`SELECT ${sql.replaceAll("CAST(", "TRY_CAST(")} IS NOT NULL AS fits`);
  if (row?.fits === true) return sql;
  throw new AppError(
    "definition_invalid",
    `The ${what} of the cursor, ${text}, is no ${type}, which the source has now.`,
    {
      details: { value, type },
    },
  );
}

/** A cursor's text as JSON that keeps it exact: numbers where a double holds them, instants as ISO 8601. */
export function cursorJson(text: string, type: string): Json {
  if (isInteger(type)) return Number.isSafeInteger(Number(text)) ? Number(text) : text;
  if (type === "DOUBLE" || type === "FLOAT") return Number.isFinite(Number(text)) ? Number(text) : text;
  const match = isInstant(type) ? /^(\d{4}-\d\d-\d\d) ([\d:.]+)(\+00)?$/.exec(text) : null;
  return match ? `${match[1]}T${match[2]}${match[3] ? "Z" : ""}` : text;
}

/**
 * `value` moved back by `lagSeconds`: seconds for instants and days, the number itself for numbers.
 * Throws `definition_invalid` for a text that is neither.
 */
export function beforeLag(value: Json, lagSeconds: number): Json {
  if (lagSeconds === 0) return value;
  if (typeof value === "number") return value - lagSeconds;
  const text = typeof value === "string" ? value : "";
  if (/^-?\d+$/.test(text)) return String(BigInt(text) - BigInt(Math.ceil(lagSeconds)));
  const match = /^(\d{4}-\d\d-\d\d)(?:([T ])(\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/.exec(text);
  if (!match)
    throw new AppError(
      "definition_invalid",
      `lagSeconds needs a cursor of instants or numbers; ${JSON.stringify(value)} is neither.`,
    );
  const [, day, separator, time = "00:00:00", fraction = "", zone = ""] = match;
  const offset =
    zone === "" || zone === "Z"
      ? "Z"
      : zone.length === 3
        ? `${zone}:00`
        : zone.replace(/^(...)(\d\d)$/, "$1:$2");
  const moved = new Date(Date.parse(`${day}T${time}${offset}`) - Math.ceil(lagSeconds) * 1000).toISOString();
  if (!separator) return moved.slice(0, 10);
  return `${moved.slice(0, 10)}${separator}${moved.slice(11, 19)}${fraction}${zone === "" ? "" : "Z"}`;
}
