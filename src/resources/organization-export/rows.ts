import { getTableColumns, getTableName, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { AppError } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import { maskTyped } from "../../base/typed-secrets.ts";
import type { Context } from "../../context.ts";
import { hasRowid, keyOf } from "../../store/schema.ts";
import { maskConfig } from "../automations/wire-definitions.ts";
import { events } from "../events/table.ts";
import { eventText, type RawEvent } from "../events/wire.ts";
import { isOthersPrivate, type MaskRule, type Noun } from "./nouns.ts";

/** Number of positions of a table that one query covers. */
const WINDOW_ROWS = 5_000;
/** Maximum number of rows, and of their characters, per query. A single row can have more. */
const PAGE_ROWS = 200;
const PAGE_BYTES = 1024 * 1024;
/** Longer texts are masked in a child process. */
const MAX_HERE_CHARACTERS = 256 * 1024;

/** Never exported, whatever the table. */
const isSecret = (name: string) => /^sealed|[tT]okenHash$|^organizationId$/.test(name);

type Row = Readonly<Record<string, string | number | boolean | null>>;

interface Field {
  name: string;
  isJson: boolean;
  mask: MaskRule | null;
}

/** Returns the lines of a noun's rows, in pages of limited text size. JSON columns are passed on as stored. */
export async function* linesOf(
  ctx: Context,
  noun: Noun,
  onLeftOut: (what: string, why: string) => void,
): AsyncGenerator<string[]> {
  const { table, shownOfPrivate } = noun;
  const fields = fieldsOf(noun);
  const where = sql`organization_id = ${ctx.organizationId} and ${noun.where?.(ctx) ?? sql`true`}`;
  for await (const rows of pagesOf(ctx, noun, where)) {
    const lines: string[] = [];
    for (const row of rows) {
      const isTheirs = row.privateTo == null || row.privateTo === ctx.actor.id;
      const shown = isTheirs ? fields : fields.filter(({ name }) => shownOfPrivate?.includes(name));
      lines.push(
        (table as unknown) === events
          ? eventText(row as unknown as RawEvent)
          : await lineOf(ctx, row, shown, reportLeftOut),
      );
    }
    yield lines;
  }

  function reportLeftOut(column: string, row: Row) {
    onLeftOut(`${noun.name} ${String(row.id)}: ${column}`, "Too large to mask the secrets in it.");
  }
}

/** Returns the lines of rows that belong to a noun's rows. */
export async function* partLinesOf(
  ctx: Context,
  noun: Noun,
  part: NonNullable<Noun["parts"]>[number],
): AsyncGenerator<string[]> {
  const { table, by, order } = part;
  const fields = fieldsOf(part);
  const own = sql`organization_id = ${ctx.organizationId} and ${noun.shownOfPrivate ? sql`not ${isOthersPrivate(ctx)}` : sql`true`}`;
  const key = columnsOf([by, ...order]);
  const parentKey = columnsOf(await keyIn(ctx, noun.table));
  for await (const sizes of windows(ctx, noun.table, own)) {
    for (let start = 0; start < sizes.length; start += PAGE_ROWS) {
      const some = sizes.slice(start, start + PAGE_ROWS);
      const parents = sql`(select id from ${noun.table} where ${own} and ${among(parentKey, some)})`;
      for (let after: readonly unknown[] | null = null; ; ) {
        const next: SQL = after === null ? sql`true` : sql`(${key}) > ${tuple(after)}`;
        const rows: Row[] = await select(
          ctx,
          table,
          sql`${sql.identifier(by)} in ${parents} and ${next}`,
          key,
        );
        const lines: string[] = [];
        for (const row of rows) lines.push(await lineOf(ctx, row, fields, () => undefined));
        if (lines.length > 0) yield lines;
        const last = rows.at(-1);
        if (!last || rows.length < PAGE_ROWS) break;
        after = [by, ...order].map((name) => last[camel(name)]);
      }
    }
  }
}

const camel = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

const tuple = (values: readonly unknown[]): SQL =>
  sql`(${sql.join(
    values.map((value) => sql`${value}`),
    sql`, `,
  )})`;

const isJson = (column: SQLiteColumn) => column.columnType === "SQLiteTextJson";

function fieldsOf({ table, without = [], mask = {} }: Pick<Noun, "table" | "without" | "mask">): Field[] {
  return Object.entries(getTableColumns(table))
    .filter(([name]) => !isSecret(name) && !without.includes(name))
    .map(([name, column]) => ({ name, isJson: isJson(column), mask: mask[name] ?? null }));
}

/** Selects complete rows, with JSON as text. */
function select({ db }: Context, table: SQLiteTable, where: SQL, order: SQL): Promise<Row[]> {
  const columns = Object.entries(getTableColumns(table)).map(([name, column]) => [
    name,
    isJson(column) ? sql<string | null>`${column}` : column,
  ]);
  return db
    .select(Object.fromEntries(columns))
    .from(table)
    .where(where)
    .orderBy(order)
    .limit(PAGE_ROWS) as unknown as Promise<Row[]>;
}

interface RowSize {
  key: readonly unknown[];
  bytes: number;
}

const bytesOf = (table: SQLiteTable): SQL =>
  sql.join(
    Object.values(getTableColumns(table)).map(
      (column) => sql`coalesce(octet_length(cast(${sql.identifier(databaseName(column))} as text)), 0)`,
    ),
    sql` + `,
  );

const databaseName = ({ name }: SQLiteColumn) =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns the columns that identify rows of a table: its row IDs if it has them, otherwise the primary key. */
async function keyIn({ db }: Context, table: SQLiteTable): Promise<string[]> {
  const name = getTableName(table);
  return (await hasRowid(db, name)) ? ["rowid"] : keyOf(db, name);
}

const columnsOf = (names: readonly string[]): SQL =>
  sql.join(
    names.map((name) => sql.identifier(name)),
    sql`, `,
  );

/**
 * Yields keys and sizes of the rows, in order and in windows,
 * so that each query is short however many rows others have.
 */
async function* windows(ctx: Context, table: SQLiteTable, where: SQL): AsyncGenerator<RowSize[]> {
  const key = await keyIn(ctx, table);
  yield* key[0] === "rowid" ? byRowid(ctx, table, where) : byKey(ctx, table, where, key);
}

/** In order of creation, in windows over the whole table. */
async function* byRowid({ db }: Context, table: SQLiteTable, where: SQL): AsyncGenerator<RowSize[]> {
  const name = sql.identifier(getTableName(table));
  const [ends] = await db.all<{ first: number | null; last: number | null }>(
    sql`select (select min(rowid) from ${name}) as "first", (select max(rowid) from ${name}) as "last"`,
  );
  for (let from = ends?.first ?? 1; from <= (ends?.last ?? 0); from += WINDOW_ROWS) {
    const rows = await db.all<{ rowid: number; bytes: number }>(
      sql`select rowid as "rowid", ${bytesOf(table)} as "bytes" from ${name} not indexed
        where rowid >= ${from} and rowid < ${from + WINDOW_ROWS} and ${where} order by rowid`,
    );
    yield rows.map(({ rowid, bytes }) => ({ key: [rowid], bytes }));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** In order of the primary key, which begins with the organization in large tables without row IDs. */
async function* byKey(
  { db }: Context,
  table: SQLiteTable,
  where: SQL,
  key: readonly string[],
): AsyncGenerator<RowSize[]> {
  for (let after: readonly unknown[] | null = null; ; ) {
    const next: SQL = after === null ? sql`true` : sql`(${columnsOf(key)}) > ${tuple(after)}`;
    const rows: Record<string, unknown>[] = await db.all(
      sql`select ${columnsOf(key)}, ${bytesOf(table)} as "row bytes" from ${table}
        where ${where} and ${next} order by ${columnsOf(key)} limit ${WINDOW_ROWS}`,
    );
    const found = rows.map((row) => ({ key: key.map((name) => row[name]), bytes: Number(row["row bytes"]) }));
    if (found.length > 0) yield found;
    after = found.at(-1)?.key ?? null;
    if (after === null || rows.length < WINDOW_ROWS) return;
  }
}

/** Returns the rows with these keys. If a key has several columns, those from the first to the last. */
function among(key: SQL, rows: readonly RowSize[]): SQL {
  const [first, last] = [rows[0]?.key ?? [], rows.at(-1)?.key ?? []];
  if (first.length > 1) return sql`(${key}) >= ${tuple(first)} and (${key}) <= ${tuple(last)}`;
  return sql`${key} in ${tuple(rows.map((row) => row.key[0]))}`;
}

async function* pagesOf(ctx: Context, { table }: Noun, where: SQL): AsyncGenerator<Row[]> {
  const key = columnsOf(await keyIn(ctx, table));
  for await (const sizes of windows(ctx, table, where)) {
    for (let start = 0; start < sizes.length; ) {
      let [end, bytes] = [start, 0];
      while (end < sizes.length && end - start < PAGE_ROWS && (end === start || bytes < PAGE_BYTES))
        bytes += sizes[end++]?.bytes ?? 0;
      yield await select(ctx, table, sql`${where} and ${among(key, sizes.slice(start, end))}`, key);
      start = end;
    }
  }
}

async function lineOf(
  ctx: Context,
  row: Row,
  fields: readonly Field[],
  onTooLarge: (column: string, row: Row) => void,
): Promise<string> {
  const parts: string[] = [];
  for (const { name, isJson, mask } of fields) {
    const value = row[name] ?? null;
    let text = isJson && value !== null ? String(value) : JSON.stringify(value);
    if (mask !== null && value !== null) {
      const masked = await maskedText(ctx, text, mask);
      if (masked === null) onTooLarge(name, row);
      text = masked ?? "null";
    }
    parts.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${parts.join(",")}}`;
}

/** Null if the text is too long. */
async function maskedText(ctx: Context, text: string, rule: MaskRule): Promise<string | null> {
  if (text.length <= MAX_HERE_CHARACTERS) return JSON.stringify(MASKS[rule](JSON.parse(text)));
  const tooMuch = () => new AppError("limit_exceeded", "The value is too large to mask the secrets in it.");
  try {
    const { bytes } = await ctx.compute.run(
      {
        name: "mask",
        input: { rule: rule === "secrets" ? rule : "typed" },
        pieces: [new TextEncoder().encode(text)],
        tooMuch,
      },
      { organizationId: ctx.organizationId, signal: ctx.closing },
    );
    return Buffer.from(bytes).toString();
  } catch (error) {
    if (error instanceof AppError && error.code === "limit_exceeded") return null;
    throw error;
  }
}

const MASKS: Readonly<Record<MaskRule, (value: Json) => Json>> = {
  secrets: maskSecrets,
  typed: (value) => maskTyped(value as JsonObject),
  config: (value) => maskConfig(value as JsonObject),
};
