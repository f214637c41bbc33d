import { cellOf, type Difference, holds, rowsById, shown } from "./compare.ts";
import type { LakeRow, LakeTables } from "./lake.ts";
import { parseRaw, type Raw, rawText } from "./raw-json.ts";
import type { Made, SourceTable } from "./table.ts";
import { rejectedOf, type Told, toldOf } from "./told.ts";

/** Where in the lake a part of a row belongs. */
interface Spot {
  table: string;
  row: LakeRow;
  column: string;
}

/** A part of a row that differs in the lake. `isLost` if it has nothing. */
interface Miss {
  spot: Pick<Spot, "table" | "column">;
  source: string;
  lake: string;
  isLost: boolean;
}

const fieldName = (key: string): string => key.toLowerCase();

/**
 * Returns differences between the lake and rows of JSON: an object's fields are columns `a__b`,
 * a list is rows of the table `parent__a` with its items in order; either may be JSON in a column of its own.
 */
export function compareNested(table: SourceTable, made: Made, lake: LakeTables, told: Told): Difference[] {
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
  const children = new Children(lake);
  for (const [at, { name, type }] of table.columns.entries()) {
    const lost = new Map<string, Difference[]>();
    for (const [index, cells] of made.values.entries()) {
      const row = byId.get(index + 1);
      if (!row) continue;
      const text = cells[at] as string | null;
      const spot = { table: table.name, row, column: name };
      for (const miss of missesOf(text === null ? null : parseRaw(text), spot, children)) {
        const { source, lake: there, isLost } = miss;
        const one = of({ column: at, type, row: index, source, lake: there, why: "changed" });
        if (!isLost) found.push(one);
        else {
          const key = `${miss.spot.table}.${miss.spot.column}`;
          lost.set(key, [...(lost.get(key) ?? []), one]);
        }
      }
    }
    for (const [place, misses] of lost) {
      const [where = "", column = ""] = place.split(".");
      const counted = toldOf(told, where, column);
      const why = counted === 0 ? "not told" : `${counted} of ${misses.length} told`;
      if (counted < misses.length) found.push(...misses.map((one) => ({ ...one, why })));
    }
    if (isMixedText(table, at, byId)) {
      found.push(
        of({ column: at, type, why: "texts and other kinds can't be told apart in a column of text" }),
      );
    }
  }
  return found;
}

/** Rows of child tables by the row they belong to, in order. */
class Children {
  readonly #byParent = new Map<string, Map<string, LakeRow[]>>();

  constructor(readonly lake: LakeTables) {}

  of(table: string, parent: LakeRow): LakeRow[] {
    const id = parent.values._dlt_id;
    return typeof id === "string" ? (this.#table(table).get(id) ?? []) : [];
  }

  #table(table: string): Map<string, LakeRow[]> {
    const known = this.#byParent.get(table);
    if (known) return known;
    const rows = (this.lake.get(table) ?? []).toSorted((a, b) => place(a) - place(b));
    const byParent = Map.groupBy(rows, ({ values }) => String(values._dlt_parent_id));
    this.#byParent.set(table, byParent);
    return byParent;
  }
}

const place = ({ values }: LakeRow): number => Number(values._dlt_list_idx);

function missesOf(value: Raw, spot: Spot, children: Children): Miss[] {
  const there = cellOf(spot.row, spot.column);
  const whole = holds("raw", rawText(value), there.type, there.value);
  if (whole) return [];
  const isPart = value !== null && typeof value === "object" && !("number" in value);
  if (isPart && there.value === null)
    return Array.isArray(value) ? missesOfList(value, spot, children) : missesOfObject(value, spot, children);
  return [missOf(value, spot)];
}

function missOf(value: Raw, spot: Spot): Miss {
  const there = cellOf(spot.row, spot.column);
  return {
    spot,
    source: shown(rawText(value)),
    lake: `${shown(there.value)} (${there.type})`,
    isLost: there.value === null,
  };
}

/** The last of duplicate keys is used, as everywhere. */
const missesOfObject = (value: { fields: [string, Raw][] }, spot: Spot, children: Children): Miss[] =>
  [...new Map(value.fields)].flatMap(([key, item]) =>
    missesOf(item, { ...spot, column: `${spot.column}__${fieldName(key)}` }, children),
  );

function missesOfList(items: Raw[], spot: Spot, children: Children): Miss[] {
  const table = `${spot.table}__${spot.column}`;
  const rows = children.of(table, spot.row);
  if (rows.length !== items.length) {
    return [{ ...missOf(items, spot), lake: `${rows.length} rows (${table})`, isLost: false }];
  }
  return items.flatMap((item, at) => {
    const row = rows[at] as LakeRow;
    if (item !== null && typeof item === "object" && "fields" in item) {
      return [...new Map(item.fields)].flatMap(([key, inner]) =>
        missesOf(inner, { table, row, column: fieldName(key) }, children),
      );
    }
    return missesOf(item, { table, row, column: Array.isArray(item) ? "list" : "value" }, children);
  });
}

/** Returns whether a text and another type are both texts in the lake, so that `"1"` and `1` are the same there. */
function isMixedText(table: SourceTable, at: number, rows: ReadonlyMap<number, LakeRow>): boolean {
  const name = table.columns[at]?.name ?? "";
  const kinds = new Set<boolean>();
  for (const [index, cells] of table.rows.entries()) {
    const row = rows.get(index + 1);
    const text = cells[at];
    const there = row && cellOf(row, name);
    if (text && there?.type === "text" && there.value !== null) kinds.add(text.startsWith('"'));
  }
  return kinds.size > 1;
}
