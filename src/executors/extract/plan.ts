import { AppError } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { CursorState } from "../../lake/contract.ts";
import type { ExtractRequest } from "../../providers/contract.ts";
import { FILE_ENDINGS } from "../../providers/files/file-kinds.ts";
import type { Endpoint } from "../../providers/http-template/endpoint.ts";
import type { ConnectionUse } from "../contract.ts";
import { beforeLag } from "./cursor.ts";
import type { FileOptions } from "./file-options.ts";
import { asciiName, columnPath, normaliseName } from "./naming.ts";
import type { SchemaContract } from "./resolve.ts";
import { columnType } from "./types.ts";

type WriteDisposition = "append" | "replace" | "merge";

export const MERGE_STRATEGIES = ["delete_insert", "upsert", "insert_only", "scd2"] as const;
type MergeStrategy = (typeof MERGE_STRATEGIES)[number];

export const DELETES = ["ignore", "soft", "hard"] as const;
/** What to do with rows whose keys are missing from the source. */
type Deletes = (typeof DELETES)[number];

/** Default for the maximum percentage of a table's rows that a load may delete. */
const MAX_DELETE_PERCENT = 50;

/** One resource of the definition. */
export interface ResourceDefinition {
  name?: string;
  spec?: string;
  /** Tables excluded from a wildcard in `spec`. */
  exclude?: string[];
  primaryKey?: string[];
  incremental?: { cursorField: string; initialValue?: Json; lagSeconds?: number; endValue?: Json };
  writeDisposition?: WriteDisposition;
  mergeStrategy?: MergeStrategy;
  columns?: (string | { name: string; type?: string })[];
  where?: string;
  parameters?: Record<string, Json>;
  endpoint?: Endpoint;
  file?: FileOptions;
  /** The only sheet to read from workbooks that have it, if an earlier resource found it. Never set by a definition. */
  furtherSheet?: string;
  deletes?: Deletes;
  maxDelete?: number;
}

/** Settings of all resources of a definition. */
export interface Options {
  /** Whether the connection is opened to read or to write. */
  purpose: ConnectionUse;
  layer: string;
  dataset: string;
  contract: SchemaContract;
  batchSize: number | null;
  maxRows: number | null;
  maxNesting: number;
  dryRun: boolean;
  strictCounts: boolean;
  allowPartial: boolean;
}

/** Range to read for one resource, and the state of the last load. */
export interface IncrementalPlan {
  field: string;
  /** The start of the range in the result: the stored value, or else the initial one. */
  start: Json;
  /** Where reading starts: `start` minus the lag. */
  from: Json;
  /** End of a backfill. Null for other loads. */
  to: Json;
  lagSeconds: number;
  /** State that this load continues from. Null for a first load, a backfill and a replace. */
  stored: CursorState | null;
  isBackfill: boolean;
}

export interface Plan {
  /** Name under which the cursor is stored. */
  resource: string;
  table: string;
  disposition: WriteDisposition;
  /** Only for a merge. */
  strategy: MergeStrategy;
  primaryKey: readonly string[];
  incremental: IncrementalPlan | null;
  limit: number | null;
  request: ExtractRequest;
  file: FileOptions;
  /** Null: the file option decides. */
  sheet: string | null;
  deletes: Deletes;
  /** Maximum percentage of the table's rows that one load may delete. */
  maxDelete: number;
  /** Types set in the definition, by the column's name in the table. */
  fixed: ReadonlyMap<string, string>;
}

/** Maximum number of rows per resource in a dry run. */
const DRY_RUN_ROWS = 100;

export const resourceName = (resource: ResourceDefinition): string => resource.name ?? resource.spec ?? "";

export const tableName = ({ name, spec = "" }: ResourceDefinition): string =>
  asciiName(normaliseName(name ?? (FILES.test(spec) ? fileStem(spec) : tableStem(spec))));

/** A path or pattern of files. A quoted name is always a table's. */
const FILES = new RegExp(
  `^[^"]*(?:[/*?[{]|\\.(?:${[...FILE_ENDINGS, "gsheet"].join("|")})(?:\\.\\w+)?$)`,
  "i",
);
/** Wildcards, and characters that a backslash escapes. */
const WILDCARDS = /\\(.)|\[[^\]]*\]|\{[^}]*\}|[*?]/g;

/** A filename without folders and extension, or the folder's name if the filename is only wildcards. */
function fileStem(spec: string): string {
  const [file = "", ...folders] = spec.split("/").reverse();
  const stems = [file.replace(/(?<=.)\..*$/, ""), ...folders].map((part) =>
    part.replace(WILDCARDS, "$1").replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ""),
  );
  return stems.find((stem) => stem !== "") ?? spec;
}

