import { AppError } from "../../base/errors.ts";
import type { Column } from "../../sql/contract.ts";
import { quoteName } from "../../sql/text.ts";
import { Names } from "./naming.ts";
import type { Sheet, SheetColumn } from "./sheet.ts";
import {
  fitsDouble,
  instantFromText,
  instantOrNull,
  isInstant,
  isInteger,
  isNumber,
  shortType,
  typeName,
  widen,
} from "./types.ts";

export const CONTRACT_MODES = ["evolve", "freeze", "discard_row", "discard_value"] as const;
type ContractMode = (typeof CONTRACT_MODES)[number];

/** What a load may change about a table that is there: by new child tables, new columns, and other types. */
export interface SchemaContract {
  tables: ContractMode;
  columns: ContractMode;
  dataType: ContractMode;
}

/** The part of the contract that a change falls under. */
export const modeFor = (
  contract: SchemaContract,
  { column, change }: Pick<SchemaChange, "column" | "change">,
): ContractMode =>
  column === null ? contract.tables : change === "added" ? contract.columns : contract.dataType;

/** A column of the table after the load, and its value over the staged rows. */
export interface Target {
  name: string;
  type: string;
  sql: string;
  /** True where the table has the column and the load does not. */
  isAbsent?: boolean;
}

export interface SchemaChange {
  table: string;
  /** Null where it is the table itself. */
  column: string | null;
  change: "added" | "widened" | "variant";
  from: string | null;
  to: string | null;
}

/** A change that the contract does not let happen, and which staged rows ask for it. */
interface Refusal {
  change: SchemaChange;
  violates: string;
}

export interface Resolution {
  /** The table's columns in their order, then the new ones. */
  targets: Target[];
  changes: SchemaChange[];
  refusals: Refusal[];
  /** Columns of the source that ended in more than one column of the table. */
  split: Set<string>;
}

/** How many staged rows fulfil each condition. */
type Probe = (conditions: readonly string[]) => Promise<number[]>;

interface Given {
  sheet: Sheet;
  /** Null for a table that is made by this load. */
  existing: readonly Column[] | null;
  contract: SchemaContract;
  probe: Probe;
  /** True where a column may have lost all its rows since it was seen. */
  thinned: boolean;
}

/**
 * Decides where each column of the source goes.
 *
 * Values go where they fit without loss; a column grows wider where its type can (BIGINT to DOUBLE, INTEGER to
 * BIGINT); what fits neither goes to `column__v_type`. A text column takes all but JSON. A table that is new
 * always evolves; for others the contract decides. Throws `schema_contract_violation` under `freeze`.
 */
export async function resolve(given: Given): Promise<Resolution> {
  const { sheet, existing } = given;
  const found: Resolution = { targets: [], changes: [], refusals: [], split: new Set() };
  const incoming = new Map(sheet.columns.map((column) => [column.name, column]));
  const known = new Map((existing ?? []).map((column) => [column.name, typeName(column.dataType)]));
  const names = new Names([...known.keys(), ...incoming.keys()]);
  const mapped = new Map<string, Target>();

  for (const column of sheet.columns) {
    if (!known.has(column.name) && existing && given.thinned) {
      const [filled = 0] = await given.probe([isFilled(column)]);
      if (filled === 0) continue;
    }
    for (const target of await place(column, known, names, given, found)) mapped.set(target.name, target);
  }
  for (const [name, type] of known) {
    found.targets.push(mapped.get(name) ?? { name, type, sql: `CAST(NULL AS ${type})`, isAbsent: true });
    mapped.delete(name);
  }
  found.targets.push(...mapped.values());
  const frozen = found.refusals.find(({ change }) => modeFor(given.contract, change) === "freeze");
  if (frozen) throw violation(frozen.change);
  return found;
}

export const violation = ({ table, column, change, from, to }: SchemaChange): AppError =>
  new AppError(
    "schema_contract_violation",
    column === null
      ? `The load would add the table ${table}, and schemaContract is freeze.`
      : `The load would change the column ${column} of ${table} (${change}${from ? ` from ${from}` : ""}${to ? ` to ${to}` : ""}), and schemaContract is freeze.`,
    { details: { table, column, change, from, to } },
  );

const isFilled = (column: SheetColumn) =>
  `(${column.slots.map((slot) => `${slot.name} IS NOT NULL`).join(" OR ")})`;

/** Where a value goes: `main` into the column at hand, `rest` (NULL for all others) into a variant of its type. */
interface Fit {
  main: string;
  rest: string | null;
  /** The wider type under which `main` would take all values, and `main` then. */
  wider?: { type: string; main: string };
}

