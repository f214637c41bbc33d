import type { Column } from "../../sql/contract.ts";

/** A column as Iceberg knows it: by an id that its name, once given, never gives to another. */
export interface Field {
  id: number;
  /** Of the elements of a list; null for what is not a list. */
  elementId: number | null;
  name: string;
  /** Iceberg's name of the type, of the elements where it is a list. */
  type: string;
}

export interface Schema {
  id: number;
  /** The load that the table had these columns from. */
  seq: number;
  fields: Field[];
}

export interface SchemaHistory {
  /** Those that can be read by one set of ids, oldest first; the last one is current. */
  schemas: Schema[];
  lastColumnId: number;
  /** All names that a current id has had, for files, which have no ids. */
  names: { id: number; elementId: number | null; names: string[] }[];
  /**
   * Files from before this load may hold a column in a type that doesn't become the present one by Iceberg's rules:
   * 0 where there was no such change.
   */
  readableFrom: number;
}

/**
 * Ids for the columns of a table from all the columns it has ever had, oldest first. Rows of that history are never
 * changed, only added, so that an id stays what it is. A name keeps its id while its type only widens as Iceberg
 * allows; otherwise it gets a new one, and what was before can't be read by it.
 *
 * Throws `UnknownType` for a current column of a type that Iceberg lacks.
 */
export function schemaHistory(
  history: readonly { seq: number; columns: readonly Column[] }[],
): SchemaHistory {
  const current = new Map<string, Field>();
  const names = new Map<number, Set<string>>();
  let lastColumnId = 0;
  let readableFrom = 0;
  const schemas = history.map(({ seq, columns }, id): Schema => {
    const fields = columns.map(({ name, dataType }) => {
      const key = name.toLowerCase();
      const { type, isList } = icebergType(dataType);
      const known = current.get(key);
      const stays = known && isList === (known.elementId !== null) && isPromotion(known.type, type);
      if (known && !stays) readableFrom = seq;
      const field: Field = stays
        ? { ...known, name, type }
        : { id: ++lastColumnId, elementId: isList ? ++lastColumnId : null, name, type };
      current.set(key, field);
      names.set(field.id, (names.get(field.id) ?? new Set()).add(name));
      return field;
    });
    return { id, seq, fields };
  });
  const lacking = (schema: Schema) => schema.fields.find(({ type }) => type.startsWith(LACKING));
  const last = schemas.at(-1);
  const unknown = last && lacking(last);
  if (unknown) throw new UnknownType(unknown.name, unknown.type.slice(LACKING.length));
  const first = schemas.findLastIndex((schema) => lacking(schema)) + 1;
  if (first > 0) readableFrom = Math.max(readableFrom, schemas[first]?.seq ?? 0);
  return {
    schemas: schemas.filter(({ seq }) => seq >= readableFrom),
    lastColumnId,
    names: [...current.values()].map(({ id, elementId }) => ({
      id,
      elementId,
      names: [...(names.get(id) ?? [])],
    })),
    readableFrom,
  };
}

export class UnknownType extends Error {
  readonly column: string;
  readonly type: string;
  constructor(column: string, type: string) {
    super(`Column ${column} has the type ${type}, which Iceberg doesn't have.`);
    this.column = column;
    this.type = type;
  }
}

/** What stands before a type that has no counterpart. */
const LACKING = "!";

const TYPES: Readonly<Record<string, string>> = {
  BOOLEAN: "boolean",
  TINYINT: "int",
  SMALLINT: "int",
  UTINYINT: "int",
  USMALLINT: "int",
  INTEGER: "int",
  BIGINT: "long",
  FLOAT: "float",
  DOUBLE: "double",
  DATE: "date",
  TIME: "time",
  TIMESTAMP: "timestamp",
  "TIMESTAMP WITH TIME ZONE": "timestamptz",
  VARCHAR: "string",
  JSON: "string",
  UUID: "uuid",
  BLOB: "binary",
};

function icebergType(dataType: string): { type: string; isList: boolean } {
  const isList = dataType.endsWith("[]");
  const inner = isList ? dataType.slice(0, -2) : dataType;
  const [, precision, scale] = /^DECIMAL\((\d+),(\d+)\)$/.exec(inner) ?? [];
  const type = precision ? `decimal(${precision}, ${scale})` : (TYPES[inner] ?? `${LACKING}${dataType}`);
  return { type, isList };
}

/** Whether files that hold `from` may be read as `to`, by the specification of format version 2. */
function isPromotion(from: string, to: string): boolean {
  if (from === to) return true;
  if (from === "int") return to === "long";
  if (from === "float") return to === "double";
  const [before, after] = [decimalOf(from), decimalOf(to)];
  return before !== null && after !== null && before[1] === after[1] && before[0] <= after[0];
}

/** Whether files with `columns` can't be read by other engines as a table's that has the columns `table`. */
export function isMixed(columns: readonly Column[], table: readonly Column[]): boolean {
  const types = new Map(table.map(({ name, dataType }) => [name.toLowerCase(), icebergType(dataType)]));
  return columns.some(({ name, dataType }) => {
    const [from, to] = [icebergType(dataType), types.get(name.toLowerCase())];
    return to !== undefined && !(from.isList === to.isList && isPromotion(from.type, to.type));
  });
}

function decimalOf(type: string): [precision: number, scale: number] | null {
  const match = /^decimal\((\d+), (\d+)\)$/.exec(type);
  return match ? [Number(match[1]), Number(match[2])] : null;
}
