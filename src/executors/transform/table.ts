import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import { neededWhere } from "../../base/schema-rules.ts";
import { described, object, oneOf, optional, uuid } from "../../base/shape.ts";
import { countOf } from "../../lake/merge.ts";
import type { Provider } from "../../providers/contract.ts";
import type { TableCounts, TablePlan, TableTarget } from "../../providers/contract-tables.ts";
import type { Column, SqlFile, SqlSession } from "../../sql/contract.ts";
import { copyInto, parquet, quoteName, quoteText } from "../../sql/text.ts";
import type { RunContext } from "../contract.ts";
import { ahead } from "../extract/ahead.ts";
import { laterRowsWon } from "./work.ts";

export const TableOutput = object(
  {
    connectionId: described("ID of a PostgreSQL or MySQL connection", uuid()),
    table: described(
      "Table, as schema.table or only its name. Put names with special characters in double quotes",
      Type.String({ minLength: 1, maxLength: 400 }),
    ),
    writeDisposition: described(
      "append adds rows, replace replaces all rows in one transaction, merge replaces rows with the same primaryKey",
      oneOf(["replace", "append", "merge"], { default: "append" }),
    ),
    primaryKey: optional(
      described(
        "Columns that identify a row. Required for merge. A created table has them as its primary key",
        Type.Array(Type.String({ minLength: 1 }), { maxItems: 32 }),
      ),
    ),
    create: optional(
      described("Whether to create the table if it doesn't exist", Type.Boolean({ default: true })),
    ),
  },
  { title: "Table of a database", ...neededWhere("writeDisposition", "merge", "primaryKey") },
);
export type TableOutput = Static<typeof TableOutput>;