async function place(
  column: SheetColumn,
  known: ReadonlyMap<string, string>,
  names: Names,
  given: Given,
  found: Resolution,
): Promise<Target[]> {
  const { sheet, existing, contract, probe } = given;
  const before = known.get(column.name) ?? null;
  const say = (
    name: string,
    change: SchemaChange["change"],
    from: string | null,
    to: string,
    violates: string,
  ) => {
    const told = { table: sheet.table, column: name, change, from, to };
    const evolves = existing === null || modeFor(contract, told) === "evolve";
    if (evolves) {
      if (existing !== null) found.changes.push(told);
    } else found.refusals.push({ change: told, violates });
    return evolves;
  };
  let type = before;
  const mains: { sql: string; type: string }[] = [];
  const rests: { sql: string; type: string }[] = [];

  for (const slot of column.slots) {
    const instants = slot.type === "VARCHAR" && column.instants;
    if (type === null) {
      type = instants ? "TIMESTAMP" : slot.type;
      mains.push({ type, sql: instants ? instantFromText(slot.name, type) : slot.name });
      if (!say(column.name, "added", null, type, isFilled(column))) return [];
      continue;
    }
    const fit = fitInto(type, slot.type, slot.name, instants);
    if (!fit.rest) {
      mains.push({ type, sql: fit.main });
      continue;
    }
    const left = `(${slot.name} IS NOT NULL AND (${fit.main}) IS NULL)`;
    const exactBefore = mains.map((main) =>
      isInteger(type ?? "") && fit.wider?.type === "DOUBLE" ? inexact(main.sql) : "false",
    );
    const told = given.thinned ? null : misfitsOf(column, slot.type, type);
    const [misfits = 0, ...unsafe] = told ?? (await probe([left, ...exactBefore]));
    if (misfits === 0) {
      mains.push({ type, sql: fit.main });
    } else if (fit.wider && unsafe.every((count) => count === 0)) {
      if (before === null || say(column.name, "widened", type, fit.wider.type, left)) {
        type = fit.wider.type;
        mains.push({ type, sql: fit.wider.main });
      } else mains.push({ type, sql: fit.main });
    } else {
      mains.push({ type, sql: fit.main });
      rests.push({ type: slot.type, sql: fit.rest });
    }
  }
  if (type === null) return [];
  const final = type;
  const parts = mains.map((main) => (main.type === final ? main.sql : `CAST(${main.sql} AS ${final})`));
  const targets = [
    {
      name: column.name,
      type: final,
      sql: parts.length === 1 ? (parts[0] ?? "NULL") : `COALESCE(${parts.join(", ")})`,
    },
  ];
  for (const rest of rests) {
    const variant = variantOf(column.name, rest, known, names);
    found.split.add(column.name);
    const change = variant.before === null ? "variant" : "widened";
    const needed = variant.before !== variant.target.type;
    const told = change === "variant" ? final : variant.before;
    if (needed && !say(variant.target.name, change, told, variant.target.type, `(${rest.sql}) IS NOT NULL`))
      continue;
    targets.push(variant.target);
  }
  return targets;
}

/** How many numbers do not fit, where it can be told without looking; only whether it is none matters. */
function misfitsOf(column: SheetColumn, from: string, into: string): number[] | null {
  if (!column.jsonNumbers) return null;
  if (from === "DOUBLE" && isInteger(into)) return [1];
  return from === "BIGINT" && into === "DOUBLE" ? [0] : null;
}

/** The column for what did not fit: one of an earlier load where its type allows, else a new one. */
function variantOf(
  column: string,
  rest: { sql: string; type: string },
  known: ReadonlyMap<string, string>,
  names: Names,
): { target: Target; before: string | null } {
  const wanted = `${column}__v_${shortType(rest.type)}`;
  const before = known.get(wanted);
  const type =
    before === undefined
      ? null
      : before === "VARCHAR" && rest.type !== "JSON"
        ? "VARCHAR"
        : widen(before, rest.type);
  if (before !== undefined && type !== null) {
    return {
      before,
      target: { name: wanted, type, sql: type === rest.type ? rest.sql : `CAST(${rest.sql} AS ${type})` },
    };
  }
  return { before: null, target: { name: names.take(wanted), type: rest.type, sql: rest.sql } };
}

/** How values of `from` go into a column of type `into`. */
function fitInto(into: string, from: string, sql: string, instants: boolean): Fit {
  if (into === from) return { main: sql, rest: null };
  if (into === "JSON") return { main: `to_json(${sql})`, rest: null };
  if (from === "JSON") return { main: `CAST(NULL AS ${into})`, rest: sql };
  if (into === "VARCHAR") return { main: `CAST(${sql} AS VARCHAR)`, rest: null };
  if (from === "VARCHAR") {
    if (instants && isInstant(into)) return { main: instantFromText(sql, into), rest: null };
    return withRest(
      sql,
      isInstant(into)
        ? instantOrNull(sql, into)
        : into === "BLOB"
          ? "CAST(NULL AS BLOB)"
          : exact(sql, into, "VARCHAR"),
    );
  }
  const wide = widen(into, from);
  if (wide === into && (!isInteger(from) || !isFloat(into) || fitsDouble(from)))
    return { main: `CAST(${sql} AS ${into})`, rest: null };
  const fit = withRest(
    sql,
    isNumber(into) && isNumber(from)
      ? exact(sql, into, from)
      : wide
        ? exact(sql, into, from)
        : `CAST(NULL AS ${into})`,
  );
  return wide === null || wide === into
    ? fit
    : { ...fit, wider: { type: wide, main: `CAST(${sql} AS ${wide})` } };
}

const isFloat = (type: string) => type === "DOUBLE" || type === "FLOAT";

const withRest = (sql: string, main: string): Fit => ({
  main,
  rest: `CASE WHEN (${main}) IS NULL THEN ${sql} END`,
});

/** The value in type `into` where it comes back the same, else NULL. */
const exact = (sql: string, into: string, from: string) => {
  const cast = `TRY_CAST(${sql} AS ${into})`;
  return `CASE WHEN TRY_CAST(${cast} AS ${from}) = ${sql} THEN ${cast} END`;
};

/** Integers that a double would change. */
const inexact = (sql: string) => `TRY_CAST(CAST(${sql} AS DOUBLE) AS HUGEINT) IS DISTINCT FROM ${sql}`;

export const columnsOf = (targets: readonly Target[]): Column[] =>
  targets.map((target) => ({ name: target.name, dataType: target.type, nullable: true }));

/** What a SELECT over the staged rows has to ask for. */
export const selectOf = (targets: readonly Target[]): string =>
  targets.map((target) => `${target.sql} AS ${quoteName(target.name)}`).join(", ");
