import { quoteName } from "./postgres-names.ts";

/** A column as the catalogue has it; domains are already followed to what they rest on. */
export interface SourceColumn {
  name: string;
  /** The source's own name of the type, such as `numeric(10,2)`. */
  type: string;
  /** The same without length or precision, to cast a value to. */
  castType: string;
  nullable: boolean;
  /** `pg_type.typname`, `typtype` and `typcategory` of the base type. */
  base: string;
  kind: string;
  category: string;
  modifier: number;
}

/** How a column goes over: what COPY selects, and the DuckDB type of its text. */
export interface Passage {
  expression: string;
  dataType: string;
}

/** DuckDB's widest decimal. */
const MAX_DECIMAL_DIGITS = 38;

const SAME_TEXT: Readonly<Record<string, string>> = {
  int2: "SMALLINT",
  int4: "INTEGER",
  int8: "BIGINT",
  oid: "BIGINT",
  float4: "FLOAT",
  float8: "DOUBLE",
  bool: "BOOLEAN",
  time: "TIME",
  json: "JSON",
  jsonb: "JSON",
};

/**
 * DuckDB's reading of a PostgreSQL column.
 *
 * Exact for integers, floats (NaN and infinities too), booleans, text, json, time, `numeric(p,s)` up to 38
 * digits, dates and timestamps (infinities too; `timestamptz` in UTC). Arrays and composites become JSON,
 * bytea becomes hex text, all else (uuid, enum, interval, range, network, bit, xml …) its text.
 *
 * What DuckDB can't hold: `numeric` without precision, or with more than 38 digits, becomes DOUBLE, as
 * DuckDB's own PostgreSQL reader has it; NaN in a `numeric(p,s)`, years before 1, and timestamps after the
 * year 294246 become NULL, so that one odd value does not stop a load.
 */
export function passage(column: SourceColumn): Passage {
  const name = quoteName(column.name);
  const same = SAME_TEXT[column.base];
  if (same !== undefined) return { expression: name, dataType: same };
  if (column.category === "A" || column.kind === "c") {
    return { expression: `to_json(${name})`, dataType: "JSON" };
  }
  switch (column.base) {
    case "numeric":
      return numericPassage(name, column.modifier);
    case "money":
      return { expression: `${name}::numeric`, dataType: "DECIMAL(22,3)" };
    case "bytea":
      return { expression: `encode(${name}, 'hex')`, dataType: "VARCHAR" };
    case "date":
      return {
        expression: `case when ${name} >= '0001-01-01' or ${name} = '-infinity' then ${name} end`,
        dataType: "DATE",
      };
    case "timestamp":
      return { expression: readableInstant(name), dataType: "TIMESTAMP" };
    case "timestamptz":
      return { expression: readableInstant(name), dataType: "TIMESTAMPTZ" };
    default:
      return { expression: name, dataType: "VARCHAR" };
  }
}

/** Either the instant, where DuckDB can read it, or null. The session's time zone is UTC. */
const readableInstant = (name: string): string =>
  `case when (${name} >= '0001-01-01' and ${name} < '294247-01-01') or not isfinite(${name}) then ${name} end`;

function numericPassage(name: string, modifier: number): Passage {
  if (modifier < 4) return { expression: name, dataType: "DOUBLE" };
  const precision = ((modifier - 4) >> 16) & 0xffff;
  const scale = (((modifier - 4) & 0x7ff) ^ 1024) - 1024; // eleven bits, signed since PostgreSQL 15
  // A negative scale rounds left of the point; one above the precision has zeros right of it.
  const digits = scale < 0 ? precision - scale : Math.max(precision, scale);
  if (digits > MAX_DECIMAL_DIGITS) return { expression: name, dataType: "DOUBLE" };
  return { expression: `nullif(${name}, 'NaN')`, dataType: `DECIMAL(${digits},${Math.max(scale, 0)})` };
}
