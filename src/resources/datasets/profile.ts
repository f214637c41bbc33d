import type { Json } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import { sqlName, sqlTables } from "../../lake/views.ts";
import type { Column } from "../../sql/contract.ts";
import { quoteName } from "../../sql/text.ts";
import { beginQuery } from "../usage/quotas.ts";
import { pickTable } from "./service.ts";
import type { DatasetRef } from "./wire.ts";
import type { TableProfile } from "./wire-profile.ts";

/** Above this, distinct values are estimated. */
const MAX_EXACT_ROWS = 1_000_000;
/** Longer texts are truncated. */
const MAX_TEXT = 200;

/**
 * Profiles each column of a table in one pass over its rows. Distinct values are estimated if there are very many rows.
 * Throws `not_found`, `sql_timeout` and `quota_exceeded`.
 */
export async function profileTable(
  ctx: Context,
  ref: DatasetRef,
  name: string | undefined,
  signal: AbortSignal,
): Promise<TableProfile> {
  const table = await pickTable(ctx, ref, name);
  const ended = await beginQuery(ctx);
  const began = ctx.clock.monotonic();
  try {
    const from = `${quoteName(table.layer)}.${quoteName(sqlName(table))}`;
    const isApproximate = table.rows > MAX_EXACT_ROWS;
    const distinct = isApproximate
      ? (column: string) => `approx_count_distinct(${column})`
      : (column: string) => `count(DISTINCT ${column})`;
    const each = table.columns.flatMap((column, at) => figuresOf(column, at, distinct));
    const figures = ["count(*) AS n", ...each].join(", ");
    const tables = await sqlTables(ctx.lake, [table]);
    const sql = `SELECT ${figures} FROM ${from}`;
    const { organizationId } = ctx;
    const { rows } = await ctx.sql.query({ tables, sql, organizationId, signal }, 1);
    const row = rows[0] ?? {};
    const total = Number(row.n ?? 0);
    return {
      table: table.table,
      rows: total,
      isApproximate,
      columns: table.columns.map((column, at) => toColumn(column, at, row)),
      durationSeconds: Math.round(ctx.clock.monotonic() - began) / 1000,
    };
  } finally {
    ended();
  }
}

const isText = ({ dataType }: Column) => dataType === "VARCHAR";
/** For lists, objects and bytes, a minimum has no useful meaning. */
const isOrdered = ({ dataType }: Column) => !/\[|STRUCT|MAP|UNION|BLOB|BIT|JSON|VARIANT/.test(dataType);

function figuresOf(column: Column, at: number, distinct: (column: string) => string): string[] {
  const name = quoteName(column.name);
  const shown = (value: string) => (isText(column) ? `left(${value}, ${MAX_TEXT + 1})` : value);
  const ends = isOrdered(column)
    ? [`${shown(`min(${name})`)} AS least${at}`, `${shown(`max(${name})`)} AS most${at}`]
    : [];
  return [`count(*) - count(${name}) AS nulls${at}`, `${distinct(name)} AS distinct${at}`, ...ends];
}

function toColumn({ name, dataType }: Column, at: number, row: Readonly<Record<string, Json>>) {
  const [min, max] = [row[`least${at}`] ?? null, row[`most${at}`] ?? null];
  const isCut = [min, max].some((value) => typeof value === "string" && [...value].length > MAX_TEXT);
  const shown = (value: Json) =>
    typeof value === "string" && isCut ? [...value].slice(0, MAX_TEXT).join("") : value;
  return {
    name,
    dataType,
    nulls: Number(row[`nulls${at}`] ?? 0),
    distinct: Number(row[`distinct${at}`] ?? 0),
    min: shown(min),
    max: shown(max),
    isCut,
  };
}
