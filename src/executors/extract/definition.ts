import { type Static, Type } from "@sinclair/typebox";
import { upwardFault } from "../../base/file-path.ts";
import { oneNeeded } from "../../base/schema-rules.ts";
import { anything, described, map, named, object, oneOf, optional } from "../../base/shape.ts";
import { nameFault } from "../../lake/names.ts";
import type { Provider } from "../../providers/contract.ts";
import { Endpoint, endpointFaults, specFault } from "../../providers/http-template/endpoint.ts";
import { Incremental, incrementalFaults } from "../../providers/incremental.ts";
import { FileOptions, fileFaults } from "./file-options.ts";
import { mayBeNamed, namedFaults, withNamed } from "./named.ts";
import { DELETES, MERGE_STRATEGIES, resourceName, tableName } from "./plan.ts";
import { CONTRACT_MODES } from "./resolve.ts";
import { COLUMN_TYPE_PATTERN, columnType } from "./types.ts";
import { isWildcard, MAX_RESOURCES, type SourceKind, sourceKindOf, wildcardFaults } from "./wildcard.ts";

const text = () => named(1000);
const mode = () => oneOf(CONTRACT_MODES);

/** Definition of `dlt_extract` (docs/decisions/runs.md). */
export const definition = object({
  resources: Type.Array(
    object(
      {
        name: optional(described("Name of the table. Default: the name in spec", text())),
        spec: optional(
          described(
            "What to read: a table, tables that match public.* or public.order_*, a resource of the API, a glob of files, or a path. Default: name",
            text(),
          ),
        ),
        exclude: optional(
          described(
            "Tables and views to exclude from a wildcard in spec, such as public.users, users or tmp_*",
            Type.Array(text(), { minItems: 1, maxItems: 1000 }),
          ),
        ),
        primaryKey: optional(
          described("Columns that identify a row. Required for merge", Type.Array(text(), { maxItems: 32 })),
        ),
        incremental: optional(Incremental),
        writeDisposition: optional(
          oneOf(["append", "replace", "merge"], {
            default: "append",
            description:
              "append adds rows: without incremental, every run adds the whole table again. replace replaces all rows. merge replaces rows with the same primaryKey.",
          }),
        ),
        mergeStrategy: optional(
          oneOf(MERGE_STRATEGIES, {
            description:
              "How merge treats existing rows: delete_insert (the default) replaces them entirely, upsert keeps values of columns that the new row lacks, insert_only doesn't change them, scd2 keeps every version with _dlt_valid_from and _dlt_valid_to.",
          }),
        ),
        columns: optional(
          described(
            "Columns to load, and types to set. If every entry has a type, all columns are loaded.",
            Type.Array(
              Type.Union([
                text(),
                object({
                  name: described("Name of the column at the source", text()),
                  type: optional(
                    described(
                      "text, integer, decimal(p,s), double, boolean, date, time, timestamp, timestamptz, uuid, binary or json. Values of other types are stored in a separate column.",
                      Type.String({ pattern: COLUMN_TYPE_PATTERN }),
                    ),
                  ),
                }),
              ]),
              { minItems: 1, maxItems: 5000 },
            ),
          ),
        ),
        where: optional(
          described(
            "SQL condition with $1, $2, … for parameters, in the source's dialect. For files, DuckDB's dialect, over the loaded columns by their names in the table",
            text(),
          ),
        ),
        parameters: optional(described("Values for $1, $2, … in `where`, by number", map(anything()))),
        file: optional(FileOptions),
        endpoint: optional(Endpoint),
        deletes: optional(
          oneOf(DELETES, {
            default: "ignore",
            description:
              "What to do with rows that the source no longer has: soft sets _dlt_deleted_at, hard deletes them. All keys of the source are compared. For files and APIs the run must read all rows, so without incremental and where, and within maxRows.",
          }),
        ),
        maxDelete: optional(
          described(
            "Load nothing if deletes would remove more than this percentage of the table's rows",
            Type.Integer({ minimum: 0, maximum: 100, default: 50 }),
          ),
        ),
      },
      oneNeeded("name", "spec"),
    ),
    { minItems: 1, maxItems: MAX_RESOURCES, description: "What to load, each into its own table" },
  ),
  dataset: described("Dataset to load the tables into", named(200)),
  layer: optional(
    described(
      "Layer of the dataset: raw, staging, marts, or one of your own",
      Type.String({ default: "raw" }),
    ),
  ),
  schemaContract: optional(
    Type.Union(
      [
        mode(),
        object({
          tables: optional(described("New child tables", mode())),
          columns: optional(described("New columns", mode())),
          dataType: optional(described("Values whose type differs from the column's", mode())),
        }),
      ],
      {
        default: "evolve",
        description:
          "What a load may change in an existing table: evolve allows the change, freeze fails the run, discard_row skips the row, discard_value skips the value. One mode for all, or one each.",
      },
    ),
  ),
  batchSize: optional(
    described(
      "Number of rows per page or fetch, if the source supports it",
      Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    ),
  ),
  maxRows: optional(
    described(
      "Approximate maximum number of rows per resource. The next run continues from there",
      Type.Integer({ minimum: 1 }),
    ),
  ),
  maxTableNesting: optional(
    described(
      "Number of levels of nested lists that become child tables. Deeper ones stay JSON",
      Type.Integer({ minimum: 0, maximum: 16, default: 3 }),
    ),
  ),
  dryRun: optional(
    described(
      "Whether to only read a sample and return its columns and rows. Nothing is written",
      Type.Boolean({ default: false }),
    ),
  ),
  strictCounts: optional(
    Type.Boolean({
      default: false,
      description: "Whether the run fails, instead of warning, if the source's own row count differs.",
    }),
  ),
  allowPartial: optional(
    Type.Boolean({
      default: false,
      description: "Whether to skip resources that the credentials can't read. They are named in warnings.",
    }),
  ),
});

