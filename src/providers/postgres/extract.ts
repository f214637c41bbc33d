import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { OddValues } from "../../base/odd-values.ts";
import { parameterValue } from "../../base/parameter-numbers.ts";
import type { Extraction, ExtractRequest } from "../contract.ts";
import type { ServerLink } from "../sql/shape.ts";
import { SpareSession } from "../sql/spare-session.ts";
import { sqlState } from "./failure.ts";
import { keyField, likenessOf } from "./keys.ts";
import { fillParameters, quoteName, valueExpression } from "./names.ts";
import { openSession, type Session } from "./session.ts";
import { findTable, type SourceTable } from "./tables.ts";
import { oddField, type Passage, passage, type SourceColumn } from "./types.ts";

/** The server's limit for one COPY: the maximum duration of a run. */
const COPY_TIMEOUT_MS = 86_400_000;

/**
 * One table as CSV bytes straight from the server's COPY, in one read-only transaction.
 *
 * With `range`, rows whose cursor is NULL are included only if `from` is null; with `maxRows` too, rows are sorted by
 * the cursor, so that the rows left out come after those returned. Throws `not_found`, `cursor_field_missing`,
 * `definition_invalid` for a wrong `where` or value, `timeout`, `upstream`.
 */
export async function extractTable(
  link: ServerLink,
  request: ExtractRequest,
  spare?: SpareSession<Session>,
): Promise<Csv> {
  const session = (await spare?.take()) ?? (await openSession(link, COPY_TIMEOUT_MS));
  try {
    const table = await findTable(session, request.spec, link.config.database);
    const { keys } = request;
    if (!keys)
      return await read(link, session, table, request, (isWhole) =>
        spare && isWhole ? spare.give(session) : session.close(),
      );
    let isRead = false;
    const rows = await read(link, session, table, request, async (isWhole) => {
      isRead = isWhole;
      if (!isWhole) await session.close();
    });
    const keysRequest = { ...request, columns: keys, range: null, maxRows: null };
    return {
      ...rows,
      // After an incomplete read, another session is used. Rows added since then do no harm: they aren't in the lake yet.
      async keys() {
        const open = isRead ? session : await openSession(link, COPY_TIMEOUT_MS);
        return read(link, open, table, keysRequest, () => open.close());
      },
      close: () => session.close(),
    };
  } catch (error) {
    await session.close();
    throw explain(error, session, request);
  }
}

/** Reads tables over one connection, each in its own transaction. */
export function openExtractor() {
  const spare = new SpareSession<Session>();
  return {
    extract: (link: ServerLink, request: ExtractRequest) => extractTable(link, request, spare),
    close: () => spare.close(),
  };
}

type Csv = Extraction & { kind: "csv" };

/** Calls `done` at the end, with whether all rows were read. */
async function read(
  link: ServerLink,
  session: Session,
  table: SourceTable,
  request: ExtractRequest,
  done: (isWhole: boolean) => Promise<void>,
): Promise<Csv> {
  const columns = chosen(table, request);
  const passages = columns.map((column) => passageOf(column, request));
  const odd = oddField(columns, passages);
  const likeness = likenessOf(table.columns, request.keyOf);
  const fields = passages.map(({ expression }) => expression);
  if (likeness) fields.push(likeness.expression(quoteName));
  // A table without columns can still have rows.
  const isTold = odd !== null || columns.length === 0;
  const select = await selectText(session, table, isTold ? [...fields, odd ?? "null"] : fields, request);
  const leftOut = await countLeftOut(session, table, request);
  const bytes = await session.copy(`COPY (${select}\n) TO STDOUT (FORMAT csv, ENCODING 'UTF8')`);
  return {
    kind: "csv",
    columns: columns.map(({ name, nullable }, at) => {
      const { dataType = "VARCHAR", text } = passages[at] ?? {};
      return { name, dataType, nullable, ...(text ? { text } : {}) };
    }),
    bytes: rowsOf(session, bytes, request, done),
    ...(likeness ? { key: keyField(link, likeness) } : {}),
    ...(isTold
      ? {
          odd: new OddValues(),
          oddField: new Map(columns.map(({ name }, at) => [name, passages[at]?.odd?.what ?? ""])),
        }
      : {}),
    ranged: true,
    leftOut,
  };
}

