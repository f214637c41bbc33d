import type { ExtractRequest, KeyField } from "../contract.ts";
import type { ServerLink } from "../sql/shape.ts";
import { valueExpression } from "./names.ts";
import { openSession } from "./session.ts";
import type { SourceColumn } from "./types.ts";

/** Key columns in which equal values may have different bytes, and their normalized form. */
interface Likeness {
  columns: string[];
  tag: string;
  /** SQL expression of a text that is the same for equal values; `sqlOf` is the SQL of a column's value. */
  expression(sqlOf: (column: string) => string): string;
}

/** Null if all key columns are compared by their bytes. */
export function likenessOf(
  columns: readonly SourceColumn[],
  keyOf: ExtractRequest["keyOf"],
): Likeness | null {
  const key = keyOf?.(columns.map(({ name }) => name)) ?? [];
  const parts = columns.filter(
    ({ name, base, collation }) => key.includes(name) && (base === "citext" || collation !== null),
  );
  if (parts.length === 0) return null;
  const how = parts.map(({ name, base, collation }) => [name, base, collation]);
  const tag = `${Bun.hash.xxHash32(JSON.stringify(how)).toString(36)}:`;
  return {
    columns: parts.map(({ name }) => name),
    tag,
    expression(sqlOf) {
      const texts = parts.map((column) => `coalesce(${textOf(column, sqlOf(column.name))}, '-')`);
      return `'${tag}' || ${texts.join(" || '.' || ")}`;
    },
  };
}

/** A collation's sort keys are available only as hashes, of which two of 64 bits are combined. */
function textOf({ base, collation }: SourceColumn, value: string): string {
  if (base === "citext" || collation === null) {
    return `encode(convert_to(lower(${value}::text COLLATE "default"), 'UTF8'), 'hex')`;
  }
  const text = `${base === "bpchar" ? `${value}::bpchar` : value}::text COLLATE ${collation.name}`;
  return `to_hex(hashtextextended(${text}, 0)) || '_' || to_hex(hashtextextended(${text}, 1))`;
}

const TIMEOUT_MS = 60_000;

/** The COPY field for it, and the same for values that may no longer be in the table. */
export const keyField = (link: ServerLink, { columns, tag, expression }: Likeness): KeyField => ({
  columns,
  tag,
  async *of(batches) {
    const session = await openSession(link, TIMEOUT_MS);
    const text = expression((column) => `(v ->> ${columns.indexOf(column)})`);
    try {
      for await (const rows of batches) {
        const list = valueExpression(
          rows.map((row) => [...row]),
          "jsonb",
        );
        const found = await session.rows<{ text: string }>(
          `select ${text} as text from jsonb_array_elements(${list}) with ordinality as t(v, n) order by n`,
        );
        yield found.map((row) => row.text);
      }
    } catch (error) {
      throw session.failure(error);
    } finally {
      await session.close();
    }
  },
});
