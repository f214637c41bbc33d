import { type FileMetaData, parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { clockText, dayText, instantText } from "./civil.ts";

/** A value as exact text; lists as arrays, structs and maps as objects. */
export type Exact = string | null | Exact[] | { [field: string]: Exact };

/** Content of a file. A column's type is one word, followed by `[]` for each level of lists. */
export interface ExactFile {
  columns: { name: string; type: string }[];
  rows: Record<string, Exact>[];
}

interface Way {
  type: string;
  decode(value: unknown): Exact;
}

type Tree = ReturnType<typeof parquetSchema>;

/**
 * Reads a Parquet file with a reader other than DuckDB. Its logical types are removed first, since hyparquet turns
 * DECIMAL into doubles and timestamps into `Date`; the plain integers and bytes are interpreted here.
 */
export async function readExact(path: string): Promise<ExactFile> {
  const file = await Bun.file(path).arrayBuffer();
  const metadata = await parquetMetadataAsync(file);
  const ways = new Map(parquetSchema(metadata).children.map((tree) => [tree.element.name, wayOf(tree)]));
  stripLeaves(metadata);
  const rows = await parquetReadObjects({ file, metadata, compressors, utf8: false });
  return {
    columns: [...ways].map(([name, { type }]) => ({ name, type })),
    rows: rows.map((row) =>
      Object.fromEntries([...ways].map(([name, way]) => [name, orNull(row[name], way.decode)])),
    ),
  };
}

function stripLeaves({ schema }: FileMetaData): void {
  for (const element of schema) {
    if (element.type === undefined) continue;
    delete element.converted_type;
    delete element.logical_type;
  }
}

const orNull = (value: unknown, decode: (value: unknown) => Exact): Exact =>
  value === null || value === undefined ? null : decode(value);

function wayOf({ element, children }: Tree): Way {
  if (children.length === 0) return leafOf(element);
  const [inner] = children;
  if (element.converted_type === "LIST" && inner) {
    const item = wayOf(inner.children[0] ?? inner);
    return {
      type: `${item.type}[]`,
      decode: (list) => (list as unknown[]).map((value) => orNull(value, item.decode)),
    };
  }
  const [key, value] = inner?.children ?? [];
  if (element.converted_type === "MAP" && key && value) return mapOf(wayOf(key), wayOf(value));
  const fields = children.map((child) => [child.element.name, wayOf(child)] as const);
  return {
    type: "struct",
    decode: (struct) =>
      Object.fromEntries(
        fields.map(([name, way]) => [name, orNull((struct as Record<string, unknown>)[name], way.decode)]),
      ),
  };
}

/** A text key is returned as the property `97,98`, its bytes. */
const mapOf = (key: Way, value: Way): Way => ({
  type: "map",
  decode: (map) =>
    Object.fromEntries(
      Object.entries(map as Record<string, unknown>).map(([name, item]) => [
        key.type === "text" ? String(key.decode(Buffer.from(name.split(",").map(Number)))) : name,
        orNull(item, value.decode),
      ]),
    ),
});

const utf8 = (value: unknown): string => Buffer.from(value as Uint8Array).toString("utf8");
const hex = (value: unknown): string => Buffer.from(value as Uint8Array).toString("hex");
const whole = (value: unknown): bigint => BigInt(value as number | bigint);
const NANOS_OF: Record<string, bigint> = { MILLIS: 1_000_000n, MICROS: 1000n, NANOS: 1n };

function leafOf({ type, converted_type: converted, logical_type: logical, scale = 0 }: Tree["element"]): Way {
  const kind = logical?.type ?? "";
  if (converted === "DECIMAL" || kind === "DECIMAL")
    return {
      type: "decimal",
      decode: (v) => decimalText(v instanceof Uint8Array ? signed(v) : whole(v), scale),
    };
  if (converted === "DATE" || kind === "DATE") return { type: "date", decode: (v) => dayText(whole(v)) };
  if (kind === "TIME" || converted?.startsWith("TIME_")) {
    const nanos = NANOS_OF[unitOf(logical, converted)] ?? 1n;
    const isUtc = logical?.type === "TIME" && logical.isAdjustedToUTC;
    return { type: isUtc ? "timetz" : "time", decode: (v) => clockText(whole(v) * nanos) };
  }
  if (kind === "TIMESTAMP" || converted?.startsWith("TIMESTAMP_")) {
    const nanos = NANOS_OF[unitOf(logical, converted)] ?? 1n;
    const isUtc = logical?.type === "TIMESTAMP" ? logical.isAdjustedToUTC : true;
    return {
      type: `${isUtc ? "timestamptz" : "timestamp"}${nanos === 1n ? "_ns" : ""}`,
      decode: (v) => `${instantText(whole(v) * nanos)}${isUtc ? "+00" : ""}`,
    };
  }
  if (kind === "UUID") {
    const dashes = /^(.{8})(.{4})(.{4})(.{4})(.*)$/;
    return { type: "uuid", decode: (v) => hex(v).replace(dashes, "$1-$2-$3-$4-$5") };
  }
  if (kind === "JSON" || converted === "JSON") return { type: "json", decode: utf8 };
  if (["STRING", "ENUM"].includes(kind) || ["UTF8", "ENUM"].includes(converted ?? ""))
    return { type: "text", decode: utf8 };
  if (converted === "INTERVAL") return { type: "interval", decode: (v) => intervalText(v as Uint8Array) };
  if (converted === "UINT_64") return { type: "uint", decode: (v) => String(BigInt.asUintN(64, whole(v))) };
  if (converted?.startsWith("UINT_"))
    return { type: "uint", decode: (v) => String(BigInt.asUintN(32, whole(v))) };
  switch (type) {
    case "BOOLEAN":
      return { type: "bool", decode: String };
    case "INT32":
      return { type: "int", decode: String };
    case "INT64":
      return { type: "bigint", decode: String };
    case "FLOAT":
      return { type: "float", decode: (v) => floatText(v as number) };
    case "DOUBLE":
      return { type: "double", decode: (v) => doubleText(v as number) };
    default:
      return { type: "bytes", decode: (v) => `\\x${hex(v)}` };
  }
}

const unitOf = (logical: Tree["element"]["logical_type"], converted: string | undefined): string =>
  logical && "unit" in logical ? String(logical.unit) : (converted?.split("_").at(-1) ?? "");

function signed(bytes: Uint8Array): bigint {
  let n = 0n;
  for (const byte of bytes) n = (n << 8n) | BigInt(byte);
  return BigInt.asIntN(8 * bytes.length, n);
}

function decimalText(n: bigint, scale: number): string {
  const digits = (n < 0n ? -n : n).toString().padStart(scale + 1, "0");
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return n < 0n ? `-${text}` : text;
}

const doubleText = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));

/** The shortest text that identifies this float. */
export function floatText(value: number): string {
  for (let digits = 1; digits < 9; digits++) {
    const text = Number.isFinite(value) && value !== 0 ? value.toPrecision(digits) : doubleText(value);
    if (Object.is(Math.fround(Number(text)), value)) return doubleText(Number(text));
  }
  return String(Number(value.toPrecision(9)));
}

/** Months, days and milliseconds, each unsigned, little-endian. */
function intervalText(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return `${view.getUint32(0, true)} months ${view.getUint32(4, true)} days ${view.getUint32(8, true)} ms`;
}