function chosen(table: SourceTable, request: ExtractRequest): SourceColumn[] {
  const byName = new Map(table.columns.map((column) => [column.name, column]));
  const { range } = request;
  const cursor = range && byName.get(range.field);
  if (range && !cursor) {
    throw new AppError(
      "cursor_field_missing",
      `${request.spec} has no column "${range.field}", which is to be its cursor.`,
      { details: { table: request.spec, field: range.field } },
    );
  }
  if (cursor && !hasOrder(cursor, request)) {
    throw new AppError(
      "definition_invalid",
      `The column "${cursor.name}" is ${cursor.type}, which has no order that a cursor could follow.`,
    );
  }
  if (request.columns === null) return table.columns;
  return request.columns.map((name) => {
    const column = byName.get(name);
    if (!column) throw new AppError("definition_invalid", `${request.spec} has no column "${name}".`);
    return column;
  });
}

const passageOf = (column: SourceColumn, { types, keyOf }: ExtractRequest): Passage =>
  passage(column, {
    asText: types?.get(column.name) === "VARCHAR",
    isKey: keyOf?.([column.name]).length === 1,
  });

async function selectText(
  session: Session,
  table: SourceTable,
  fields: readonly string[],
  request: ExtractRequest,
): Promise<string> {
  const from = `${quoteName(table.schema)}.${quoteName(table.table)}`;
  const cursor = table.columns.find(({ name }) => name === request.range?.field);
  const conditions = [
    await whereText(session, from, request.where),
    ...(cursor ? rangeConditions(cursor, request) : []),
  ].filter((condition) => condition !== null);
  return [
    `SELECT ${fields.join(", ")} FROM ${from}`,
    ...(conditions.length > 0 ? [`WHERE ${conditions.join(" AND ")}`] : []),
    ...(cursor && request.maxRows !== null ? [`ORDER BY ${orderOf(cursor, request)}`] : []),
    ...(request.maxRows === null ? [] : [`LIMIT ${Math.max(0, Math.trunc(request.maxRows))}`]),
  ].join(" ");
}

/** Counts the rows that a range with a start leaves out because their cursor is NULL or can't be ordered. */
async function countLeftOut(session: Session, table: SourceTable, request: ExtractRequest): Promise<number> {
  const { range, where } = request;
  const cursor = table.columns.find(({ name }) => name === range?.field);
  if (!cursor || !range || range.from === null) return 0;
  const odd = unordered(cursor, request);
  const { sql, of } = comparable(cursor, request);
  // NaN is the greatest number. An index finds it by that, and the condition alone would read the whole table.
  const found = odd && cursor.base === "numeric" ? `(${sql} >= ${of(range.from)} AND ${odd})` : odd;
  const none = [...(cursor.nullable ? [`${quoteName(cursor.name)} IS NULL`] : []), ...(found ? [found] : [])];
  if (none.length === 0) return 0;
  const from = `${quoteName(table.schema)}.${quoteName(table.table)}`;
  const condition = await whereText(session, from, where);
  const [row] = await session.rows<{ rows: string }>(
    `SELECT count(*) AS rows FROM ${from} WHERE (${none.join(" OR ")})${condition === null ? "" : ` AND ${condition}`}`,
  );
  return Number(row?.rows ?? 0);
}

/**
 * The condition with its parameters filled in, or null.
 *
 * The server first parses it as the condition of a SELECT. That reports errors, returns the types of its parameters,
 * and proves that its parentheses are balanced, so that within COPY's own parentheses it can't become an option of COPY
 * or a second statement.
 */