const count = () => Type.Integer({ minimum: 0 });
const nullableText = () => Type.Union([Type.String(), Type.Null()]);

/** Result of a run. */
export const result = object({
  loadId: Type.String(),
  mode: oneOf(["initial", "incremental", "backfill", "replace"]),
  tables: Type.Array(
    object({
      table: Type.String(),
      rowsRead: count(),
      rows: count(),
      inserted: count(),
      updated: count(),
      deleted: count(),
      deduplicated: count(),
      rejected: count(),
      bytes: count(),
      files: count(),
      cursor: Type.Union([object({ start: anything(), end: anything() }), Type.Null()]),
      schemaChanges: Type.Array(
        object({
          table: Type.String(),
          column: nullableText(),
          change: oneOf(["added", "widened", "variant"]),
          from: nullableText(),
          to: nullableText(),
        }),
      ),
      columns: optional(
        Type.Array(object({ name: Type.String(), dataType: Type.String(), nullable: Type.Boolean() })),
      ),
      sample: optional(Type.Array(map(anything()))),
    }),
  ),
  rows: count(),
  bytes: count(),
  durationSeconds: Type.Number(),
  warnings: Type.Array(Type.String()),
});

export type Definition = Static<typeof definition>;

const isTemplate = (value: unknown): boolean => typeof value === "string" && value.includes("{{");

/** Returns all errors in a definition for connections of this provider, or of an unknown one if null. */
export function sourceFaultsOf(
  input: Partial<Definition>,
  provider: Provider | null,
): { path: string[]; message: string }[] {
  if (!provider) return faultsOf(input, "none");
  const resources = Array.isArray(input.resources) ? input.resources : [];
  const known = provider.resources?.(null) ?? [];
  const unknown = namedFaults(resources, known);
  if (unknown.length > 0) return unknown;
  return [
    ...(provider.files ? upwardFaults(resources) : []),
    ...faultsOf(
      { ...input, resources: withNamed(resources, known) as Definition["resources"] },
      sourceKindOf(provider),
    ),
  ];
}

const upwardFaults = (resources: Definition["resources"]): { path: string[]; message: string }[] =>
  resources.flatMap(({ spec }, index) => {
    const message = typeof spec === "string" ? upwardFault(spec) : null;
    return message ? [{ path: ["resources", String(index), "spec"], message }] : [];
  });

/**
 * Returns errors that the schema can't express. Values with templates aren't known yet and are accepted, as are
 * settings that an unknown source may support.
 */
