import { readStruct, type Struct, type Value } from "./thrift.ts";

/** Statistics in the footer of a Parquet file for a column that is neither a list nor a struct. */
export interface ColumnStats {
  name: string;
  /** Parquet's type numbers. */
  physical: number;
  converted: number | null;
  /** For decimals. */
  scale: number;
  /** Number of rows, including NULLs. */
  values: number;
  nulls: number | null;
  /**
   * The minimum and maximum other than NULL; null if the footer lacks one. Long texts and bytes are truncated, and the
   * maximum is then above all of them.
   */
  least: Plain | null;
  greatest: Plain | null;
}

/** A value that compares like its column's values. */
export type Plain = bigint | number | Uint8Array;

export const PHYSICAL = { boolean: 0, int32: 1, int64: 2, float: 4, double: 5, bytes: 6, fixed: 7 } as const;
export const CONVERTED = {
  utf8: 0,
  decimal: 5,
  date: 6,
  timeMicros: 8,
  timestampMicros: 10,
  uint8: 11,
  uint16: 12,
  uint32: 13,
  uint64: 14,
  int8: 15,
  int16: 16,
  int32: 17,
  int64: 18,
  json: 19,
} as const;

/** The length of the footer and the magic number at the end of a file. */
const END_BYTES = 8;

/** Size of a file's footer, counted from the end of the file, by its last bytes. Null if it isn't a Parquet file. */
export function footerLength(end: Uint8Array): number | null {
  if (end.length < END_BYTES) return null;
  const last = end.subarray(-END_BYTES);
  if (Buffer.from(last.subarray(4)).toString("latin1") !== "PAR1") return null;
  return new DataView(last.buffer, last.byteOffset).getUint32(0, true) + END_BYTES;
}

/** Reads the statistics of the columns from the last bytes of a file, which contain its footer. */
export function readFooter(end: Uint8Array): ColumnStats[] {
  const length = footerLength(end);
  if (length === null || length > end.length) throw new RangeError("The footer isn't whole.");
  const footer = readStruct(end.subarray(end.length - length, -END_BYTES));
  const [, ...elements] = structsOf(footer.get(2));
  const types = new Map(elements.map((element) => [textOf(element.get(4)), element]));
  const columns = new Map<string, ColumnStats>();
  for (const group of structsOf(footer.get(4))) {
    for (const chunk of structsOf(group.get(1))) {
      const data = chunk.get(3) as Struct;
      const [name, ...inner] = data.get(3) as Uint8Array[];
      if (name === undefined || inner.length > 0) continue;
      const found = statsOf(textOf(name), data, types.get(textOf(name)) ?? new Map());
      const before = columns.get(found.name);
      columns.set(found.name, before ? together(before, found) : found);
    }
  }
  return [...columns.values()];
}

const structsOf = (value: Value | undefined): Struct[] => (Array.isArray(value) ? (value as Struct[]) : []);
const textOf = (value: Value | undefined): string => Buffer.from((value ?? []) as Uint8Array).toString();
const numberOf = (value: Value | undefined): number | null => (value === undefined ? null : Number(value));

function statsOf(name: string, data: Struct, element: Struct): ColumnStats {
  const physical = Number(data.get(1));
  const converted = numberOf(element.get(6));
  const statistics = (data.get(12) ?? new Map()) as Struct;
  const bound = (value: number, isExact: number) => {
    const bytes = statistics.get(value);
    const mayBeCut = physical === PHYSICAL.bytes;
    const isUsable = bytes instanceof Uint8Array && (mayBeCut || statistics.get(isExact) !== false);
    return isUsable ? plainOf(bytes, physical, converted) : null;
  };
  return {
    name,
    physical,
    converted,
    scale: numberOf(element.get(7)) ?? 0,
    values: Number(data.get(5)),
    nulls: numberOf(statistics.get(3)),
    least: bound(6, 8),
    greatest: bound(5, 7),
  };
}

/** Null for types that readers order differently, such as UUIDs. */
function plainOf(bytes: Uint8Array, physical: number, converted: number | null): Plain | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isUnsigned = converted === CONVERTED.uint32 || converted === CONVERTED.uint64;
  switch (physical) {
    case PHYSICAL.boolean:
      return bytes.length === 1 ? BigInt(view.getUint8(0)) : null;
    case PHYSICAL.int32:
      return bytes.length === 4 && !isUnsigned ? BigInt(view.getInt32(0, true)) : null;
    case PHYSICAL.int64:
      return bytes.length === 8 && !isUnsigned ? view.getBigInt64(0, true) : null;
    case PHYSICAL.float:
      return bytes.length === 4 ? withoutNaN(view.getFloat32(0, true)) : null;
    case PHYSICAL.double:
      return bytes.length === 8 ? withoutNaN(view.getFloat64(0, true)) : null;
    case PHYSICAL.bytes:
      return converted === CONVERTED.decimal ? null : Uint8Array.from(bytes);
    case PHYSICAL.fixed:
      return converted === CONVERTED.decimal && bytes.length > 0 ? signedOf(bytes) : null;
    default:
      return null;
  }
}

const withoutNaN = (value: number): number | null => (Number.isNaN(value) ? null : value);

/** Two's complement, big-endian. */
function signedOf(bytes: Uint8Array): bigint {
  const unsigned = BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
  return BigInt.asIntN(bytes.length * 8, unsigned);
}

/** Merges the statistics of two row groups. */
function together(a: ColumnStats, b: ColumnStats): ColumnStats {
  const bound = (one: ColumnStats, other: ColumnStats, side: "least" | "greatest") => {
    if (isEmpty(one)) return other[side];
    if (isEmpty(other)) return one[side];
    const [x, y] = [one[side], other[side]];
    if (x === null || y === null) return null;
    return isBelow(x, y) === (side === "least") ? x : y;
  };
  return {
    ...a,
    values: a.values + b.values,
    nulls: a.nulls === null || b.nulls === null ? null : a.nulls + b.nulls,
    least: bound(a, b, "least"),
    greatest: bound(a, b, "greatest"),
  };
}

const isEmpty = ({ values, nulls }: ColumnStats): boolean => nulls === values;

function isBelow(x: Plain, y: Plain): boolean {
  if (x instanceof Uint8Array && y instanceof Uint8Array) return Buffer.compare(x, y) < 0;
  return x < y;
}
