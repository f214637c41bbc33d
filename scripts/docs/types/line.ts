import type { SourceTable } from "../../../test/exact/table.ts";

/** One line of a table of types: a column of this type, with these values. */
export interface Line {
  /** How the column is declared at the source, or what the writer of its file calls it. */
  type: string;
  /** What the documents call it, where that is not `type`. */
  title?: string;
  /** As the source is given them, one a row. */
  values: readonly string[];
  /** As the documents show them, where that is otherwise. */
  shown?: readonly string[];
  /** A value that does not arrive as it is, in a row behind the values. */
  odd?: string;
  /** As the documents show it, where that is otherwise. */
  oddShown?: string;
}

/** What became of a line. */
export interface Answer {
  /** The type in the lake; for what becomes more than one column, all of them. */
  lake: string;
  /** The values of the line as `POST /query` writes them, as JSON. */
  wire: string[];
  /** What the run says of the odd value; null where it says nothing of the column. */
  told: string | null;
}

interface Column {
  name: string;
  dataType: string;
}

/** What a load of lines left behind. */
export interface Loaded {
  tables: readonly { name: string; columns: readonly Column[] }[];
  warnings: readonly string[];
  /** The rows of a SELECT. */
  query(sql: string): Promise<Record<string, unknown>[]>;
}

/** The dataset and the table that lines are loaded into. */
export const DATASET = "types";
export const TABLE = "rows";

/** The column of a line by its place. */
export const nameOf = (at: number): string => `c${at + 1}`;

const nothing = (row: number, { values, odd }: Line) => (row === values.length ? (odd ?? null) : null);

/** The rows that a source is given: a column for each line, NULL where a line has no value left. */
export function rowsOf(lines: readonly Line[]): (string | null)[][] {
  const height = Math.max(...lines.map(({ values, odd }) => values.length + (odd === undefined ? 0 : 1)));
  return Array.from({ length: height }, (_, row) =>
    lines.map((line) => line.values[row] ?? nothing(row, line)),
  );
}

/** A table of the lines, as the writers of the tests take it. */
export const tableOf = (lines: readonly Line[]): SourceTable => ({
  name: TABLE,
  columns: lines.map(({ type }, at) => ({ name: nameOf(at), type, kind: "text" })),
  rows: rowsOf(lines),
});

/** What became of each line. */
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
