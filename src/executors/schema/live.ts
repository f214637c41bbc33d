import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import type { LakeRead, LakeTable } from "../../lake/contract.ts";
import { readsOf } from "../../lake/reads.ts";
import { sqlName, sqlTables } from "../../lake/views.ts";
import type { SourceSql } from "../../providers/contract-tables.ts";
import type { Column } from "../../sql/contract.ts";
import { quoteName, withoutEnd } from "../../sql/text.ts";
import type { RunContext } from "../contract.ts";
import { tablesIn } from "./mentions.ts";

/** Maximum number of tables. More would help neither a person nor a model. */
const MAX_TABLES = 200;
const SAMPLE_ROWS = 3;

/** A table by its name in SQL. */
export interface LiveTable {
  /** Its SQL name, such as `raw.shop__orders` or `public.orders`. */
  name: string;
  columns: Column[];
  /** Null if the source doesn't say. */
  rows: number | null;
}

/** The queried database: the lake, or a connection's. */
export interface LiveSchema {
  dialect: string;
  tables: LiveTable[];
  /** Throws `sql_error` if `sql` isn't a SELECT, or names something that doesn't exist. */
  check(sql: string): Promise<void>;
  select(sql: string, maxRows: number): Promise<{ rows: Record<string, Json>[]; truncated: boolean }>;
  /** Names of the tables that the SQL refers to. */
  named(sql: string): ReadonlySet<string>;
  /** Tables of the lake that the SQL reads. Empty for a connection's database. */
  reads(sql: string): LakeRead[];
}

/** Which source a definition selects. Both omitted: the whole lake. */
export interface SchemaSource {
  connectionId?: string;
  datasets?: string[];
  /** Only these tables, by their names or the last part of their names. */
  tables?: string[];
}

/** Throws `definition_invalid` and `not_found` for a source that can't be queried. */
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
      `There are ${wanted.length} tables. Name at most ${MAX_TABLES} of them in tables or datasets.`,
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
      columns: table.columns.map(({ name, dataType, nullable }) => ({ name, dataType, nullable })),
      rows: table.rows,
    })),
    // Inside a FROM clause, only a single query is valid.
    check: async (sql) => void (await ctx.sql.explain(await job(`SELECT * FROM (${withoutEnd(sql)}\n)`))),
    select: async (sql, maxRows) => ctx.sql.query(await job(withoutEnd(sql)), maxRows),
    named: (sql) =>
      new Set(
        readsOf(sql, tables).flatMap(({ layer, dataset, tables }) =>
          tables.map((table) => `${layer}.${sqlName({ dataset, table })}`),
        ),
      ),
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
    named: (sql) =>
      tablesIn(
        sql,
        tables.map(({ name }) => name),
      ),
    reads: () => [],
  };
}

/** Returns the first rows of a table, as samples. Empty for a source without SQL. */
export async function sampleOf(
  schema: LiveSchema,
  { name, columns }: LiveTable,
): Promise<Record<string, Json>[]> {
  const picked = columns.slice(0, 50).map((column) => quoteName(column.name)); // MySQL's session uses the same quotes
  if (picked.length === 0) return [];
  return (await schema.select(`SELECT ${picked.join(", ")} FROM ${name}`, SAMPLE_ROWS)).rows;
}

/** Returns the schema as text for a model. If it is very long, it is truncated and says so. */
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
