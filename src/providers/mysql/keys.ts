import type { ExtractRequest, KeyField } from "../contract.ts";
import type { ServerLink } from "../sql/shape.ts";
import { openSession } from "./session.ts";
import { quoteName, quoteText } from "./text.ts";
import { pads, type SentColumn, type SourceColumn } from "./types.ts";

/** Key columns in which equal values may have different bytes, and their normalized form. */
interface Likeness {
  columns: SourceColumn[];
  tag: string;
  /** SQL expression of a text that is the same for equal values; `sqlOf` is the SQL of a column's value. */
  expression(sqlOf: (column: SourceColumn) => string): string;
  column: SentColumn;
}

/** Null if all key columns are compared by their bytes. */
export function likenessOf(
  columns: readonly SourceColumn[],
  keyOf: ExtractRequest["keyOf"],
): Likeness | null {
  const key = keyOf?.(columns.map(({ name }) => name)) ?? [];
  const parts = columns.filter(({ name, collation }) => collation !== null && key.includes(name));
  if (parts.length === 0) return null;
  const how = parts.map(({ name, collation }) => [name, collation?.name]);
  const tag = `${Bun.hash.xxHash32(JSON.stringify(how)).toString(36)}:`;
  const expression: Likeness["expression"] = (sqlOf) => {
    const weights = parts.map((column) => `COALESCE(HEX(${weightOf(column, sqlOf(column))}), '-')`);
    return `CONCAT('${tag}', ${weights.join(", '.', ")})`;
  };
  return {
    columns: parts,
    tag,
    expression,
    column: {
      name: "_dlt_key",
      expression: expression(({ name }) => quoteName(name)),
      field: (cell) => cell.toString("latin1"),
    },
  };
}

/** A weight is padded with blanks, even if the collation ignores trailing blanks. */
const weightOf = ({ collation }: SourceColumn, value: string): string =>
  `WEIGHT_STRING(${collation && pads(collation) ? `RTRIM(${value})` : value})`;

const TIMEOUT_MS = 60_000;

/** The SELECT field for it, and the same for values that may no longer be in the table. */
export const keyField = (link: ServerLink, { columns, tag, expression }: Likeness): KeyField => ({
  columns: columns.map(({ name }) => name),
  tag,
  async *of(batches) {
    const session = await openSession(link, TIMEOUT_MS);
    try {
      for await (const rows of batches) {
        const texts = rows.map((row, at) => {
          const sqlOf = (column: SourceColumn) => literal(row[columns.indexOf(column)] ?? null, column);
          return `${expression(sqlOf)} AS k${at}`;
        });
        const [found] = await session.rows<string>(`SELECT ${texts.join(", ")}`);
        yield rows.map((_, at) => found?.[`k${at}`] ?? "");
      }
    } catch (error) {
      throw session.failure(error);
    } finally {
      await session.close();
    }
  },
});

function literal(text: string | null, { collation }: SourceColumn): string {
  if (text === null || collation === null) return "NULL";
  return `CONVERT(${quoteText(text)} USING ${collation.charset}) COLLATE ${collation.name}`;
}
