import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import type { LakeRead, LakeTable } from "../../lake/contract.ts";
import { readsOf } from "../../lake/reads.ts";
import { sqlName, sqlTables } from "../../lake/views.ts";
import type { SourceSql } from "../../providers/contract-tables.ts";
import type { Column } from "../../sql/contract.ts";
import { quoteName, withoutEnd } from "../../sql/text.ts";
import type { RunContext } from "../contract.ts";

/** More tables are looked at by nobody, and say nothing to a model. */
const MAX_TABLES = 200;
const SAMPLE_ROWS = 3;

/** A table as SQL there calls it. */
export interface LiveTable {
  /** As SQL writes it, such as `raw.shop__orders` or `public.orders`. */
  name: string;
  columns: Column[];
  /** Null where the source does not tell. */
  rows: number | null;
}

/** Where questions are asked: the lake, or a database behind a connection. */
export interface LiveSchema {
  dialect: string;
  tables: LiveTable[];
  /** Throws `sql_error` where `sql` is no SELECT, or speaks of what is not there. */
  check(sql: string): Promise<void>;
  select(sql: string, maxRows: number): Promise<{ rows: Record<string, Json>[]; truncated: boolean }>;
  /** What such SQL reads of the lake; nothing where it asks a database. */
  reads(sql: string): LakeRead[];
}

/** What a definition says of where to look; both absent for the whole lake. */
export interface SchemaSource {
  connectionId?: string;
  datasets?: string[];
  /** Only these, by their names or the last part of them. */
  tables?: string[];
}

/** Throws `definition_invalid` and `not_found` for a source where there is nothing to ask. */
export async function openSchema(
  ctx: RunContext,
  { connectionId, datasets, tables }: SchemaSource,
): Promise<LiveSchema> {
  const whole =
    connectionId === undefined ? await ofLake(ctx, datasets) : await ofConnection(ctx, connectionId, tables);
  const wanted = tables
    ? whole.tables.filter(({ name }) => tables.some((table) => isNamed(name, table)))
    : whole.tables;
  const missing = tables?.find((table) => !whole.tables.some(({ name }) => isNamed(name, table)));
  if (missing !== undefined) throw new AppError("not_found", `There is no table ${missing}.`);
  if (wanted.length === 0) throw new AppError("definition_invalid", "There are no tables to describe.");
  if (wanted.length > MAX_TABLES) {
    throw new AppError(
      "definition_invalid",
      `There are ${wanted.length} tables; name at most ${MAX_TABLES} of them in tables or datasets.`,
    );
  }
  return { ...whole, tables: wanted };
}

const isNamed = (name: string, wanted: string): boolean =>
  name.toLowerCase() === wanted.toLowerCase() || name.toLowerCase().endsWith(`.${wanted.toLowerCase()}`);

async function ofLake(ctx: RunContext, datasets: readonly string[] | undefined): Promise<LiveSchema> {
  const all = await ctx.lake.tables();
  const isOf = ({ layer, dataset }: LakeTable, wanted: string) =>
    wanted === `${layer}.${dataset}` || wanted === dataset;
  const missing = datasets?.find((wanted) => !all.some((table) => isOf(table, wanted)));
  if (missing !== undefined) throw new AppError("not_found", `There is no dataset ${missing}.`);
  const tables = datasets ? all.filter((table) => datasets.some((wanted) => isOf(table, wanted))) : all;
  const job = async (sql: string) => ({
    tables: await sqlTables(ctx.lake, tables, sql),
    sql,
    signal: ctx.signal,
  });
  return {
    dialect: "duckdb",
    tables: tables.map((table) => ({
      name: `${table.layer}.${sqlName(table)}`,
      columns: table.columns,
      rows: table.rows,
    })),
    // Inside of a FROM nothing but one query can stand.
    check: async (sql) => void (await ctx.sql.explain(await job(`SELECT * FROM (${withoutEnd(sql)}\n)`))),
    select: async (sql, maxRows) => ctx.sql.query(await job(withoutEnd(sql)), maxRows),
    reads: (sql) => readsOf(sql, tables),
  };
}

async function ofConnection(
  ctx: RunContext,
  id: string,
  named: readonly string[] | undefined,
): Promise<LiveSchema> {
  const { provider, link } = await ctx.openConnection(id, "read");
  const source = provider.tables;
  if (!source) throw new AppError("definition_invalid", `${provider.title} has no tables to describe.`);
  const found = await source.tables(link, false);
  const wanted = named ? found.filter(({ spec }) => named.some((table) => isNamed(spec, table))) : found;
  const tables: LiveTable[] = [];
  for (const { schema, table, spec } of wanted.slice(0, MAX_TABLES + 1)) {
    ctx.signal.throwIfAborted();
    tables.push({ name: spec, columns: await source.columns(link, schema, table), rows: null });
  }
  const speaksSql = (): SourceSql => {
    if (source.sql) return source.sql;
    throw new AppError("definition_invalid", `${provider.title} takes no SQL; extract it, and ask the lake.`);
  };
  return {
    dialect: source.sql?.dialect ?? provider.id,
    tables,
    check: async (sql) => void (await speaksSql().select(link, sql, 0)),
    select: (sql, maxRows) => speaksSql().select(link, sql, maxRows),
    reads: () => [],
  };
}

/** The first rows of a table, for people and models that have to see some; none of a source without SQL. */
export async function sampleOf(
  schema: LiveSchema,
  { name, columns }: LiveTable,
): Promise<Record<string, Json>[]> {
  const picked = columns.slice(0, 50).map((column) => quoteName(column.name)); // MySQL's session quotes so too
  if (picked.length === 0) return [];
  return (await schema.select(`SELECT ${picked.join(", ")} FROM ${name}`, SAMPLE_ROWS)).rows;
}

/** The schema as a model reads it; cut where it is very long, and then it says so. */
export function schemaText({ dialect, tables }: LiveSchema, maxCharacters = 60_000): string {
  const lines = tables.map(
    ({ name, columns, rows }) =>
      `${name}(${columns.map((column) => `${column.name} ${column.dataType}`).join(", ")})${rows === null ? "" : ` -- ${rows} rows`}`,
  );
  const text = `Dialect: ${dialect}\n${lines.join("\n")}`;
  return text.length <= maxCharacters
    ? text
    : `${text.slice(0, maxCharacters)}\n[truncated: ${tables.length} tables]`;
}
