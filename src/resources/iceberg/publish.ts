import { createHash } from "node:crypto";
import { and, asc, desc, eq, gt, inArray, isNull, lt, or, sql } from "drizzle-orm";
import { AppError, notFound } from "../../base/errors.ts";
import { slot } from "../../base/memory.ts";
import { type App, contextFor, SYSTEM } from "../../context.ts";
import { schemaHistory, UnknownType } from "../../lake/iceberg/fields.ts";
import { type TableState, tableMetadata } from "../../lake/iceberg/metadata.ts";
import { fileIs, type Here, tableIs } from "../datasets/commit.ts";
import { rewriteFilesOf } from "../datasets/compact.ts";
import { lakeFiles, lakeSchemas, lakeSnapshots, lakeTables, type PublishedTable } from "../datasets/table.ts";
import { statsOf } from "./footers.ts";
import { isReadable, planSnapshots, type Written } from "./snapshots.ts";

/** Maximum number of a table's newest snapshots in its metadata, which is read and written as a whole. */
const MAX_SNAPSHOTS = 500;

/** A table as other engines read it. */
export interface Published {
  /** URL of the metadata file. */
  location: string;
  metadata: ReturnType<typeof tableMetadata>;
}

/** Tables with snapshots that aren't in the metadata yet, or whose metadata names deleted ones. */
export const unpublishedTables = (app: App): Promise<Here[]> =>
  app.store.db
    .select({
      organizationId: lakeTables.organizationId,
      layer: lakeTables.layer,
      dataset: lakeTables.dataset,
      tableName: lakeTables.tableName,
    })
    .from(lakeTables)
    .where(sql`${lakeTables.publishedSnapshot} < ${lakeTables.snapshot}`) // Matches the condition of the index.
    .limit(100);

const RUNNING = slot(() => new Map<string, Promise<Published>>());

/**
 * Returns the table's metadata with all of its snapshots, after writing what is missing to the lake.
 * Its files have new names, and nothing refers to them before they are complete, so a crash leaves the previous state.
 * Throws `not_found`, and `invalid_state` for a table that Iceberg can't represent.
 */
export function publishTable(app: App, here: Here): Promise<Published> {
  const running = app.memory.of(RUNNING);
  const key = JSON.stringify([here.organizationId, here.layer, here.dataset, here.tableName]);
  const mine = (running.get(key) ?? Promise.resolve(null)).catch(() => null).then(() => publish(app, here));
  running.set(key, mine);
  const forget = () => void (running.get(key) === mine && running.delete(key));
  mine.then(forget, forget);
  return mine;
}

/** Starts again if the table is written in the meantime. */
const MAX_TRIES = 5;

async function publish(app: App, here: Here): Promise<Published> {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const state = await readState(app, here);
    const unreadable = state.files.filter(
      (file) => file.removedSnapshot === null && !isReadable(file, state.history),
    );
    if (unreadable.length > 0) {
      await rewriteOld(app, here, new Set(unreadable.map(({ id }) => id)));
      continue;
    }
    const published = await publishState(app, here, state);
    if (published) return published;
  }
  throw new AppError("dataset_changed", "The table changed while its metadata was written. Try again.", {
    retryable: true,
  });
}

export const snapshotsOf = (here: Here) =>
  and(
    eq(lakeSnapshots.organizationId, here.organizationId),
    eq(lakeSnapshots.layer, here.layer),
    eq(lakeSnapshots.dataset, here.dataset),
    eq(lakeSnapshots.tableName, here.tableName),
  );

type State = Awaited<ReturnType<typeof readState>>;

async function readState(app: App, here: Here) {
  const { db } = app.store;
  const [table] = await db.select().from(lakeTables).where(tableIs(here));
  if (!table) throw notFound("table");
  const schemas = await db
    .select()
    .from(lakeSchemas)
    .where(
      and(
        eq(lakeSchemas.organizationId, here.organizationId),
        eq(lakeSchemas.layer, here.layer),
        eq(lakeSchemas.dataset, here.dataset),
        eq(lakeSchemas.tableName, here.tableName),
      ),
    )
    .orderBy(asc(lakeSchemas.seq));
  const history = historyOf(here, schemas);
  const newest = await db
    .select()
    .from(lakeSnapshots)
    .where(snapshotsOf(here))
    .orderBy(desc(lakeSnapshots.number))
    .limit(MAX_SNAPSHOTS);
  const snapshots = newest.reverse();
  const files = await db
    .select()
    .from(lakeFiles)
    .where(
      and(
        fileIs(here),
        or(
          and(isNull(lakeFiles.removedSnapshot), isNull(lakeFiles.removedAt)),
          gt(lakeFiles.removedSnapshot, snapshots[0]?.number ?? 0),
        ),
      ),
    )
    .orderBy(lakeFiles.id);
  return { table, history, snapshots, files };
}