export function faultsOf(
  { resources, dataset, layer, maxRows }: Partial<Definition>,
  source: SourceKind = "unknown",
): { path: string[]; message: string }[] {
  const faults: { path: string[]; message: string }[] = [];
  for (const [noun, name] of [
    ["dataset", dataset],
    ["layer", layer],
  ] as const) {
    const fault = typeof name === "string" && !isTemplate(name) ? nameFault(noun, name) : null;
    if (fault) faults.push({ path: [noun], message: fault });
  }
  const tables = new Map<string, number>();
  for (const [index, resource] of (Array.isArray(resources) ? resources : []).entries()) {
    if (typeof resource !== "object") continue;
    const at = ["resources", String(index)];
    const { name, spec, writeDisposition, primaryKey = [], incremental, mergeStrategy } = resource;
    if (name === undefined && spec === undefined) {
      faults.push({ path: [...at, "name"], message: "A resource needs a name or a spec." });
      continue;
    }
    const ofSource = wildcardFaults(resource, source);
    faults.push(...ofSource.map(({ path, message }) => ({ path: [...at, ...path], message })));
    const isMany = isWildcard(resource, source);
    const isOpen = source === "unknown" && mayBeNamed(resource);
    if (writeDisposition === "merge" && primaryKey.length === 0 && !isMany && !isOpen) {
      faults.push({
        path: [...at, "primaryKey"],
        message: "A merge needs a primaryKey to find the rows that it replaces.",
      });
    }
    if (mergeStrategy !== undefined && writeDisposition !== "merge" && !isTemplate(writeDisposition)) {
      faults.push({
        path: [...at, "mergeStrategy"],
        message: "mergeStrategy requires the writeDisposition merge.",
      });
    }
    if (mergeStrategy === "scd2" && !incremental && maxRows !== undefined) {
      faults.push({
        path: [...at, "mergeStrategy"],
        message:
          "Without incremental, scd2 ends the rows that the source no longer has; with maxRows these aren't known.",
      });
    }
    for (const { path, message } of incrementalFaults(incremental))
      faults.push({ path: [...at, "incremental", ...path], message });
    const against = deletesFault(resource, isMany || isOpen) ?? lookFault(resource, source);
    if (against) faults.push({ path: [...at, "deletes"], message: against });
    for (const [at2, column] of (Array.isArray(resource.columns) ? resource.columns : []).entries()) {
      if (typeof column === "string" || column?.type === undefined || columnType(column.type) !== null)
        continue;
      faults.push({
        path: [...at, "columns", String(at2), "type"],
        message: `${column.type} isn't a valid type: a decimal has at most 38 digits, and no more after the point than in total.`,
      });
    }
    if (typeof resource.file === "object") {
      const found = fileFaults(resource.file);
      faults.push(...found.map(({ path, message }) => ({ path: [...at, "file", ...path], message })));
    }
    if (!isOpen)
      faults.push(...askedFaults(resource).map(({ path, message }) => ({ path: [...at, ...path], message })));
    if (isTemplate(resourceName(resource)) || isMany) continue;
    const table = tableName(resource);
    const other = tables.get(table);
    if (other !== undefined) {
      const path = [...at, name === undefined ? "spec" : "name"];
      faults.push({ path, message: `The table ${table} is already written by resources.${other}.` });
    }
    tables.set(table, index);
  }
  return faults;
}

/** Returns why deleted rows can't be found, or don't need to be. */
function deletesFault(resource: Definition["resources"][number], isMany: boolean): string | null {
  const { deletes = "ignore", primaryKey = [], writeDisposition, incremental, mergeStrategy } = resource;
  if (deletes === "ignore" || isTemplate(deletes)) return null;
  if (primaryKey.length === 0 && !isMany) return "deletes requires a primaryKey to find missing rows.";
  if (writeDisposition === "replace") return "A replace already removes rows that the source no longer has.";
  if (incremental?.endValue != null) return "A backfill with endValue deletes nothing.";
  if (mergeStrategy === "scd2") return "With scd2 rows are never deleted: a version ends, and stays.";
  return null;
}

/** Returns why the run wouldn't read all keys of a source that doesn't return them separately. */
function lookFault(
  { deletes = "ignore", incremental, where }: Definition["resources"][number],
  source: SourceKind,
): string | null {
  if (deletes === "ignore" || isTemplate(deletes) || (source !== "files" && source !== "other")) return null;
  const field = incremental !== undefined ? "incremental" : where !== undefined ? "where" : null;
  return (
    field &&
    `deletes compares all keys of the source, and with ${field} the run doesn't read all rows. Remove ${field}, or set deletes to ignore.`
  );
}

/** Returns what is wrong with the settings of an HTTP API. */
function askedFaults({
  spec,
  where,
  endpoint,
  incremental,
}: Definition["resources"][number]): { path: string[]; message: string }[] {
  if (endpoint === undefined) return [];
  const faults: { path: string[]; message: string }[] = [];
  const path = spec === undefined ? specFault("") : typeof spec === "string" ? specFault(spec) : null;
  if (path) faults.push({ path: ["spec"], message: path });
  if (where !== undefined)
    faults.push({
      path: ["where"],
      message: "HTTP APIs don't support conditions. Filter by endpoint.params.",
    });
  return [
    ...faults,
    ...endpointFaults(endpoint, incremental !== undefined).map(({ path, message }) => ({
      path: ["endpoint", ...path],
      message,
    })),
  ];
}
