import { AppError } from "../../base/errors.ts";
import { OddValues } from "../../base/odd-values.ts";
import type { Extraction, ExtractRequest } from "../contract.ts";
import type { ServerLink } from "../sql/shape.ts";
import { SpareSession } from "../sql/spare-session.ts";
import { errorNumber } from "./failure.ts";
import { keyField, likenessOf } from "./keys.ts";
import { openSession, type Session } from "./session.ts";
import { findTable, type SourceTable } from "./tables.ts";
import { conditionText, cursorText, quoteName } from "./text.ts";
import { csvOf, type SentColumn, type SourceColumn } from "./types.ts";

/** The server's limit for one SELECT: the maximum duration of a run. */
const EXTRACT_TIMEOUT_MS = 86_400_000;

/** Error numbers caused by a statement's text or its values. */
const FAULTS_OF_TEXT = [
  1054, 1055, 1064, 1111, 1139, 1241, 1242, 1292, 1305, 1365, 1366, 1367, 1411, 1525, 1582, 3854,
];

/**
 * One table as CSV, in one read-only transaction on a snapshot.
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
  const session = (await spare?.take()) ?? (await openSession(link, EXTRACT_TIMEOUT_MS));
  try {
    const table = await findTable(session, request.spec, link.config.database, request);
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
        const open = isRead ? session : await openSession(link, EXTRACT_TIMEOUT_MS);
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
  const likeness = likenessOf(table.columns, request.keyOf);
  const sent = likeness ? [...columns, likeness.column] : columns;
  const select = selectText(table, sent, request);
  // Reports errors in the condition before reading starts.
  if (request.where) await session.rows(`EXPLAIN ${select}`);
  const leftOut = await countLeftOut(session, table, request);
  const odd = new OddValues();
  return {
    kind: "csv",
    columns: columns.map(({ name, dataType, nullable, text }) => ({
      name,
      dataType,
      nullable,
      ...(text ? { text } : {}),
    })),
    bytes: bytesOf(session, select, { columns: sent, odd, request, done }),
    odd,
    ...(likeness ? { key: keyField(link, likeness) } : {}),
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
  if (cursor && cursor.sort === null) {
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

function selectText(table: SourceTable, columns: readonly SentColumn[], request: ExtractRequest): string {
  const { range, where, maxRows } = request;
  const cursor = range ? table.columns.find((column) => column.name === range.field) : undefined;
  const conditions = [
    ...(where === null ? [] : [conditionText(where)]),
    ...(range && cursor ? rangeConditions(cursor, range) : []),
  ];
  return [
    `SELECT ${columns.map((column) => column.expression).join(", ")}`,
    `FROM ${quoteName(table.schema)}.${quoteName(table.table)}`,
    ...(conditions.length > 0 ? [`WHERE ${conditions.join(" AND ")}`] : []),
    ...(cursor && maxRows !== null ? [`ORDER BY ${ordered(cursor)}`] : []), // MySQL sorts NULL first
    ...(maxRows === null ? [] : [`LIMIT ${Math.max(0, Math.trunc(maxRows))}`]),
  ].join(" ");
}

/** What a cursor is compared as: text by its bytes, as in the load, and not by a collation. */
const ordered = ({ name, sort }: SourceColumn): string =>
  sort === "text" ? `CONVERT(${quoteName(name)} USING utf8mb4) COLLATE utf8mb4_bin` : quoteName(name);

function rangeConditions(column: SourceColumn, { from, to }: NonNullable<ExtractRequest["range"]>): string[] {
  const value = ordered(column);
  const before = to === null ? null : `${value} < ${cursorText(to, column)}`;
  if (from === null) return before === null ? [] : [`(${before} OR ${quoteName(column.name)} IS NULL)`];
  const after = `${value} >= ${cursorText(from, column)}`;
  // Invalid dates are returned like NULL: while the range has no start.
  return [after, ...(before === null ? [] : [before]), ...(isDated(column) ? [isDay(column)] : [])];
}

const isDated = ({ sort, dataType }: SourceColumn): boolean =>
  (sort === "date" || sort === "datetime") && dataType !== "VARCHAR";

function isDay({ name }: SourceColumn): string {
  const value = quoteName(name);
  return `DAYOFMONTH(${value}) BETWEEN 1 AND DAYOFMONTH(LAST_DAY(${value}))`;
}

/**
 * Counts the rows that a range with a start leaves out because their cursor is NULL or an invalid date: zero dates, and
 * those within the range. An index finds them.
 */
async function countLeftOut(session: Session, table: SourceTable, request: ExtractRequest): Promise<number> {
  const { range, where } = request;
  const cursor = range ? table.columns.find(({ name }) => name === range.field) : undefined;
  if (!cursor || !range || range.from === null) return 0;
  const none = cursor.nullable ? [`${quoteName(cursor.name)} IS NULL`] : [];
  if (isDated(cursor)) {
    const value = ordered(cursor);
    const first = cursor.dataType === "TIMESTAMPTZ" ? "1970-01-01 00:00:01" : "0001-01-01";
    none.push(`${value} < ${cursorText(first, cursor)}`);
    none.push(`(${value} >= ${cursorText(range.from, cursor)} AND (${isDay(cursor)}) IS NOT TRUE)`);
  }
  if (none.length === 0) return 0;
  const [row] = await session.rows<"n">(
    `SELECT COUNT(*) AS n FROM ${quoteName(table.schema)}.${quoteName(table.table)} WHERE (${none.join(" OR ")})${where === null ? "" : ` AND ${conditionText(where)}`}`,
  );
  return Number(row?.n ?? 0);
}

/** The error of a failed query. Invalid values or names are reported as the definition's if it supplies any. */
function explain(error: unknown, session: Session, request: ExtractRequest): unknown {
  const isOwn = request.where !== null || request.range !== null;
  if (error instanceof AppError || !isOwn || !FAULTS_OF_TEXT.includes(errorNumber(error))) {
    return session.failure(error);
  }
  const message = error instanceof Error ? error.message : "can't be parsed";
  return new AppError("definition_invalid", `The source rejected this condition: ${message}.`, {
    cause: error,
  });
}

async function* bytesOf(
  session: Session,
  select: string,
  {
    columns,
    odd,
    request,
    done,
  }: {
    columns: readonly SentColumn[];
    odd: OddValues;
    request: ExtractRequest;
    done(isWhole: boolean): Promise<void>;
  },
): AsyncGenerator<Uint8Array> {
  let isWhole = false;
  try {
    for await (const rows of session.stream(select)) yield* csvOf(rows, columns, odd);
    isWhole = true;
  } catch (error) {
    throw explain(error, session, request);
  } finally {
    await done(isWhole);
  }
}
