import { AppError } from "../../base/errors.ts";
import { withoutZeros } from "../../lake/readings.ts";
import { typeName } from "../../lake/stored-types.ts";
import type { Column } from "../../sql/contract.ts";
import { quoteName } from "../../sql/text.ts";
import { fitInto } from "./fit.ts";
import { Names } from "./naming.ts";
import { type Part, partsOf, unite } from "./parts.ts";
import type { Sheet, SheetColumn } from "./sheet.ts";
import { isDecimal, isInteger, shortType } from "./types.ts";

export const CONTRACT_MODES = ["evolve", "freeze", "discard_row", "discard_value"] as const;
type ContractMode = (typeof CONTRACT_MODES)[number];

/** What a load may change about an existing table: new child tables, new columns, and other types. */
export interface SchemaContract {
  tables: ContractMode;
  columns: ContractMode;
  dataType: ContractMode;
}

/** The part of the contract that covers a change. */
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
  /** What the source calls it. */
  source?: string | undefined;
  /** True if the table has the column and the load doesn't. */
  isAbsent?: boolean;
  /** True for numeric keys stored as text, without trailing zeros in their fractions. */
  isDigits?: boolean;
}

export interface SchemaChange {
  table: string;
  /** Null for the table itself. */
  column: string | null;
  change: "added" | "widened" | "variant";
  from: string | null;
  to: string | null;
}

/** A change that the contract doesn't allow and that staged rows require. */
export interface Refusal {
  change: SchemaChange;
  column: SheetColumn;
  violates: string;
}

export interface Resolution {
  /** The table's columns in order, then the new ones. */
  targets: Target[];
  changes: SchemaChange[];
  refusals: Refusal[];
  /** Columns that couldn't hold all of their values, with the columns that hold the others. */
  split: Map<string, string[]>;
  /** Time columns without a zone whose values had one. They are stored in UTC. */
  zoneless: Set<string>;
}

/** Counts the staged rows that match each condition. */
type Probe = (conditions: readonly string[]) => Promise<number[]>;

interface Given {
  sheet: Sheet;
  /** Null for a table that this load creates. */
  existing: readonly Column[] | null;
  contract: SchemaContract;
  /** Types set in the definition, by the column's name in the table. */
  fixed: ReadonlyMap<string, string>;
  /** Columns that identify rows, so none of their values may go elsewhere. */
  key: readonly string[];
  /** True if all rows of the table are replaced, so that a column may take any type. */
  isReplaced: boolean;
  probe: Probe;
  /** True if a column may have lost all of its rows since it was inspected. */
  thinned: boolean;
}

/**
 * Decides where each column of the source is written.
 *
 * A new column gets the type that holds all of its values. An existing one keeps its type or gets a wider one of its
 * kind. Values that it can't hold exactly go to `column__v_type`, or change its type if all rows are replaced.
 * Numbers of the key become text instead. A text column accepts everything but JSON. A new table gets any columns; for
 * others, and for values that don't fit, the contract decides. Throws `schema_contract_violation` under `freeze`.
 */
export async function resolve(input: Given): Promise<Resolution> {
  const { sheet, existing } = input;
  const found: Resolution = { targets: [], changes: [], refusals: [], split: new Map(), zoneless: new Set() };
  const incoming = new Map(sheet.columns.map((column) => [column.name, column]));
  const known = new Map((existing ?? []).map((column) => [column.name, typeName(column.dataType)]));
  const names = new Names([...known.keys(), ...incoming.keys()]);
  const mapped = new Map<string, Target>();

  for (const column of sheet.columns) {
    if (!known.has(column.name) && existing && input.thinned) {
      const [filled = 0] = await input.probe([isFilled(column)]);
      if (filled === 0) continue;
    }
    const source = sheet.names.isUnsure(column.name) ? undefined : column.source;
    for (const target of await resolveColumn(column, known, names, input, found))
      mapped.set(target.name, target.name === column.name ? { ...target, source } : target);
  }
  for (const { name, dataType, source } of existing ?? []) {
    const type = typeName(dataType);
    const target = mapped.get(name) ?? { name, type, sql: `CAST(NULL AS ${type})`, isAbsent: true };
    found.targets.push({ ...target, source: source ?? target.source });
    mapped.delete(name);
  }
  found.targets.push(...mapped.values());
  const frozen = found.refusals.find(({ change }) => modeFor(input.contract, change) === "freeze");
  if (frozen) throw violation(frozen.change);
  return found;
}

export const violation = ({ table, column, change, from, to }: SchemaChange): AppError =>
  new AppError(
    "schema_contract_violation",
    column === null
      ? `Schema change rejected: the load would add table ${table}, and schemaContract is "freeze".`
      : `Schema change rejected: the load would change column ${column} of ${table} (${change}${from ? ` from ${from}` : ""}${to ? ` to ${to}` : ""}), and schemaContract is "freeze".`,
    { details: { table, column, change, from, to } },
  );

export const isFilled = (column: SheetColumn) =>
  `(${column.slots.map((slot) => `${slot.name} IS NOT NULL`).join(" OR ")})`;

