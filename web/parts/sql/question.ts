import { type ChartSpec, type Column, isNumeric } from "../../../src/base/chart-spec.ts";

/** A query of a table in the builder: its filters, measures and groups. */
export interface Question {
  /** As `layer.table`. Empty until one is selected. */
  table: string;
  filters: readonly Filter[];
  measures: readonly Measure[];
  groups: readonly Group[];
}

export type ColumnKind = "number" | "time" | "string" | "uuid" | "boolean" | "other";

export interface Filter {
  column: string;
  kind: ColumnKind;
  test: Test;
  value: string;
}

export interface Measure {
  fn: MeasureFunction;
  /** Empty for a count of rows. */
  column: string;
}

export interface Group {
  column: string;
  kind: ColumnKind;
  /** Only for times. */
  by: Unit | null;
}

export type Test =
  | "="
  | "!="
  | ">"
  | ">="
  | "<"
  | "<="
  | "contains"
  | "starts"
  | "last"
  | "true"
  | "false"
  | "empty"
  | "filled";
const EMPTINESS = ["empty", "filled"] as const;
/** Tests for each kind of column, with the most common one first. */
export const TESTS: Readonly<Record<ColumnKind, readonly Test[]>> = {
  number: ["=", "!=", ">", ">=", "<", "<=", ...EMPTINESS],
  time: [">=", "<", "=", "last", ...EMPTINESS],
  string: ["=", "!=", "contains", "starts", ...EMPTINESS],
  uuid: ["=", "!=", ...EMPTINESS],
  boolean: ["true", "false", ...EMPTINESS],
  other: EMPTINESS,
};
const ALONE: readonly Test[] = ["true", "false", ...EMPTINESS];
export const takesValue = (test: Test): boolean => !ALONE.includes(test);

export const FUNCTIONS = ["count", "sum", "avg", "min", "max", "distinct"] as const;
export type MeasureFunction = (typeof FUNCTIONS)[number];

export const UNITS = ["day", "week", "month", "quarter", "year"] as const;
export type Unit = (typeof UNITS)[number];

export function kindOf(column: Column): ColumnKind {
  if (column.dataType.endsWith("]")) return "other";
  if (isNumeric(column)) return "number";
  if (/^(DATE|TIMESTAMP)/.test(column.dataType)) return "time";
  if (column.dataType === "BOOLEAN") return "boolean";
  if (column.dataType === "UUID") return "uuid";
  return /^(VARCHAR|ENUM)/.test(column.dataType) ? "string" : "other";
}

/** The columns that a function accepts. */
export const columnsFor = (fn: MeasureFunction, columns: readonly Column[]): readonly Column[] =>
  columns.filter((column) => {
    const kind = kindOf(column);
    if (fn === "sum" || fn === "avg") return kind === "number";
    return fn === "distinct" || kind !== "other";
  });

export const askOf = (table: string): Question => ({ table, filters: [], measures: [], groups: [] });

/** Parses a plain query of one table. Returns an empty question for other SQL. */
export const questionOf = (sql: string): Question =>
  askOf(/^\s*SELECT \*\s+FROM ([\w.]+)(?:\s+LIMIT \d+)?\s*;?\s*$/i.exec(sql)?.[1] ?? "");

