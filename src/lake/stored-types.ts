/** DuckDB's canonical name of a type, from one of its aliases. */
export function typeName(type: string): string {
  const upper = type
    .trim()
    .toUpperCase()
    .replaceAll(/\s*,\s*/g, ",");
  if (upper.endsWith("[]")) return `${typeName(upper.slice(0, -2))}[]`;
  return ALIASES[upper] ?? upper;
}

const ALIASES: Readonly<Record<string, string>> = {
  TIMESTAMPTZ: "TIMESTAMP WITH TIME ZONE",
  TIMETZ: "TIME WITH TIME ZONE",
  TEXT: "VARCHAR",
  STRING: "VARCHAR",
  INT: "INTEGER",
  INT2: "SMALLINT",
  INT4: "INTEGER",
  INT8: "BIGINT",
  BOOL: "BOOLEAN",
  FLOAT4: "FLOAT",
  REAL: "FLOAT",
  FLOAT8: "DOUBLE",
  BYTEA: "BLOB",
};

/**
 * The type in which a source column is stored: one that both Parquet and Iceberg have. Structs, maps and lists of
 * lists become JSON. Types that Parquet would change (128-bit integers, intervals, bits, enums, times with a zone)
 * become text.
 */
export function storedType(type: string): string {
  const name = typeName(type);
  const element = /^([^[\]]+)\[\d*\]$/.exec(name)?.[1];
  if (element !== undefined && !/^(STRUCT|MAP|UNION|JSON)\b/.test(element)) return `${storedType(element)}[]`;
  if (/\]$|^(STRUCT|MAP|UNION|LIST)\b/.test(name)) return "JSON";
  return STORED[name] ?? (/^ENUM\b/.test(name) ? "VARCHAR" : name);
}

/** Iceberg has no unsigned integers, and would read a 64-bit one as a negative number. */
const STORED: Readonly<Record<string, string>> = {
  UTINYINT: "INTEGER",
  USMALLINT: "INTEGER",
  UINTEGER: "BIGINT",
  UBIGINT: "DECIMAL(20,0)",
  TIMESTAMP_S: "TIMESTAMP",
  TIMESTAMP_MS: "TIMESTAMP",
  ...Object.fromEntries(
    ["HUGEINT", "UHUGEINT", "BIGNUM", "VARINT", "INTERVAL", "BIT", "TIME_NS", "GEOMETRY"].map((type) => [
      type,
      "VARCHAR",
    ]),
  ),
  "TIME WITH TIME ZONE": "VARCHAR",
};