async function resolveColumn(
  column: SheetColumn,
  known: ReadonlyMap<string, string>,
  names: Names,
  input: Given,
  found: Resolution,
): Promise<Target[]> {
  const { sheet, existing, contract, probe } = input;
  const before = known.get(column.name) ?? null;
  const parts = partsOf(column);
  if (parts.length === 0) return [];
  const say = (
    name: string,
    change: SchemaChange["change"],
    from: string | null,
    to: string,
    violates: string,
  ) => {
    const proposed = { table: sheet.table, column: name, change, from, to };
    const isFree = existing === null && change !== "variant";
    const evolves = isFree || modeFor(contract, proposed) === "evolve";
    if (evolves) {
      if (existing !== null) found.changes.push(proposed);
    } else found.refusals.push({ change: proposed, column, violates });
    return evolves;
  };
  const wanted = before ?? input.fixed.get(column.name) ?? null;
  if (wanted === null) {
    const { type, sql } = await unite(column, parts, probe);
    return say(column.name, "added", null, type, isFilled(column)) ? [{ name: column.name, type, sql }] : [];
  }
  if (before === null && !say(column.name, "added", null, wanted, isFilled(column))) return [];
  const digits = input.key.includes(column.name) ? digitsOf(column) : null;
  if (digits && wanted === "VARCHAR")
    return [{ name: column.name, type: wanted, sql: digits, isDigits: true }];
  let type = wanted;
  const mains: { sql: string; type: string }[] = [];
  const rests: Part[] = [];
  for (const part of parts) {
    const fit = fitInto(type, part);
    if (!fit.misfits) {
      if (fit.isZoneLost) found.zoneless.add(column.name);
      mains.push({ type, sql: fit.main });
      continue;
    }
    const left = fit.misfits;
    const counted = input.thinned ? null : misfitsOf(column, part.type, type);
    const [misfits = 0] = counted ?? (await probe([left]));
    if (misfits > 0 && before !== null && input.isReplaced) {
      const { type: changed, sql } = await unite(column, parts, probe);
      if (say(column.name, "widened", before, changed, left))
        return [{ name: column.name, type: changed, sql }];
      mains.push({ type, sql: fit.main });
      continue;
    }
    if (misfits > 0 && digits && before !== null && (isInteger(before) || isDecimal(before))) {
      if (say(column.name, "widened", before, "VARCHAR", left))
        return [{ name: column.name, type: "VARCHAR", sql: digits, isDigits: true }];
      if (contract.dataType === "discard_value") found.split.set(column.name, []);
      return [{ name: column.name, type, sql: fit.main }];
    }
    const wider = before !== null && misfits > 0 ? fit.wider : undefined;
    if (misfits > 0 && wider && say(column.name, "widened", type, wider.type, left)) {
      type = wider.type;
      mains.push({ type, sql: wider.main });
      continue;
    }
    mains.push({ type, sql: fit.main });
    if (misfits > 0 && !wider) rests.push(limited(part, left));
  }
  const values = mains.map((main) => (main.type === type ? main.sql : `CAST(${main.sql} AS ${type})`));
  const sql = values.length === 1 ? (values[0] ?? "NULL") : `COALESCE(${values.join(", ")})`;
  const targets = [{ name: column.name, type, sql }];
  for (const rest of rests) {
    const variant = variantOf(column.name, rest, known, names);
    found.split.set(column.name, found.split.get(column.name) ?? []);
    const isKept = variant.before === variant.target.type;
    const change = variant.before === null || isKept ? "variant" : "widened";
    const from = change === "variant" ? type : variant.before;
    if (
      (!isKept || contract.dataType !== "evolve") &&
      !say(variant.target.name, change, from, variant.target.type, `(${rest.sql}) IS NOT NULL`)
    )
      continue;
    found.split.get(column.name)?.push(variant.target.name);
    targets.push(variant.target);
  }
  return targets;
}

/** Numbers as texts that are equal if the numbers are. Null if a value isn't a number, or may have an exponent. */
export function digitsOf(column: SheetColumn): string | null {
  const parts = partsOf(column);
  const areDigits =
    parts.every(({ type, isNumber }) => isNumber || isInteger(type) || isDecimal(type)) &&
    column.slots.every(({ number }) => number !== "json");
  if (!areDigits || parts.length === 0) return null;
  const texts = parts.map(({ sql, text }) => withoutZeros(text ?? `CAST(${sql} AS VARCHAR)`));
  return `COALESCE(${texts.join(", ")})`;
}

/** The number of values that don't fit, if known without a query. Only whether it is 0 matters. */
function misfitsOf(column: SheetColumn, from: string, into: string): number[] | null {
  if (!column.jsonNumbers) return null;
  if (from === "DOUBLE" && isInteger(into)) return [1];
  return from === "BIGINT" && into === "DOUBLE" ? [0] : null;
}

/** Only the values of a part for which `condition` is true. */
function limited({ type, sql, text, json }: Part, condition: string): Part {
  const only = (value: string) => `CASE WHEN ${condition} THEN ${value} END`;
  return {
    type,
    sql: only(sql),
    ...(text ? { text: only(text) } : {}),
    ...(json ? { json: only(json) } : {}),
  };
}

/** The column for values that don't fit: an existing variant column of the right type, or a new one. */
function variantOf(
  column: string,
  rest: Part,
  known: ReadonlyMap<string, string>,
  names: Names,
): { target: Target; before: string | null } {
  const wanted = `${column}__v_${shortType(rest.type)}`;
  for (let name = wanted, n = 2; known.has(name); name = `${wanted}_${n++}`) {
    const before = known.get(name) ?? "";
    const fit = fitInto(before, rest);
    const { main, type } = fit.wider ? { ...fit.wider } : { main: fit.main, type: before };
    if (fit.misfits === null || fit.wider) return { before, target: { name, type, sql: main } };
  }
  return { before: null, target: { name: names.take(wanted), type: rest.type, sql: rest.sql } };
}

export const columnsOf = (targets: readonly Target[]): Column[] =>
  targets.map(({ name, type, source }) => ({
    name,
    dataType: type,
    nullable: true,
    ...(source === undefined ? {} : { source }),
  }));

/** The columns of a SELECT over the staged rows. */
export const selectOf = (targets: readonly Target[]): string =>
  targets.map((target) => `${target.sql} AS ${quoteName(target.name)}`).join(", ");
