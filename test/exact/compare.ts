import { type Cell, isSame, type Kind } from "./canon.ts";
import type { LakeRow, LakeTables } from "./lake.ts";
import type { Exact } from "./parquet.ts";
import type { Made, SourceTable } from "./table.ts";
import { rejectedOf, type Told, toldAsTextOf, toldOf } from "./told.ts";

/** A difference between lake and source that no warning counts. */
export interface Difference {
  table: string;
  /** The column's index. Null if it is about rows or the table. */
  column: number | null;
  type: string;
  /** The row's index. Null if it is about all of them. */
  row: number | null;
  source: string;
  lake: string;
  why: string;
}

/** A column's value, or that of the variant column with it. */
export function cellOf(row: LakeRow, name: string): { type: string; value: Exact; column: string } {
  const own = { type: row.types.get(name) ?? "none", value: row.values[name] ?? null, column: name };
  if (own.value !== null) return own;
  for (const [variant, type] of row.types) {
    const value = row.values[variant] ?? null;
    if (variant.startsWith(`${name}__v_`) && value !== null) return { type, value, column: variant };
  }
  return own;
}

export function holds(kind: Kind, cell: Cell, type: string, value: Exact): boolean {
  try {
    return isSame(kind, cell, type, value);
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

export const shown = (value: Cell | Exact): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 120)}… (${text.length} letters)` : text;
};

/** Rows by their `id`. Null if an ID isn't the source's or is duplicated. */
export function rowsById(rows: readonly LakeRow[], count: number): Map<number, LakeRow> | null {
  const byId = new Map<number, LakeRow>();
  for (const row of rows) {
    const id = Number(cellOf(row, "id").value);
    if (!Number.isInteger(id) || id < 1 || id > count || byId.has(id)) return null;
    byId.set(id, row);
  }
  return byId;
}

const FOR_ALL = new Set(
  "bool int bigint decimal float double date time timestamp timestamptz text json uuid bytes".split(" "),
);

/** Returns whether both Parquet and Iceberg v2 have the type. */
const isForAll = (type: string): boolean => FOR_ALL.has(type.replaceAll("[]", ""));

/** Returns the differences between the lake and a table without nesting. */
export function compare(table: SourceTable, made: Made, lake: LakeTables, told: Told): Difference[] {
  const of = (more: Partial<Difference> & { why: string }): Difference => ({
    table: table.name,
    column: null,
    type: "",
    row: null,
    source: "",
    lake: "",
    ...more,
  });
  const byId = rowsById(lake.get(table.name) ?? [], made.values.length);
  if (byId === null) return [of({ why: "rows that the source has not" })];
  const missing = made.values.length - byId.size;
  const found: Difference[] = [];
  if (missing > rejectedOf(told, table.name)) found.push(of({ why: `${missing} rows are missing` }));
  for (const [at, { name, type, kind }] of table.columns.entries()) {
    const lost: Difference[] = [];
    for (const [row, cells] of made.values.entries()) {
      const there = byId.get(row + 1);
      if (!there) continue;
      const cell = cells[at] ?? null;
      const lakes = cellOf(there, name);
      if (lakes.value !== null && !isForAll(lakes.type)) {
        found.push(
          of({
            column: at,
            type,
            row,
            source: shown(cell),
            lake: `${shown(lakes.value)} (${lakes.type})`,
            why: "a type that Iceberg lacks",
          }),
        );
        continue;
      }
      const isOdd = made.odd?.has(`${row}:${at}`) && lakes.type !== "text";
      if (!isOdd && holds(kind, cell, lakes.type, lakes.value)) continue;
      const difference = of({
        column: at,
        type,
        row,
        source: shown(cell),
        lake: `${shown(lakes.value)} (${lakes.type})`,
        why: "changed",
      });
      if (lakes.value === null || isOdd) lost.push(difference);
      else found.push(difference);
    }
    const counted = toldOf(told, table.name, name);
    if (lost.length > counted) {
      const why = counted === 0 ? "not told" : `${counted} of ${lost.length} told`;
      found.push(...lost.map((difference) => ({ ...difference, why })));
    } else if (lost.length < counted) {
      found.push(of({ column: at, type, why: `${counted} told, ${lost.length} lost` }));
    }
    const texts = toldAsTextOf(told, table.name, name);
    const turned = kind === "cell" ? turnedOf(made.values.map((cells) => cells[at] ?? null)) : 0;
    if (texts !== turned)
      found.push(of({ column: at, type, why: `${texts} told as text, ${turned} turned into text` }));
  }
  return found;
}

/** Returns how many cells of a sheet's column only a text can hold, because the column has cells of other kinds too. */
function turnedOf(cells: readonly Cell[]): number {
  const kinds = cells.flatMap((cell) => (typeof cell === "string" ? cell.slice(0, 1) : []));
  const counted = kinds.filter((kind) => "nsbdcz".includes(kind));
  return new Set(counted).size > 1 ? counted.filter((kind) => kind !== "s").length : 0;
}
