import type { Values } from "../form/form.tsx";

export interface Column {
  name: string;
  dataType: string;
  nullable: boolean;
}

/** A table in the definition of an extract. */
export interface Resource extends Values {
  spec?: string;
  name?: string;
  primaryKey?: string[];
  incremental?: { cursorField: string };
  writeDisposition?: string;
  columns?: (string | { name: string; type?: string })[];
}

const CHANGED = ["updated_at", "updatedat", "modified_at", "modifiedat", "last_modified", "changed_at"];
const MADE = ["created_at", "createdat", "inserted_at", "occurred_at"];
const IS_TIME = /time|date/i;
const IS_WHOLE = /int|serial/i;

const bare = (table: string) => table.toLowerCase().replace(/s$/, "");

/** The most likely key column, never a nullable one. Null if there is none. */
function keyOf(table: string, columns: readonly Column[]): string | null {
  const sure = columns.filter(({ nullable }) => !nullable);
  const named = (name: string) => sure.find((column) => column.name.toLowerCase() === name)?.name;
  return named("id") ?? named(`${bare(table)}_id`) ?? named("uuid") ?? null;
}

/** The most likely cursor column: a time of change, then a time of creation, then an increasing key. */
function cursorOf(columns: readonly Column[], key: string | null): string | null {
  const timed = columns.filter(({ dataType }) => IS_TIME.test(dataType));
  for (const name of [...CHANGED, ...MADE]) {
    const column = timed.find((each) => each.name.toLowerCase() === name);
    if (column) return column.name;
  }
  return columns.find(({ name, dataType }) => name === key && IS_WHOLE.test(dataType))?.name ?? null;
}

/** Suggests how to load a table repeatedly, by the names of its columns. */
export function proposalFor(
  {
    table,
    spec,
    primaryKey = [],
  }: { table: string; spec: string; primaryKey?: readonly string[] | undefined },
  columns: readonly Column[],
): Resource {
  const key = primaryKey.length > 0 ? [...primaryKey] : [keyOf(table, columns) ?? []].flat();
  const cursor = cursorOf(columns, key[0] ?? null);
  return {
    spec,
    ...(key.length > 0 ? { primaryKey: key } : {}),
    ...(cursor === null ? {} : { incremental: { cursorField: cursor } }),
    writeDisposition: key.length > 0 ? "merge" : cursor === null ? "replace" : "append",
  };
}

/** Returns whether each run appends all rows again. */
export const addsAllAgain = ({ writeDisposition = "append", incremental }: Resource): boolean =>
  writeDisposition === "append" && !incremental?.cursorField;