async function whereText(
  session: Session,
  from: string,
  where: ExtractRequest["where"],
): Promise<string | null> {
  if (where === null) return null;
  const oids = await session
    .parameterTypes(`SELECT 1 FROM ${from} WHERE (${where.sql}\n)`)
    .catch((error: unknown) => {
      if (!/^(42|22|0A)/.test(sqlState(error))) throw error;
      const message = error instanceof Error ? error.message : "can't be parsed";
      throw new AppError("definition_invalid", `The condition "where" is wrong: ${message}.`, {
        cause: error,
      });
    });
  if (oids.length !== where.parameters.length) {
    throw new AppError(
      "definition_invalid",
      `The condition "where" has ${oids.length} parameters, and ${where.parameters.length} values are given.`,
    );
  }
  const types = await session.rows<{ type: string }>(
    `select pg_catalog.format_type(oid, null) as type
       from unnest($1::text::oid[]) with ordinality as given (oid, position) order by position`,
    [`{${oids.join(",")}}`],
  );
  return `(${fillParameters(where.sql, (position) =>
    valueExpression(
      parameterValue(where.parameters[position - 1] ?? null),
      types[position - 1]?.type ?? "text",
    ),
  )}\n)`;
}

/** The cursor and a value as the load compares them: text by its bytes, not by a collation. */
function comparable(column: SourceColumn, request: ExtractRequest) {
  const name = quoteName(column.name);
  const { dataType, text } = passageOf(column, request);
  if (dataType !== "VARCHAR" || text === "number" || text === "digits") {
    return { sql: name, of: (value: Json) => valueExpression(value, column.castType) };
  }
  const type = column.base === "bpchar" ? "bpchar::text" : "text"; // trailing blanks don't count
  return { sql: `${name}::text COLLATE "C"`, of: (value: Json) => valueExpression(value, type) };
}

/** Types whose texts sort like their values. */
const ORDERED_AS_TEXT = ["bool", "date", "time", "timestamp", "timestamptz", "uuid"];

/** False if the source sorts differently from the values that are sent. */
function hasOrder(column: SourceColumn, request: ExtractRequest): boolean {
  const { dataType, text } = passageOf(column, request);
  if (dataType !== "VARCHAR") return !/^(JSON|BLOB)$|\[\]$/.test(dataType);
  return text !== undefined || column.category === "S" || ORDERED_AS_TEXT.includes(column.base);
}

/** Condition for cursor values that can't be ordered. */
function unordered(column: SourceColumn, request: ExtractRequest): string | undefined {
  const { odd, orderless } = passageOf(column, request);
  return odd?.condition ?? orderless;
}

/** Values that become NULL are treated like NULL: included only if the range has no start. */
function rangeConditions(column: SourceColumn, request: ExtractRequest): string[] {
  const { from, to } = request.range ?? { from: null, to: null };
  const { sql, of } = comparable(column, request);
  const odd = unordered(column, request);
  const before = to === null ? null : `${sql} < ${of(to)}`;
  if (from === null) {
    return before === null ? [] : [`(${before} OR ${sql} IS NULL${odd ? ` OR ${odd}` : ""})`];
  }
  return [`${sql} >= ${of(from)}`, ...(before === null ? [] : [before]), ...(odd ? [`NOT (${odd})`] : [])];
}

function orderOf(column: SourceColumn, request: ExtractRequest): string {
  const odd = unordered(column, request);
  const first = odd && request.range?.from === null ? `(${odd}) IS TRUE DESC, ` : "";
  return `${first}${comparable(column, request).sql} NULLS FIRST`;
}

/**
 * The error of a failed query. Invalid values or names are reported as the definition's if it supplies any: a cursor
 * value of the wrong type, a division by zero in the condition.
 */
function explain(error: unknown, session: Session, request: ExtractRequest): unknown {
  const state = sqlState(error);
  const conditional = request.where !== null || request.range !== null;
  if (error instanceof AppError || !conditional || !/^(22|42)/.test(state) || state === "42501") {
    return session.failure(error);
  }
  const message = error instanceof Error ? error.message : "can't be parsed";
  return new AppError("definition_invalid", `The source rejected this condition: ${message}.`, {
    cause: error,
  });
}

async function* rowsOf(
  session: Session,
  bytes: AsyncIterable<Uint8Array>,
  request: ExtractRequest,
  done: (isWhole: boolean) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  let isWhole = false;
  try {
    yield* bytes;
    isWhole = true;
  } catch (error) {
    throw explain(error, session, request);
  } finally {
    await done(isWhole);
  }
}