export const tableFaults = ({ table, writeDisposition, primaryKey = [] }: TableOutput) => [
  ...(writeDisposition === "merge" && primaryKey.length === 0
    ? [{ path: ["primaryKey"], message: "A merge needs a primaryKey." }]
    : []),
  ...(/(^|[."`])_weir_loads["`]?$/i.test(table)
    ? [{ path: ["table"], message: "Weir records its loads in _weir_loads. Use another name." }]
    : []),
];

/** Returns why a provider's tables can't be written. Null if they can. */
export const tableRefusal = ({ tables, title }: Provider): string | null =>
  tables?.writes ? null : `Tables of ${title} can't be written.`;

/** The destination table, and the result of an earlier attempt of this run. */
export async function openTable(ctx: RunContext, output: TableOutput): Promise<TableTarget> {
  const { connectionId, table, writeDisposition, primaryKey = [], create = true } = output;
  const { provider, link } = await ctx.openConnection(connectionId, "write");
  const writes = provider.tables?.writes;
  if (!writes) throw new AppError("definition_invalid", tableRefusal(provider) ?? "");
  ctx.progress({ phase: "connect" });
  return writes.open(link, { loadId: ctx.run.id, table, writeDisposition, primaryKey, create });
}

/** Sends the rows after checking that all of them can be written exactly. Passes omitted ones to `warn`. */
export async function intoTable(
  ctx: RunContext,
  target: TableTarget,
  { columns, files }: { columns: readonly Column[]; files: readonly SqlFile[] },
  { writeDisposition }: Pick<TableOutput, "writeDisposition">,
  warn: (text: string) => void,
): Promise<TableCounts> {
  const plan = target.plan(columns);
  const folder = await ctx.workFolder();
  const session = await ctx.sql.session({ folders: [folder], signal: ctx.signal });
  try {
    ctx.progress({ phase: "check" });
    await check(session, target.name, plan, files);
    const sent = await distinct(session, plan, files, folder, warn);
    const total = sent.reduce((sum, { rows }) => sum + rows, 0);
    const report = (current: number) => ctx.progress({ phase: "write", current, total, unit: "rows" });
    report(0);
    const counts = await target.write(
      plan,
      bytesOf(partsOf(session, plan, sent, folder), report, ctx.signal),
    );
    const { inserted, updated, deleted } = counts;
    ctx.log("info", `${target.name}: ${inserted} inserted, ${updated} updated, ${deleted} deleted.`);
    const lost = total - inserted;
    if (lost > 0 && writeDisposition !== "merge")
      warn(
        `The database inserted ${inserted} of ${total} rows into ${target.name}. A trigger or a rule may have left out the others, or stored them elsewhere.`,
      );
    return counts;
  } finally {
    await session.close();
  }
}

/** Throws `schema_contract_violation` for the first column with values that can't be written unchanged. */
async function check(session: SqlSession, table: string, { checks }: TablePlan, files: readonly SqlFile[]) {
  if (checks.length === 0 || files.length === 0) return;
  const counts = checks.map(({ condition }, at) => `count(*) FILTER (WHERE ${condition}) AS n${at}`);
  const from = `FROM ${parquet(files.map(({ path }) => path))}`;
  const [found = {}] = await session.run(`SELECT ${counts.join(", ")} ${from}`);
  const at = checks.findIndex((_, index) => Number(found[`n${index}`]) > 0);
  const failed = checks[at];
  if (!failed) return;
  const { column, condition, why } = failed;
  const value = `left(CAST(${quoteName(column)} AS VARCHAR), 100)`;
  const [first] = await session.run(`SELECT ${value} AS v ${from} WHERE ${condition} LIMIT 1`);
  const count = Number(found[`n${at}`]);
  const example = typeof first?.v === "string" ? `, such as ${first.v}` : "";
  throw new AppError(
    "schema_contract_violation",
    `The column "${column}" can't go into ${table} as it is: ${count === 1 ? "1 row has" : `${count} rows have`} ${why}${example}. Nothing was written.`,
    { details: { table, column, rows: count } },
  );
}

/** Keeps the last of several rows with the same key, as a merge in the lake does. */
async function distinct(
  session: SqlSession,
  { key }: TablePlan,
  files: readonly SqlFile[],
  folder: string,
  warn: (text: string) => void,
): Promise<readonly SqlFile[]> {
  if (key.length === 0 || files.length === 0) return files;
  const from = `FROM ${parquet(files.map(({ path }) => path))}`;
  const keys = key.map(quoteName).join(", ");
  const count = await countOf(session, `SELECT count(*) FROM (SELECT DISTINCT ${keys} ${from})`);
  const lost = files.reduce((sum, { rows }) => sum + rows, 0) - count;
  if (lost === 0) return files;
  const last = `SELECT * EXCLUDE weir_row FROM (SELECT *, row_number() OVER () AS weir_row ${from}) QUALIFY row_number() OVER (PARTITION BY ${keys} ORDER BY weir_row DESC) = 1`;
  const written = await session.run(copyInto(last, join(folder, "distinct"), { isPassing: true }));
  warn(laterRowsWon(lost));
  return written.map(({ filename, count, file_size_bytes: bytes }) => ({
    path: String(filename),
    rows: Number(count),
    bytes: Number(bytes),
  }));
}

interface Part {
  path: string;
  rows: number;
}

/** Rows of each file as text, in the work folder. The next one is created while one is sent. */
async function* parts(
  session: SqlSession,
  plan: TablePlan,
  files: readonly SqlFile[],
  folder: string,
): AsyncGenerator<Part> {
  const fields = plan.fields.map(({ sql }, at) => `${sql} AS c${at}`).join(", ");
  const quoted = plan.fields.flatMap(({ isQuoted }, at) => (isQuoted ? [`c${at}`] : []));
  const csv = `HEADER false, NULLSTR ''${quoted.length > 0 ? `, FORCE_QUOTE (${quoted.join(", ")})` : ""}`;
  const layout = plan.format === "csv" ? csv : "HEADER false, QUOTE '', ESCAPE '', DELIMITER E'\\x01'";
  for (const [number, file] of files.entries()) {
    const path = join(folder, `part-${number}`);
    await session.run(
      `COPY (SELECT ${fields} FROM ${parquet([file.path])}) TO ${quoteText(path)} (FORMAT csv, ${layout})`,
    );
    yield { path, rows: file.rows };
  }
}
const partsOf = (...of: Parameters<typeof parts>) => ahead(parts(...of));

const READ_BYTES = 256 * 1024;

async function* bytesOf(
  texts: AsyncIterable<Part>,
  report: (rows: number) => void,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let sent = 0;
  for await (const { path, rows } of texts) {
    for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES })) {
      signal.throwIfAborted();
      yield chunk as Buffer;
    }
    await rm(path);
    sent += rows;
    report(sent);
  }
}
