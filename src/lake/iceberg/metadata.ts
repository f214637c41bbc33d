import type { Schema, SchemaHistory } from "./fields.ts";
import { namesWithin, typeJson } from "./types.ts";

/** A state of a table that readers can request. */
export interface Snapshot {
  number: number;
  id: number;
  /** Milliseconds since the epoch. */
  atMs: number;
  schemaId: number;
  operation: "append" | "overwrite" | "delete" | "replace";
  /** The name of its manifest list, relative to the table's folder. */
  list: string;
  /** The operation and the table's totals after it, by Iceberg's names. */
  summary: Readonly<Record<string, string>>;
}

export interface TableState {
  uuid: string;
  /** The URL of the table's folder, without a trailing slash. */
  location: string;
  history: SchemaHistory;
  /** Oldest first; the last one is current. */
  snapshots: readonly Snapshot[];
}

/** Tables aren't partitioned in Iceberg's sense: files are found only by their manifests. */
const UNPARTITIONED = { "spec-id": 0, fields: [] };
const LAST_PARTITION_ID = 999;

/** The table's metadata, by the specification of format version 2. */
export function tableMetadata({ uuid, location, history, snapshots: unordered }: TableState) {
  const snapshots = inOrder(unordered);
  const last = snapshots.at(-1);
  return {
    "format-version": 2,
    "table-uuid": uuid,
    location,
    "last-sequence-number": last?.number ?? 0,
    "last-updated-ms": last?.atMs ?? 0,
    "last-column-id": history.lastColumnId,
    schemas: history.schemas.map(schemaJson),
    "current-schema-id": history.schemas.at(-1)?.id ?? 0,
    "partition-specs": [UNPARTITIONED],
    "default-spec-id": UNPARTITIONED["spec-id"],
    "last-partition-id": LAST_PARTITION_ID,
    "sort-orders": [{ "order-id": 0, fields: [] }],
    "default-sort-order-id": 0,
    properties: {
      "schema.name-mapping.default": JSON.stringify(nameMapping(history)),
      "write.format.default": "parquet",
    },
    "current-snapshot-id": last?.id ?? -1,
    snapshots: snapshots.map((snapshot, at) => {
      const parent = snapshots[at - 1];
      return {
        "snapshot-id": snapshot.id,
        ...(parent ? { "parent-snapshot-id": parent.id } : {}),
        "sequence-number": snapshot.number,
        "timestamp-ms": snapshot.atMs,
        "manifest-list": `${location}/${snapshot.list}`,
        "schema-id": snapshot.schemaId,
        summary: { operation: snapshot.operation, ...snapshot.summary },
      };
    }),
    "snapshot-log": snapshots.map(({ id, atMs }) => ({ "snapshot-id": id, "timestamp-ms": atMs })),
    "metadata-log": [],
    refs: last ? { main: { "snapshot-id": last.id, type: "branch" } } : {},
  };
}

/** Readers refuse a table with decreasing timestamps, as after a clock was set back: each is at least the previous. */
function inOrder(snapshots: readonly Snapshot[]): Snapshot[] {
  let latestMs = 0;
  return snapshots.map((snapshot) => {
    latestMs = Math.max(latestMs, snapshot.atMs);
    return { ...snapshot, atMs: latestMs };
  });
}

export const schemaJson = ({ id, fields }: Schema) => ({
  type: "struct",
  "schema-id": id,
  fields: fields.map((field) => ({
    id: field.id,
    name: field.name,
    required: false,
    type: typeJson(field.type),
  })),
});

/** Maps every name that a column has had to its ID, because files have no IDs. */
const nameMapping = ({ names }: SchemaHistory) =>
  names.map(({ id, type, names: all }) => ({ "field-id": id, names: all, ...namesWithin(type) }));
