import type { SourceTable } from "../../../test/exact/table.ts";

/** One line of a table of types: a column of this type, with these values. */
export interface Line {
  /** How the column is declared at the source, or what the library that writes its file calls it. */
  type: string;
  /** The name in the documents, if it isn't `type`. */
  title?: string;
  /** As given to the source, one per row. */
  values: readonly string[];
  /** As the documents show them, if different. */
  shown?: readonly string[];
  /** A value that doesn't arrive unchanged, in a row after the values. */
  odd?: string;
  /** As the documents show it, if different. */
  oddShown?: string;
}

/** Result of a line. */
export interface Answer {
  /** The type in the lake. If it becomes several columns, all of them. */
  lake: string;
  /** The line's values in the response of `POST /query`, as JSON. */
  wire: string[];
  /** The run's warning about the odd value. Null if there is none for the column. */
  told: string | null;
}

interface Column {
  name: string;
  dataType: string;
}

/** The tables loaded from lines. */
export interface Loaded {
  tables: readonly { name: string; columns: readonly Column[] }[];
  warnings: readonly string[];
  /** Returns the rows of a SELECT. */
  query(sql: string): Promise<Record<string, unknown>[]>;
}

/** The dataset and the table that lines are loaded into. */
export const DATASET = "types";
export const TABLE = "rows";

/** Returns the column of a line by its index. */
export const nameOf = (at: number): string => `c${at + 1}`;

const nothing = (row: number, { values, odd }: Line) => (row === values.length ? (odd ?? null) : null);

/** Returns the rows for a source: a column for each line, NULL after a line's last value. */
export function rowsOf(lines: readonly Line[]): (string | null)[][] {
  const height = Math.max(...lines.map(({ values, odd }) => values.length + (odd === undefined ? 0 : 1)));
  return Array.from({ length: height }, (_, row) =>
    lines.map((line) => line.values[row] ?? nothing(row, line)),
  );
}

/** A table of the lines, in the form that the tests' writers use. */
export const tableOf = (lines: readonly Line[]): SourceTable => ({
  name: TABLE,
  columns: lines.map(({ type }, at) => ({ name: nameOf(at), type, kind: "text" })),
  rows: rowsOf(lines),
});

/** Returns the result of each line. */
export async function answersOf(lines: readonly Line[], loaded: Loaded): Promise<Answer[]> {
  const root = loaded.tables.find(({ name }) => name === TABLE);
  const rows = await loaded.query(`SELECT * FROM raw.${DATASET}__${TABLE} ORDER BY CAST(id AS INTEGER)`);
  return Promise.all(
    lines.map(async ({ values }, at) => {
      const name = nameOf(at);
      const isOf = (column: Column) => column.name === name || column.name.startsWith(`${name}__`);
      const columns = root?.columns.filter(isOf) ?? [];
      const child = loaded.tables.find((table) => table.name === `${TABLE}__${name}`);
      const own = child?.columns.filter((column) => !column.name.startsWith("_dlt_")) ?? [];
      const items = child ? await loaded.query(`SELECT * FROM raw.${DATASET}__${child.name}`) : [];
      return {
        lake: [
          ...columns.map((column) => typeOf(column, name)),
          ...(child
            ? [
                `table \`…__field\` (${own.map((column) => `\`${column.name}\` ${column.dataType}`).join(", ")})`,
              ]
            : []),
        ].join(", "),
        wire: [
          ...values.flatMap((_, row) => columns.map((column) => JSON.stringify(rows[row]?.[column.name]))),
          ...items.flatMap((row) => own.map((column) => JSON.stringify(row[column.name]))),
        ],
        told: toldOf(name, loaded.warnings),
      };
    }),
  );
}

/** Columns of an object are called `field__a` in the documents. */
const typeOf = ({ name, dataType }: Column, line: string): string =>
  name === line ? dataType : `\`field${name.slice(line.length)}\` ${dataType}`;

function toldOf(name: string, warnings: readonly string[]): string | null {
  const own = warnings.flatMap((text) => new RegExp(`^${TABLE}\\.${name}: (.*)$`, "s").exec(text)?.[1] ?? []);
  if (own.length === 0) return null;
  return own.map((text) => text.replace(/^\d+ values? /, "").replace(/ \(".*"\)\.$/s, "")).join("; ");
}
