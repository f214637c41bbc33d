import type { Field } from "./fields.ts";
import { CONVERTED, type ColumnStats, PHYSICAL, type Plain } from "./footer.ts";

/** Metrics of a file's column in a manifest, by column ID. Bounds are encoded as in the specification's Appendix D. */
export interface ColumnMetrics {
  id: number;
  values: number;
  nulls: number | null;
  nans: number | null;
  lower: Buffer | null;
  upper: Buffer | null;
}

/** Limits of Iceberg's own writers: columns with bounds, and characters of a text bound. */
export const MAX_COLUMNS = 100;
const MAX_CHARACTERS = 16;

/** The metrics of a file's columns in a table with `fields`; `idOf` returns the ID for a column's name. */
export function metricsOf(
  stats: readonly ColumnStats[],
  fields: readonly Field[],
  idOf: (name: string) => number | undefined,
): ColumnMetrics[] {
  const byId = new Map(stats.map((column) => [idOf(column.name), column]));
  return fields.slice(0, MAX_COLUMNS).flatMap((field) => {
    const column = byId.get(field.id);
    const { id, type } = field;
    if (!column || typeof type !== "string") return [];
    const { values, nulls, least, greatest } = column;
    const codec = codecOf(type, column);
    const lower = codec && least !== null ? codec.lower(least) : null;
    const upper = codec && greatest !== null ? codec.upper(greatest) : null;
    // DuckDB writes no bounds for a column with a NaN
    const isReal = type === "float" || type === "double";
    const nans = isReal && ((lower && upper) || nulls === values) ? 0 : null;
    return [{ id, values, nulls, nans, lower, upper }];
  });
}

interface Codec {
  lower(value: Plain): Buffer | null;
  upper(value: Plain): Buffer | null;
}

const same = (encode: (value: Plain) => Buffer | null): Codec => ({ lower: encode, upper: encode });

const whole = (bytes: 1 | 4 | 8) =>
  same((value) => {
    if (typeof value !== "bigint" || BigInt.asIntN(bytes * 8, value) !== value) return null;
    const buffer = Buffer.alloc(bytes);
    if (bytes === 8) buffer.writeBigInt64LE(value);
    else buffer.writeIntLE(Number(value), 0, bytes);
    return buffer;
  });

/** The sign of zero is unknown in Parquet, so the lower bound is written as -0 and the upper bound as 0. */
const real = (bytes: 4 | 8): Codec => {
  const encode = (value: Plain, zero: number): Buffer | null => {
    if (typeof value !== "number") return null;
    const buffer = Buffer.alloc(bytes);
    const number = value === 0 ? zero : value;
    if (bytes === 4) buffer.writeFloatLE(number);
    else buffer.writeDoubleLE(number);
    return buffer;
  };
  return { lower: (value) => encode(value, -0), upper: (value) => encode(value, 0) };
};

/** The unscaled value, in the fewest bytes of big-endian two's complement. */
const decimal = same((value) => {
  if (typeof value !== "bigint") return null;
  let length = 1;
  while (BigInt.asIntN(length * 8, value) !== value) length++;
  const hex = BigInt.asUintN(length * 8, value).toString(16);
  return Buffer.from(hex.padStart(length * 2, "0"), "hex");
});

const text: Codec = {
  lower: (value) => {
    const characters = charactersOf(value);
    return characters && Buffer.from(characters.slice(0, MAX_CHARACTERS).join(""));
  },
  upper: (value) => {
    const characters = charactersOf(value);
    if (characters === null) return null;
    if (characters.length <= MAX_CHARACTERS && (value as Uint8Array).length <= READ_BYTES)
      return Buffer.from(value as Uint8Array);
    for (let last = MAX_CHARACTERS - 1; last >= 0; last--) {
      const next = characterAfter(characters[last] ?? "");
      if (next !== null) return Buffer.from([...characters.slice(0, last), next].join(""));
    }
    return null;
  },
};

/** Maximum number of bytes of a bound's characters. */
const READ_BYTES = 4 * MAX_CHARACTERS;

/** The first characters of a text, which may be truncated within one. Null for invalid UTF-8. */
function charactersOf(value: Plain): string[] | null {
  if (!(value instanceof Uint8Array)) return null;
  const bytes = value.subarray(0, READ_BYTES);
  const isCut = bytes.length < value.length;
  try {
    return [...new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut })];
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

/** The next valid character. Null for the last one. */
function characterAfter(character: string): string | null {
  const next = (character.codePointAt(0) ?? 0) + 1;
  return next > 0x10ffff ? null : String.fromCodePoint(next === 0xd800 ? 0xe000 : next);
}

const binary: Codec = {
  lower: (value) => (value instanceof Uint8Array ? Buffer.from(value.subarray(0, MAX_CHARACTERS)) : null),
  upper: (value) => {
    if (!(value instanceof Uint8Array)) return null;
    const bytes = Buffer.from(value.subarray(0, MAX_CHARACTERS));
    if (value.length <= MAX_CHARACTERS) return bytes;
    const last = bytes.findLastIndex((byte) => byte < 0xff);
    if (last < 0) return null;
    bytes[last] = (bytes[last] ?? 0) + 1;
    return bytes.subarray(0, last + 1);
  },
};

const SHORT: readonly (number | null)[] = [
  null,
  CONVERTED.int8,
  CONVERTED.int16,
  CONVERTED.int32,
  CONVERTED.uint8,
  CONVERTED.uint16,
];
const LONG: readonly (number | null)[] = [null, CONVERTED.int64];

/** The encoding of bounds for a column of `type` in the table. Null if the file's type can't be promoted to it. */
function codecOf(type: string, { physical, converted, scale }: ColumnStats): Codec | null {
  const isShort = physical === PHYSICAL.int32 && SHORT.includes(converted);
  const isLong = physical === PHYSICAL.int64 && LONG.includes(converted);
  const isMicros = (sort: number) => physical === PHYSICAL.int64 && converted === sort;
  const isFloat = physical === PHYSICAL.float;
  const [, ownScale] = /^decimal\(\d+, (\d+)\)$/.exec(type) ?? [];
  if (ownScale !== undefined)
    return converted === CONVERTED.decimal && scale === Number(ownScale) ? decimal : null;
  switch (type) {
    case "boolean":
      return physical === PHYSICAL.boolean ? whole(1) : null;
    case "int":
      return isShort ? whole(4) : null;
    case "long":
      return isShort || isLong ? whole(8) : null;
    case "float":
      return isFloat ? real(4) : null;
    case "double":
      return isFloat || physical === PHYSICAL.double ? real(8) : null;
    case "date":
      return physical === PHYSICAL.int32 && converted === CONVERTED.date ? whole(4) : null;
    case "time":
      return isMicros(CONVERTED.timeMicros) ? whole(8) : null;
    case "timestamp":
    case "timestamptz":
      return isMicros(CONVERTED.timestampMicros) ? whole(8) : null;
    case "string":
      return physical === PHYSICAL.bytes && (converted === CONVERTED.utf8 || converted === CONVERTED.json)
        ? text
        : null;
    case "binary":
      return physical === PHYSICAL.bytes && converted === null ? binary : null;
    default:
      return null;
  }
}