/** A table's name without its schema. */
function tableStem(spec: string): string {
  const [, quoted, plain] = /(?:^|\.)(?:"((?:[^"]|"")+)"|([^."]+))$/.exec(spec) ?? [];
  return quoted?.replaceAll('""', '"') ?? plain ?? spec;
}

export function planResource(
  resource: ResourceDefinition,
  options: Options,
  stored: CursorState | null,
  warn: (text: string) => void,
): Plan {
  const { columns, where, parameters = {}, primaryKey = [], writeDisposition = "append" } = resource;
  const { mergeStrategy = "delete_insert", deletes = "ignore" } = resource;
  const incremental = planIncremental(resource, stored, warn);
  const limit = options.dryRun ? Math.min(options.maxRows ?? DRY_RUN_ROWS, DRY_RUN_ROWS) : options.maxRows;
  const named = columns?.map((column) => (typeof column === "string" ? { name: column } : column)) ?? [];
  const types = new Map(
    named.flatMap(({ name, type }) =>
      type === undefined ? [] : [[name, columnType(type) ?? "VARCHAR"] as const],
    ),
  );
  // `columns` that only set types select nothing.
  const isChosen = named.some(({ type }) => type === undefined);
  const needed = [...primaryKey, ...(incremental ? [incremental.field] : [])];
  return {
    resource: resourceName(resource),
    table: tableName(resource),
    disposition: writeDisposition,
    strategy: mergeStrategy,
    primaryKey,
    incremental,
    limit,
    file: resource.file ?? {},
    sheet: resource.furtherSheet ?? null,
    deletes,
    maxDelete: resource.maxDelete ?? MAX_DELETE_PERCENT,
    fixed: new Map([...types].map(([name, type]) => [columnPath(name), type])),
    request: {
      spec: resource.spec ?? resourceName(resource),
      columns: isChosen ? [...new Set([...named.map(({ name }) => name), ...needed])] : null,
      types,
      where: where === undefined ? null : positional(where, parameters),
      range: incremental && { field: incremental.field, from: incremental.from, to: incremental.to },
      // Rows at the boundary were loaded before. Without room for them a load with a limit would never get past
      // them.
      maxRows: limit === null ? null : limit + (incremental?.stored?.boundary.length ?? 0),
      batchSize: options.batchSize,
      ...(resource.file?.format ? { format: resource.file.format } : {}),
      ...(writeDisposition === "merge" || deletes !== "ignore" ? { keyOf: keyIn(primaryKey) } : {}),
      ...(deletes === "ignore" || options.dryRun ? {} : { keys: primaryKey }),
      ...(resource.endpoint ? { endpoint: resource.endpoint as JsonObject } : {}),
    },
  };
}

/** Finds the key among a source's columns, each by its source name or its name in the table. */
const keyIn = (primaryKey: readonly string[]) => (columns: readonly string[]) =>
  primaryKey.flatMap((name) => {
    const isSame = (column: string) => normaliseName(column) === normaliseName(name);
    return columns.includes(name) ? name : (columns.find(isSame) ?? []);
  });

function planIncremental(
  { incremental, writeDisposition }: ResourceDefinition,
  stored: CursorState | null,
  warn: (text: string) => void,
): IncrementalPlan | null {
  if (!incremental) return null;
  const { cursorField: field, initialValue = null, lagSeconds = 0, endValue = null } = incremental;
  const isBackfill = endValue !== null;
  let state = isBackfill || writeDisposition === "replace" ? null : stored;
  if (state && state.cursorField !== field) {
    warn(
      `The cursor field changed from ${state.cursorField} to ${field}. The load starts from the beginning.`,
    );
    state = null;
  }
  const start = state ? state.lastValue : initialValue;
  const from = state ? beforeLag(state.lastValue, lagSeconds) : initialValue;
  return { field, start, from, to: endValue, lagSeconds, stored: state, isBackfill };
}

/** Numbers the `$name` parameters of `where` in order of appearance. */
function positional(sql: string, named: Readonly<Record<string, Json>>): { sql: string; parameters: Json[] } {
  const numbers = new Map<string, number>();
  const parameters: Json[] = [];
  const text = sql.replaceAll(
    /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$([A-Za-z_][A-Za-z0-9_]*|\d+)/g,
    (whole: string, name: string | undefined) => {
      if (name === undefined) return whole;
      if (!Object.hasOwn(named, name))
        throw new AppError("definition_invalid", `The condition uses $${name}, which isn't in parameters.`);
      const number = numbers.get(name) ?? parameters.push(named[name] ?? null);
      numbers.set(name, number);
      return `$${number}`;
    },
  );
  return { sql: text, parameters };
}
