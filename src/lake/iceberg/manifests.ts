import { avroWriter } from "./avro.ts";
import type { Schema } from "./fields.ts";
import { schemaJson } from "./metadata.ts";
import type { ColumnMetrics } from "./metrics.ts";

/** A data file in a manifest. */
export interface DataFile {
  /** The full URL. */
  location: string;
  rows: number;
  bytes: number;
  /** Number of the snapshot that added it. */
  addedIn: number;
  /** Of its columns, as far as known. */
  metrics?: readonly ColumnMetrics[];
}

/** An entry of a manifest list. */
export interface Manifest {
  /** Relative to the table's folder. */
  name: string;
  length: number;
  /** Number of the snapshot that wrote it. */
  sequence: number;
  minSequence: number;
  added: Count;
  existing: Count;
  deleted: Count;
}

interface Count {
  files: number;
  rows: number;
}

/** The files of a snapshot, by their status. */
export interface ManifestFiles {
  added: readonly DataFile[];
  existing: readonly DataFile[];
  deleted: readonly DataFile[];
}

const field = (name: string, id: number, type: unknown) => ({ name, type, "field-id": id });
const nullable = (name: string, id: number, type: unknown) => ({
  ...field(name, id, ["null", type]),
  default: null,
});

/** Avro's maps have string keys, so the specification uses lists of pairs. */
const byColumn = (name: string, id: number, [key, value]: [number, number], type: "long" | "bytes") =>
  nullable(name, id, {
    type: "array",
    logicalType: "map",
    items: {
      type: "record",
      name: `k${key}_v${value}`,
      fields: [field("key", key, "int"), field("value", value, type)],
    },
  });

const MANIFEST_ENTRIES = avroWriter({
  type: "record",
  name: "manifest_entry",
  fields: [
    field("status", 0, "int"),
    nullable("snapshot_id", 1, "long"),
    nullable("sequence_number", 3, "long"),
    nullable("file_sequence_number", 4, "long"),
    field("data_file", 2, {
      type: "record",
      name: "r2",
      fields: [
        field("content", 134, "int"),
        field("file_path", 100, "string"),
        field("file_format", 101, "string"),
        field("partition", 102, { type: "record", name: "r102", fields: [] }),
        field("record_count", 103, "long"),
        field("file_size_in_bytes", 104, "long"),
        byColumn("value_counts", 109, [119, 120], "long"),
        byColumn("null_value_counts", 110, [121, 122], "long"),
        byColumn("nan_value_counts", 137, [138, 139], "long"),
        byColumn("lower_bounds", 125, [126, 127], "bytes"),
        byColumn("upper_bounds", 128, [129, 130], "bytes"),
        nullable("sort_order_id", 140, "int"),
      ],
    }),
  ],
});

const MANIFEST_FILES = avroWriter({
  type: "record",
  name: "manifest_file",
  fields: [
    field("manifest_path", 500, "string"),
    field("manifest_length", 501, "long"),
    field("partition_spec_id", 502, "int"),
    field("content", 517, "int"),
    field("sequence_number", 515, "long"),
    field("min_sequence_number", 516, "long"),
    field("added_snapshot_id", 503, "long"),
    field("added_files_count", 504, "int"),
    field("existing_files_count", 505, "int"),
    field("deleted_files_count", 506, "int"),
    field("added_rows_count", 512, "long"),
    field("existing_rows_count", 513, "long"),
    field("deleted_rows_count", 514, "long"),
  ],
});

/** Status of a file in the snapshot that wrote the manifest. */
const STATUS = { existing: 0, added: 1, deleted: 2 } as const;

/** Returns the ID of a snapshot, by its number. */
export type IdOf = (number: number) => number;

/** A manifest of the snapshot `number`. Each entry has its own sequence number, so that readers don't inherit any. */
export function writeManifest(
  number: number,
  name: string,
  files: ManifestFiles,
  schema: Schema,
  idOf: IdOf,
): { manifest: Manifest; bytes: Buffer } {
  const entries = (["existing", "added", "deleted"] as const).flatMap((kind) =>
    files[kind].map(({ location, rows, bytes, addedIn, metrics = [] }) => ({
      status: STATUS[kind],
      snapshot_id: idOf(kind === "deleted" ? number : addedIn),
      sequence_number: addedIn,
      file_sequence_number: addedIn,
      data_file: {
        content: 0,
        file_path: location,
        file_format: "PARQUET",
        partition: {},
        record_count: rows,
        file_size_in_bytes: bytes,
        value_counts: pairsOf(metrics, "values"),
        null_value_counts: pairsOf(metrics, "nulls"),
        nan_value_counts: pairsOf(metrics, "nans"),
        lower_bounds: pairsOf(metrics, "lower"),
        upper_bounds: pairsOf(metrics, "upper"),
        sort_order_id: 0,
      },
    })),
  );
  const bytes = MANIFEST_ENTRIES.write(entries, {
    schema: JSON.stringify(schemaJson(schema)),
    "schema-id": String(schema.id),
    "partition-spec": "[]",
    "partition-spec-id": "0",
    "format-version": "2",
    content: "data",
  });
  const counts = (some: readonly DataFile[]): Count => ({
    files: some.length,
    rows: some.reduce((sum, { rows }) => sum + rows, 0),
  });
  const manifest: Manifest = {
    name,
    length: bytes.length,
    sequence: number,
    minSequence: [...files.added, ...files.existing].reduce((least, f) => Math.min(least, f.addedIn), number),
    added: counts(files.added),
    existing: counts(files.existing),
    deleted: counts(files.deleted),
  };
  return { manifest, bytes };
}

/** Values by column ID; null if there are none. */
function pairsOf(metrics: readonly ColumnMetrics[], name: Exclude<keyof ColumnMetrics, "id">) {
  const pairs = metrics.flatMap(({ id, [name]: value }) => (value === null ? [] : [{ key: id, value }]));
  return pairs.length > 0 ? pairs : null;
}

/** The manifest list of a snapshot, in the folder `location`. */
export function writeManifestList(
  { number, parent, location }: { number: number; parent: number | null; location: string },
  manifests: readonly Manifest[],
  idOf: IdOf,
): Buffer {
  const rows = manifests.map((manifest) => ({
    manifest_path: `${location}/${manifest.name}`,
    manifest_length: manifest.length,
    partition_spec_id: 0,
    content: 0,
    sequence_number: manifest.sequence,
    min_sequence_number: manifest.minSequence,
    added_snapshot_id: idOf(manifest.sequence),
    added_files_count: manifest.added.files,
    existing_files_count: manifest.existing.files,
    deleted_files_count: manifest.deleted.files,
    added_rows_count: manifest.added.rows,
    existing_rows_count: manifest.existing.rows,
    deleted_rows_count: manifest.deleted.rows,
  }));
  return MANIFEST_FILES.write(rows, {
    "snapshot-id": String(idOf(number)),
    "parent-snapshot-id": parent === null ? "null" : String(idOf(parent)),
    "sequence-number": String(number),
    "format-version": "2",
  });
}
