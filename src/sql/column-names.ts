import { AppError } from "../base/errors.ts";
import type { Column } from "./contract.ts";

/** A column to write, and what the file or the statement calls it. */
export interface NamedColumn {
  name: string;
  source: string;
}

/** Columns that each row of the lake has, added by the load. */
export const LOAD_COLUMNS: readonly string[] = ["_dlt_id", "_dlt_load_id"];

interface NamingOptions {
  /** Columns of the table that the rows are added to. */
  table?: readonly Column[] | undefined;
  /** Whether the names are a file's, which keep their columns, or a statement's, which are those of the columns. */
  isFile: boolean;
  /** Names that the columns can't have, since the rows have values of their own there. */
  aside?: readonly string[];
}

const fold = (name: string): string => name.toLowerCase();
const isSame = (left: string, right: string): boolean => fold(left) === fold(right);

/**
 * Finds the column for each name, whatever their order: one of the table, in its spelling, or a new one. Case doesn't
 * distinguish columns, so a name that differs from another only in case gets a number. Throws
 * `schema_contract_violation` for a name that could mean two columns.
 */
export function nameColumns(
  names: readonly string[],
  { table = [], isFile, aside = [] }: NamingOptions,
): NamedColumn[] {
  const bySource = Map.groupBy(table, ({ source }) => source);
  const byName = Map.groupBy(table, ({ name }) => fold(name));
  const used = new Set<Column>();
  const found = new Map<number, Column>();
  const isFree = (column: Column) => !used.has(column);
  const fromSource = (name: string) => bySource.get(name)?.find(isFree);
  const assign = (find: (name: string) => Column | undefined) => {
    for (const [at, name] of names.entries()) {
      const column = found.has(at) ? undefined : find(name);
      if (column) used.add(column);
      if (column) found.set(at, column);
    }
  };
  if (isFile) assign(fromSource);
  assign((name) => byName.get(fold(name))?.find((column) => column.name === name && isFree(column)));
  assign((name) => {
    const column = byName.get(fold(name))?.find(isFree);
    if (!column) return isFile ? undefined : fromSource(name);
    const other = table.find((each) => each !== column && isFree(each) && mayMean(each, name, isFile));
    if (other) throw ambiguous(name, column, other);
    return column;
  });

  const taken = new Set([...byName.keys(), ...names.map(fold)]);
  const firsts = new Set([...used].map(({ name }) => fold(name)));
  const named = names.map((source, at) => {
    const name = found.get(at)?.name ?? newName(source);
    firsts.add(fold(name));
    return { name, source };
  });
  return named.map(({ name, source }) => ({
    name: aside.includes(fold(name)) ? otherName(source) : name,
    source,
  }));

  /** The name that a column set aside had in earlier loads, otherwise with a number. */
  function otherName(source: string): string {
    const before = bySource.get(source)?.find(({ name }) => !firsts.has(fold(name)));
    let name = before?.name ?? `${source}_2`;
    for (let n = 3; !before && (taken.has(fold(name)) || firsts.has(fold(name))); n++)
      name = `${source}_${n}`;
    firsts.add(fold(name));
    return name;
  }

  /** `name` if it is the first of its kind, otherwise with a number. */
  function newName(name: string): string {
    if (!firsts.has(fold(name))) return name;
    for (let n = isFile ? 2 : 1; ; n++) {
      const numbered = `${name}_${n}`;
      // An older version, which recorded no names, numbered this one in the same way.
      const old = byName.get(fold(numbered))?.find((each) => each.source === undefined && isFree(each));
      if (old?.name !== numbered && (taken.has(fold(numbered)) || firsts.has(fold(numbered)))) continue;
      if (old) used.add(old);
      return numbered;
    }
  }
}

/** Whether `name` differs only in case from what a renamed column was called. */
function mayMean({ name: column, source }: Column, name: string, isFile: boolean): boolean {
  if (isSame(column, name)) return false;
  if (source === undefined)
    return isFile && column.startsWith(`${name}_`) && /^\d+$/.test(column.slice(name.length + 1));
  return isFile ? isSame(source, name) : source === name;
}

const ambiguous = (name: string, column: Column, other: Column): AppError =>
  new AppError(
    "schema_contract_violation",
    `Column "${name}" could be ${column.name} or ${other.name} of the table, since only case tells their names apart. Call it as one of them.`,
    { details: { column: name, columns: [column.name, other.name] } },
  );

/** What to report about columns that were renamed. */
export const renameWarnings = (columns: readonly NamedColumn[]): string[] =>
  columns
    .filter(({ name, source }) => !isSame(name, source))
    .map(({ name, source }) => {
      const reason = LOAD_COLUMNS.includes(fold(source))
        ? `each row has its own ${fold(source)}`
        : "case doesn't distinguish columns";
      return `Column "${source}" is called ${name}, because ${reason}.`;
    });

/** Names with a number appended to equal ones. Case distinguishes names. */
export function distinctNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((original) => {
    let name = original;
    for (let n = 1; taken.has(name) || (n > 1 && names.includes(name)); n++) name = `${original}_${n}`;
    taken.add(name);
    return name;
  });
}

/** Whether some names differ only in case. */
export const hasTwins = (names: readonly string[]): boolean => new Set(names.map(fold)).size < names.length;
