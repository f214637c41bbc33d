import { existsSync, statSync } from "node:fs";
import { createFileDecoder, extractFileHeader } from "avsc";
import { asyncBufferFromFile, parquetMetadataAsync } from "hyparquet";
import { icebergRead } from "icebird";
import type { Client } from "./app.ts";

// biome-ignore lint/suspicious/noExplicitAny: metadata is checked field by field
export type Metadata = any;

/** The catalog's metadata of a table, by the two levels of its namespace. */
export async function loadMetadata(
  call: Client,
  prefix: string,
  layer: string,
  dataset: string,
  table: string,
) {
  const path = `/iceberg/v1/${prefix}/namespaces/${layer}%1F${dataset}/tables/${table}`;
  const { status, body } = await call("GET", path);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body as {
    "metadata-location": string;
    metadata: Metadata;
    config: Record<string, string>;
  };
}

/** Rows that icebird finds, of the current snapshot or another. It reads by the names of the current columns. */
export function readRows(metadata: Metadata, snapshotId = metadata["current-snapshot-id"]) {
  const { "schema-id": schema } = metadata.snapshots.find(
    (each: Metadata) => each["snapshot-id"] === snapshotId,
  );
  const at = { ...metadata, "current-snapshot-id": snapshotId, "current-schema-id": schema };
  return icebergRead({ tableUrl: metadata.location, metadata: at });
}