const named = (name: string) => `"${name.replaceAll('"', '""')}"`;
const text = (value: string) => `'${value.replaceAll("'", "''")}'`;
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Null while its value is missing. */
function conditionOf({ column, kind, test, value }: Filter): string | null {
  const name = named(column);
  const trimmed = value.trim();
  if (test === "empty" || test === "filled") return `${name} IS ${test === "empty" ? "" : "NOT "}NULL`;
  if (test === "true" || test === "false") return test === "true" ? name : `NOT ${name}`;
  if (test === "last")
    return /^\d+$/.test(trimmed) ? `${name} >= current_date - INTERVAL ${trimmed} DAY` : null;
  if (trimmed === "") return null;
  if (kind === "number" && !NUMBER.test(trimmed)) return null;
  if (kind === "time" && !DAY.test(trimmed)) return null;
  if (kind === "uuid" && !UUID.test(trimmed)) return null;
  if (test === "contains") return `contains(lower(${name}), lower(${text(value)}))`;
  if (test === "starts") return `starts_with(lower(${name}), lower(${text(value)}))`;
  if (kind === "time")
    return test === "="
      ? `CAST(${name} AS DATE) = DATE ${text(trimmed)}`
      : `${name} ${test} DATE ${text(trimmed)}`;
  const literal = kind === "number" ? trimmed : text(kind === "uuid" ? trimmed : value);
  // NULL differs from any value, but SQL's own comparison excludes it.
  return test === "!=" ? `${name} IS DISTINCT FROM ${literal}` : `${name} ${test} ${literal}`;
}

const measureName = ({ fn, column }: Measure) => (column === "" ? fn : `${fn}(${column})`);
const measureOf = ({ fn, column }: Measure) => {
  if (column === "") return "count(*)";
  return fn === "distinct" ? `count(DISTINCT ${named(column)})` : `${fn}(${named(column)})`;
};
const groupName = ({ column, by }: Group) => (by ? `${column}: ${by}` : column);
const groupOf = ({ column, by }: Group) =>
  by ? `CAST(date_trunc('${by}', ${named(column)}) AS DATE)` : named(column);

const once = <T>(list: readonly T[], nameOf: (each: T) => string): readonly T[] => [
  ...new Map(list.map((each) => [nameOf(each), each])).values(),
];

/** Groups and complete measures with their names: measures without a required column are left out. */
function partsOf({ measures, groups }: Question) {
  const complete = measures.filter(({ fn, column }) => column !== "" || fn === "count");
  const taken = new Set(groups.map((group) => groupName(group).toLowerCase()));
  const nameOf = (measure: Measure): string => {
    const name = measureName(measure);
    return taken.has(name.toLowerCase()) ? `${name} (total)` : name;
  };
  return {
    measures: once(complete, measureName).map((measure) => ({ measure, name: nameOf(measure) })),
    groups: once(groups, groupName),
  };
}

/** Empty if no table is selected. */
export function sqlOf(question: Question): string {
  if (question.table === "") return "";
  const { measures, groups } = partsOf(question);
  const conditions = question.filters.map(conditionOf).filter((each) => each !== null);
  const columns = [
    ...groups.map((group) => `${groupOf(group)} AS ${named(groupName(group))}`),
    ...measures.map(({ measure, name }) => `${measureOf(measure)} AS ${named(name)}`),
  ];
  const [first] = groups;
  const isRanked = first?.kind === "string" && measures.length > 0 && groups.length === 1;
  return [
    columns.length === 0 ? "SELECT *" : `SELECT\n  ${columns.join(",\n  ")}`,
    `FROM ${question.table}`,
    ...(conditions.length > 0 ? [`WHERE ${conditions.join("\n  AND ")}`] : []),
    ...(first ? ["GROUP BY ALL"] : []),
    ...(first ? [isRanked ? "ORDER BY 2 DESC" : `ORDER BY ${groups.map((_, at) => at + 1).join(", ")}`] : []),
  ].join("\n");
}

/** A chart for the result. Null for plain rows. */
export function chartOf(question: Question): ChartSpec | null {
  const { measures, groups } = partsOf(question);
  const y = measures.map(({ name }) => name);
  const [first, second] = groups;
  if (!first) return y.length === 1 ? { kind: "number", y } : null;
  if (y.length === 0) return null;
  return {
    kind: first.kind === "time" ? "line" : "bar",
    x: groupName(first),
    y: second ? y.slice(0, 1) : y,
    ...(second ? { series: groupName(second) } : {}),
  };
}
