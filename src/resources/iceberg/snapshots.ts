import type { Ids } from "../../base/ids.ts";
import type { SchemaHistory } from "../../lake/iceberg/fields.ts";
import type { ColumnStats } from "../../lake/iceberg/footer.ts";
import {
  type DataFile,
  type IdOf,
  type Manifest,
  writeManifest,
  writeManifestList,
} from "../../lake/iceberg/manifests.ts";
import type { Snapshot } from "../../lake/iceberg/metadata.ts";
import { metricsOf } from "../../lake/iceberg/metrics.ts";
import type { lakeFiles, lakeSnapshots, PublishedSnapshot } from "../datasets/table.ts";

type FileRow = typeof lakeFiles.$inferSelect;
type SnapshotRow = typeof lakeSnapshots.$inferSelect;

interface Plan {
  history: SchemaHistory;
  /** Oldest first. */
  snapshots: readonly SnapshotRow[];
  /** The files of all these snapshots. */
  files: readonly FileRow[];
  /** Whether everything is rewritten. */
  isNew: boolean;
  /** Manifests of the newest published snapshot. */
  manifests: readonly Manifest[];
  /** The table's folder, and the lake's root. */
  location: string;
  home: string;
  idOf: IdOf;
  ids: Ids;
  /** Reads the statistics of files, by path. */
  statsOf(files: readonly FileRow[]): Promise<ReadonlyMap<string, readonly ColumnStats[]>>;
}

/** A snapshot with what has to be written for it. */
export interface Written {
  number: number;
  snapshot: Snapshot;
  manifests: readonly Manifest[];
  files: { name: string; bytes: Uint8Array }[];
  /** What the database has to store. Null if it already does. */
  published: PublishedSnapshot | null;
}

/** Maximum number of earlier manifests that a snapshot with only added files reuses: readers open each of them. */
const MAX_MANIFESTS = 8;

/**
 * Returns the snapshots that can be read with the table's current columns, oldest first, with what has to be written
 * for each.
 */
export async function planSnapshots(plan: Plan): Promise<Written[]> {
  const { history, snapshots, files, isNew } = plan;
  const unreadable = files.filter((file) => !isReadable(file, history));
  const canBeRead = (row: SnapshotRow) =>
    row.seq >= history.readableFrom && !unreadable.some((file) => has(row, file));
  const done: Written[] = [];
  for (const row of snapshots.filter(canBeRead)) {
    const published = isNew ? null : row.published;
    const before = done.at(-1);
    const after = before ? { ...before, isNext: before.number === row.number - 1 } : null;
    if (published === null) done.push(await writeSnapshot(plan, row, after));
    else {
      const manifests = published.manifests.flatMap(
        (name) => plan.manifests.find((manifest) => manifest.name === name) ?? [],
      );
      const snapshot = snapshotOf(plan, row, published);
      done.push({ number: row.number, snapshot, manifests, files: [], published: null });
    }
  }
  return done;
}

/** Returns whether all columns of a file can be read as the table's current ones. */
export const isReadable = ({ isMixed, addedSeq }: FileRow, { readableFrom }: SchemaHistory): boolean =>
  !isMixed && addedSeq >= readableFrom;

const has = ({ number }: SnapshotRow, { addedSnapshot, removedSnapshot }: FileRow) =>
  addedSnapshot <= number && (removedSnapshot === null || removedSnapshot > number);

