import type { Column } from "../../sql/contract.ts";
import { type IcebergType, type InnerIds, icebergType, idsAgain } from "./types.ts";

/** A column in Iceberg: its ID never refers to another name. */
export interface Field {
  id: number;
  name: string;
  type: IcebergType;
  /** DuckDB's type name. */
  dataType: string;
}

export interface Schema {
  id: number;
  /** The load that introduced these columns. */
  seq: number;
  fields: Field[];
}

export interface SchemaHistory {
  /** Schemas that share one set of IDs, oldest first; the last one is current. */
  schemas: Schema[];
  lastColumnId: number;
  /** All names that a current ID has had, because files have no IDs. */
  names: { id: number; type: IcebergType; names: string[] }[];
  /**
   * Files from before this load may have a column in a type that Iceberg can't promote to the current one: 0 if there
   * was no such change.
   */
  readableFrom: number;
}

/**
 * Assigns IDs to the columns of a table from its whole history of columns, oldest first. Rows of that history are never
 * changed, only added, so IDs are stable. A name keeps its ID while its type is only widened as Iceberg allows;
 * otherwise it gets a new one, by which older values can't be read.
 *
 * Throws `UnknownType` for a current column of a type that Iceberg lacks.
 */
export function schemaHistory(
  history: readonly { seq: number; columns: readonly Column[] }[],
): SchemaHistory {
  const current = new Map<string, Field>();
  const names = new Map<number, Set<string>>();
  let lastId = 0;
  let lastDeeperId = DEEPER_IDS;
  let readableFrom = 0;
  const nextId = () => ++lastId;
  const newIds: InnerIds = { element: nextId, deeper: () => ++lastDeeperId };
  const lacking = new Map<Schema, Column>();
  const schemas = history.map(({ seq, columns }, id): Schema => {
    const fields: Field[] = [];
    const schema = { id, seq, fields };
    for (const column of columns) {
      const { name, dataType } = column;
      const key = name.toLowerCase();
      const known = current.get(key);
      const stays = known !== undefined && becomes(known.dataType, dataType);
      if (known && !stays) readableFrom = seq;
      const fieldId = stays ? known.id : nextId();
      const type = icebergType(dataType, stays ? idsAgain(known.type) : newIds);
      if (type === null) lacking.set(schema, lacking.get(schema) ?? column);
      const field: Field = { id: fieldId, name, type: type ?? UNKNOWN, dataType };
      fields.push(field);
      current.set(key, field);
      names.set(field.id, (names.get(field.id) ?? new Set()).add(name));
    }
    return schema;
  });
  const last = schemas.at(-1);
  const unknown = last && lacking.get(last);
  if (unknown) throw new UnknownType(unknown.name, unknown.dataType);
  const first = schemas.findLastIndex((schema) => lacking.has(schema)) + 1;
  if (first > 0) readableFrom = Math.max(readableFrom, schemas[first]?.seq ?? 0);
  return {
    schemas: schemas.filter(({ seq }) => seq >= readableFrom),
    lastColumnId: lastDeeperId > DEEPER_IDS ? lastDeeperId : lastId,
    names: [...current.values()].map(({ id, type }) => ({
      id,
      type,
      names: [...(names.get(id) ?? [])],
    })),
    readableFrom,
  };
}

/**
 * First ID of fields within structs, maps and nested lists. Older versions published tables without these, and they
 * must not change the IDs of columns.
 */
const DEEPER_IDS = 1_000_000;

/** A type that Iceberg lacks; a schema with it is never read. */
const UNKNOWN = "unknown";

export class UnknownType extends Error {
  readonly column: string;
  readonly type: string;
  constructor(column: string, type: string) {
    super(`Column ${column} has the type ${type}, which Iceberg doesn't have.`);
    this.column = column;
    this.type = type;
  }
}

/** Whether `from` can be promoted to `to`, by the specification of format version 2. */
function becomes(from: string, to: string): boolean {
  if (from === to) return true;
  if (from.endsWith("[]") && to.endsWith("[]")) return becomes(from.slice(0, -2), to.slice(0, -2));
  const [before, after] = [icebergType(from, NO_IDS), icebergType(to, NO_IDS)];
  if (typeof before !== "string" || typeof after !== "string") return false;
  return isPromotion(before, after);
}

const NO_IDS: InnerIds = { element: () => 0, deeper: () => 0 };

function isPromotion(from: string, to: string): boolean {
  if (from === to) return true;
  if (from === "int") return to === "long";
  if (from === "float") return to === "double";
  const [before, after] = [decimalOf(from), decimalOf(to)];
  return before !== null && after !== null && before[1] === after[1] && before[0] <= after[0];
}

/** Whether other engines can't read files with `columns` as part of a table with the columns `table`. */
export function isMixed(columns: readonly Column[], table: readonly Column[]): boolean {
  const known = new Map(table.map((column) => [column.name.toLowerCase(), column]));
  return columns.some(({ name, dataType }) => {
    const to = known.get(name.toLowerCase());
    return to !== undefined && (name !== to.name || !becomes(dataType, to.dataType));
  });
}

function decimalOf(type: string): [precision: number, scale: number] | null {
  const match = /^decimal\((\d+), (\d+)\)$/.exec(type);
  return match ? [Number(match[1]), Number(match[2])] : null;
}