export const pathOf = (address: string) => address.replace(/^file:\/\//, "");

/** The rows of an Avro file, and its header. */
export async function readAvro(path: string) {
  const { meta } = extractFileHeader(path, { decode: false }) as unknown as {
    meta: Record<string, Buffer>;
  };
  const text = (name: string) => meta[name]?.toString() ?? null;
  const rows: Metadata[] = await Array.fromAsync(
    createFileDecoder(path) as unknown as AsyncIterable<Metadata>,
  );
  return { rows, text, schema: JSON.parse(text("avro.schema") ?? "null") };
}

/** Field IDs by name, throughout an Avro schema. */
export function fieldIds(schema: Metadata): Record<string, number> {
  const ids: Record<string, number> = {};
  const visit = (type: Metadata): void => {
    if (Array.isArray(type)) for (const each of type) visit(each);
    for (const field of type?.fields ?? []) {
      ids[field.name] = field["field-id"];
      visit(field.type);
    }
  };
  visit(schema);
  return ids;
}

const fail = (what: string, value: unknown): never => {
  throw new Error(`${what}: ${JSON.stringify(value)}`);
};

const TYPE =
  /^(boolean|int|long|float|double|date|time|timestamp|timestamptz|string|uuid|binary|decimal\(\d+, \d+\))$/;

/**
 * Checks a table against version 2 of the specification, with everything that its snapshots name.
 * `locate` returns the paths of files on this machine.
 */
export async function checkTable(
  metadata: Metadata,
  locate: (address: string) => string = pathOf,
): Promise<{ files: number }> {
  const must = (holds: unknown, what: string, value: unknown = metadata) => holds || fail(what, value);
  must(metadata["format-version"] === 2, "format-version");
  must(/^[0-9a-f-]{36}$/.test(metadata["table-uuid"]), "table-uuid", metadata["table-uuid"]);
  for (const name of ["location", "last-sequence-number", "last-updated-ms", "last-column-id", "schemas"])
    must(metadata[name] !== undefined, name);
  for (const name of ["partition-specs", "default-spec-id", "last-partition-id", "sort-orders"])
    must(metadata[name] !== undefined, name);
  must(
    metadata["sort-orders"].some((o: Metadata) => o["order-id"] === metadata["default-sort-order-id"]),
    "order",
  );
  must(
    metadata["partition-specs"].some((s: Metadata) => s["spec-id"] === metadata["default-spec-id"]),
    "spec",
  );
  must(metadata.refs.main["snapshot-id"] === metadata["current-snapshot-id"], "refs");
  checkSchemas(metadata);
  let sequence = 0;
  let files = 0;
  for (const [at, snapshot] of metadata.snapshots.entries()) {
    must(
      Number.isSafeInteger(snapshot["snapshot-id"]) && snapshot["snapshot-id"] > 0,
      "snapshot-id",
      snapshot,
    );
    must(snapshot["sequence-number"] > sequence, "sequence-number", snapshot);
    sequence = snapshot["sequence-number"];
    must(snapshot["parent-snapshot-id"] === metadata.snapshots[at - 1]?.["snapshot-id"], "parent", snapshot);
    must(
      metadata.schemas.some((s: Metadata) => s["schema-id"] === snapshot["schema-id"]),
      "schema",
      snapshot,
    );
    must(
      ["append", "overwrite", "delete", "replace"].includes(snapshot.summary.operation),
      "operation",
      snapshot,
    );
    files += await checkSnapshot(metadata, snapshot, locate);
  }
  must(sequence === metadata["last-sequence-number"], "last-sequence-number");
  return { files };
}

function checkSchemas(metadata: Metadata) {
  const must = (holds: unknown, what: string, value: unknown = metadata.schemas) =>
    holds || fail(what, value);
  must(metadata.schemas.at(-1)["schema-id"] === metadata["current-schema-id"], "current-schema-id");
  const mapping = JSON.parse(metadata.properties["schema.name-mapping.default"]);
  const mapped = new Map<string, number>();
  for (const { "field-id": id, names } of mapping)
    for (const name of names) {
      must(!mapped.has(name), "a name leads to two ids", mapping);
      mapped.set(name, id);
    }
  const types = new Map<number, unknown>();
  for (const schema of metadata.schemas) {
    const ids = schema.fields.flatMap((f: Metadata) => [f.id, ...idsWithin(f.type)]);
    must(new Set(ids).size === ids.length, "an id stands twice", schema);
    must(Math.max(...ids) <= metadata["last-column-id"], "last-column-id", schema);
    for (const { id, name, type } of schema.fields) {
      for (const plain of plainTypes(type)) must(TYPE.test(plain), "type", type);
      must(mapped.get(name) === id, "a name leads to another id", { name, id, mapping });
      must(typeof (types.get(id) ?? type) === typeof type, "a list became none", schema);
      types.set(id, type);
    }
  }
}

/** The types within a type, each with the IDs next to it. */
const within = (type: Metadata): [type: Metadata, ids: number[]][] => {
  if (typeof type === "string") return [];
  if (type.type === "list") return [[type.element, [type["element-id"]]]];
  if (type.type === "map")
    return [
      [type.key, [type["key-id"]]],
      [type.value, [type["value-id"]]],
    ];
  return type.fields.map((field: Metadata) => [field.type, [field.id]]);
};

const idsWithin = (type: Metadata): number[] =>
  within(type).flatMap(([inner, ids]) => [...ids, ...idsWithin(inner)]);

const plainTypes = (type: Metadata): string[] =>
  typeof type === "string" ? [type] : within(type).flatMap(([inner]) => plainTypes(inner));

/** Number of files in the snapshot. */
async function checkSnapshot(
  metadata: Metadata,
  snapshot: Metadata,
  locate: (address: string) => string,
): Promise<number> {
  const must = (holds: unknown, what: string, value: unknown = snapshot) => holds || fail(what, value);
  const list = await readAvro(locate(snapshot["manifest-list"]));
  must(list.text("snapshot-id") === String(snapshot["snapshot-id"]), "snapshot-id of the list");
  must(list.text("format-version") === "2", "format-version of the list");
  const paths = new Set<string>();
  let rows = 0;
  for (const manifest of list.rows) {
    const path = locate(manifest.manifest_path);
    must(statSync(path).size === manifest.manifest_length, "manifest_length", manifest);
    must(manifest.content === 0 && manifest.partition_spec_id === 0, "content", manifest);
    must(manifest.sequence_number <= snapshot["sequence-number"], "sequence_number", manifest);
    const { rows: entries, text } = await readAvro(path);
    for (const name of [
      "schema",
      "schema-id",
      "partition-spec",
      "partition-spec-id",
      "format-version",
      "content",
    ])
      must(text(name) !== null, `${name} of the manifest`, manifest);
    const of = (status: number) => entries.filter((entry) => entry.status === status);
    const sum = (some: Metadata[]) => some.reduce((n, entry) => n + entry.data_file.record_count, 0);
    for (const [name, status] of [
      ["existing", 0],
      ["added", 1],
      ["deleted", 2],
    ] as const) {
      must(manifest[`${name}_files_count`] === of(status).length, `${name}_files_count`, manifest);
      must(manifest[`${name}_rows_count`] === sum(of(status)), `${name}_rows_count`, manifest);
    }
    const live = entries.filter((entry) => entry.status !== 2);
    const least = Math.min(manifest.sequence_number, ...live.map((entry) => entry.sequence_number));
    must(manifest.min_sequence_number === least, "min_sequence_number", manifest);
    for (const { sequence_number, snapshot_id, data_file } of live) {
      must(sequence_number <= manifest.sequence_number, "an entry from the future", data_file);
      must(snapshot_id > 0, "snapshot_id of an entry", data_file);
      must(data_file.content === 0 && data_file.file_format === "PARQUET", "data_file", data_file);
      const file = locate(data_file.file_path);
      must(!paths.has(file), "a file stands twice", file);
      paths.add(file);
      must(existsSync(file), "a file is gone", file);
      must(statSync(file).size === data_file.file_size_in_bytes, "file_size_in_bytes", data_file);
      const { num_rows } = await parquetMetadataAsync(await asyncBufferFromFile(file));
      must(Number(num_rows) === data_file.record_count, "record_count", data_file);
      for (const { value } of data_file.value_counts ?? [])
        must(value === data_file.record_count, "value_counts", data_file);
      rows += data_file.record_count;
    }
  }
  must(String(rows) === snapshot.summary["total-records"], "total-records", { rows, snapshot });
  must(String(paths.size) === snapshot.summary["total-data-files"], "total-data-files", snapshot);
  must(metadata.location.length > 0, "location");
  return paths.size;
}