async function writeSnapshot(
  plan: Plan,
  row: SnapshotRow,
  before: (Written & { isNext: boolean }) | null,
): Promise<Written> {
  const { history, location, idOf, ids } = plan;
  const { number } = row;
  const present = plan.files.filter((file) => has(row, file));
  const newFiles = present.filter((file) => file.addedSnapshot === number);
  const oldFiles = present.filter((file) => file.addedSnapshot < number);
  const deleted = plan.files
    .filter((file) => file.removedSnapshot === number && file.addedSnapshot < number)
    .map(dataFile(plan));
  const schema =
    history.schemas.find(({ id }) => id === schemaAt(history, row.seq)) ?? history.schemas.at(-1);
  if (!schema) throw new Error("a table has columns");
  const kept =
    deleted.length === 0 && before?.isNext && isWhole(before.manifests, oldFiles) ? before.manifests : null;
  const named = [...newFiles, ...(kept ? [] : oldFiles.toReversed())];
  const stats = await plan.statsOf(named);
  const idOfColumn = columnIds(history);
  const withMetrics = (file: FileRow): DataFile => ({
    ...dataFile(plan)(file),
    metrics: metricsOf(stats.get(file.path) ?? [], schema.fields, idOfColumn),
  });
  const added = newFiles.map(withMetrics);
  const existing = kept ? [] : oldFiles.map(withMetrics);
  const manifests = [...(kept ?? [])];
  const files: Written["files"] = [];
  const entries = { added, existing, deleted };
  if (Object.values(entries).some((some) => some.length > 0)) {
    const name = `metadata/${idOf(number)}-${ids.uuid()}.avro`;
    const { manifest, bytes } = writeManifest(number, name, entries, schema, idOf);
    manifests.push(manifest);
    files.push({ name: inFolder(name), bytes });
  }
  const list = `metadata/snap-${idOf(number)}-${ids.uuid()}.avro`;
  const parent = before?.number ?? null;
  files.push({
    name: inFolder(list),
    bytes: writeManifestList({ number, parent, location }, manifests, idOf),
  });
  const summary = summaryOf(row, added, deleted);
  const published = {
    list,
    manifests: manifests.map(({ name }) => name),
    summary,
  };
  return { number, snapshot: snapshotOf(plan, row, published), manifests, files, published };
}

/** Returns whether manifests name exactly these files, none as deleted, and aren't too many. */
function isWhole(manifests: readonly Manifest[], files: readonly FileRow[]): boolean {
  const named = manifests.reduce((sum, { added, existing }) => sum + added.files + existing.files, 0);
  return manifests.length < MAX_MANIFESTS && named === files.length;
}

/** Returns a function from names of columns in files to IDs. */
function columnIds({ names }: SchemaHistory): (name: string) => number | undefined {
  const ids = new Map(names.flatMap(({ id, names: all }) => all.map((name) => [name, id] as const)));
  return (name) => ids.get(name);
}

const inFolder = (name: string) => name.slice("metadata/".length);

const dataFile =
  ({ home }: Plan) =>
  ({ path, rows, bytes, addedSnapshot }: FileRow): DataFile => ({
    location: `${home}/${path}`,
    rows,
    bytes,
    addedIn: addedSnapshot,
  });

/** Returns the table's columns as of a load. */
const schemaAt = ({ schemas }: SchemaHistory, seq: number): number =>
  (schemas.findLast((schema) => schema.seq <= seq) ?? schemas[0])?.id ?? 0;

const snapshotOf = ({ history, idOf }: Plan, row: SnapshotRow, published: PublishedSnapshot): Snapshot => ({
  number: row.number,
  id: idOf(row.number),
  atMs: Date.parse(row.committedAt),
  schemaId: schemaAt(history, row.seq),
  operation: row.operation,
  list: published.list,
  summary: published.summary,
});

function summaryOf(
  { loadId, files, rows, bytes }: SnapshotRow,
  added: readonly DataFile[],
  deleted: readonly DataFile[],
): Record<string, string> {
  const sum = (some: readonly DataFile[], field: "rows" | "bytes") =>
    String(some.reduce((total, file) => total + file[field], 0));
  return {
    ...(loadId === null ? {} : { "weir.load-id": loadId }),
    "added-data-files": String(added.length),
    "added-records": sum(added, "rows"),
    "added-files-size": sum(added, "bytes"),
    "deleted-data-files": String(deleted.length),
    "deleted-records": sum(deleted, "rows"),
    "removed-files-size": sum(deleted, "bytes"),
    "total-data-files": String(files),
    "total-records": String(rows),
    "total-files-size": String(bytes),
    "total-delete-files": "0",
    "total-position-deletes": "0",
    "total-equality-deletes": "0",
  };
}