function historyOf({ layer, dataset, tableName }: Here, schemas: Parameters<typeof schemaHistory>[0]) {
  try {
    return schemaHistory(schemas);
  } catch (error) {
    if (!(error instanceof UnknownType)) throw error;
    throw new AppError(
      "invalid_state",
      `Table ${layer}.${dataset}.${tableName} can't be read as an Iceberg table. ${error.message} Replace the table with the column as text.`,
      { details: { column: error.column, dataType: error.type } },
    );
  }
}

/** Rewrites files with types that Iceberg can't read as the current ones: the same rows. */
async function rewriteOld(app: App, here: Here, ids: ReadonlySet<string>): Promise<void> {
  const { organizationId } = here;
  const correlationId = app.ids.uuid();
  const ctx = contextFor(app, { organizationId, actor: SYSTEM, role: "member", correlationId });
  await rewriteFilesOf(ctx, here, ({ id }) => ids.has(id), app.closing);
}

/** Writes what is missing and records it. Null if another process was faster. */
async function publishState(app: App, here: Here, state: State): Promise<Published | null> {
  const { table } = state;
  const { home } = app.lake;
  const before = table.published?.home === home ? table.published : null;
  const uuid = table.published?.uuid ?? app.ids.uuid();
  const folder = `${here.organizationId}/${here.layer}/${here.dataset}/${here.tableName}`;
  const location = `${home}/${folder}`;
  const idOf = (number: number) => snapshotId(uuid, number);
  const written = await planSnapshots({
    ...state,
    isNew: before === null,
    manifests: before?.manifests ?? [],
    location,
    home,
    idOf,
    ids: app.ids,
    statsOf: (some) => statsOf(app, some),
  });
  const snapshots = written.map(({ snapshot }) => snapshot);
  const shape: TableState = { uuid, location, history: state.history, snapshots };
  const metadata = tableMetadata(shape);
  if (before && table.publishedSnapshot === table.snapshot)
    return { location: `${location}/${before.metadata}`, metadata };

  const version = (table.published?.version ?? 0) + 1;
  const stem = `${String(version).padStart(5, "0")}-${app.ids.uuid()}`;
  const published: PublishedTable = {
    uuid,
    home,
    version,
    metadata: `metadata/${stem}.metadata.json`,
    manifests: written.at(-1)?.manifests ?? [],
  };
  const files = written.flatMap((each) => each.files);
  const bytes = new TextEncoder().encode(JSON.stringify(metadata));
  await app.lake.write(`${folder}/metadata`, [...files, { name: `${stem}.metadata.json`, bytes }]);
  if (!(await commit(app, here, state, published, written))) return null;
  await writeHint(app, here, folder, stem);
  return { location: `${location}/${published.metadata}`, metadata };
}

/** Below 2^53, so that JSON keeps it. */
function snapshotId(uuid: string, number: number): number {
  const hash = createHash("sha256").update(`${uuid}/${number}`).digest("hex");
  return Number.parseInt(hash.slice(0, 13), 16) + 1;
}

const BATCH = 100;

async function commit(
  app: App,
  here: Here,
  { table, snapshots }: State,
  published: PublishedTable,
  written: readonly Written[],
): Promise<boolean> {
  const at = snapshotsOf(here);
  return app.store.write(async (db) => {
    const isSame = and(
      tableIs(here),
      eq(lakeTables.snapshot, table.snapshot),
      eq(lakeTables.publishedSnapshot, table.publishedSnapshot),
    );
    const rows = await db
      .update(lakeTables)
      .set({ published, publishedSnapshot: table.snapshot })
      .where(isSame)
      .returning({ snapshot: lakeTables.snapshot });
    if (rows.length === 0) return false;
    for (const { number, published: row } of written) {
      if (row === null) continue;
      await db
        .update(lakeSnapshots)
        .set({ published: row })
        .where(and(at, eq(lakeSnapshots.number, number)));
    }
    // Metadata no longer names snapshots beyond the latest, and those that can't be read with the current columns.
    const kept = new Set(written.map(({ number }) => number));
    const gone = snapshots.map(({ number }) => number).filter((number) => !kept.has(number));
    for (let start = 0; start < gone.length; start += BATCH)
      await db
        .delete(lakeSnapshots)
        .where(and(at, inArray(lakeSnapshots.number, gone.slice(start, start + BATCH))));
    await db.delete(lakeSnapshots).where(and(at, lt(lakeSnapshots.number, snapshots[0]?.number ?? 0)));
    return true;
  });
}

/** For readers that look into the folder. If two processes write it, the one with the newer metadata wins. */
async function writeHint(app: App, here: Here, folder: string, stem: string): Promise<void> {
  for (let hint = stem; ; ) {
    await app.lake.write(`${folder}/metadata`, [{ name: HINT, bytes: new TextEncoder().encode(hint) }]);
    const [row] = await app.store.db
      .select({ published: lakeTables.published })
      .from(lakeTables)
      .where(tableIs(here));
    const current = row?.published ? stemOf(row.published) : hint;
    if (current === hint) return;
    hint = current;
  }
}

export const HINT = "version-hint.text";
const stemOf = ({ metadata }: PublishedTable) => metadata.replace(/^metadata\/|\.metadata\.json$/g, "");
