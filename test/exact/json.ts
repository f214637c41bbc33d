import type { Written } from "./files-source.ts";
import type { SourceTable } from "./table.ts";

/** A table's rows as JSON objects. A NULL field is omitted in every second row. */
export const objectsOf = ({ columns, rows }: SourceTable): string[] =>
  rows.map((row, at) => {
    const fields = columns.flatMap(({ name }, column) => {
      const value = row[column] ?? (at % 2 === 0 ? null : "null");
      return value === null ? [] : [`"${name}":${value}`];
    });
    return `{${[`"id":${at + 1}`, ...fields].join(",")}}`;
  });

export const jsonOf = (table: SourceTable): Written => ({
  content: `[${objectsOf(table).join(",\n")}]`,
  values: table.rows,
});

export const linesOf = (table: SourceTable): Written => ({
  content: objectsOf(table)
    .map((line) => `${line}\n`)
    .join(""),
  values: table.rows,
});
