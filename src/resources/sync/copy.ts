import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { and, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { type WriteContext, writeFor } from "../../context.ts";
import { commonType } from "../../executors/extract/types.ts";
import type { LakeFile, LakeLoad, LakeTable, TableChange } from "../../lake/contract.ts";
import { isMixed } from "../../lake/iceberg/fields.ts";
import { arrivedAt } from "../../lake/names.ts";
import type { Column } from "../../sql/contract.ts";
import { insertInto } from "../../store/prepared.ts";
import { commitLoad } from "../datasets/commit.ts";
import { holdLoad } from "../datasets/hold.ts";
import { lakeTables } from "../datasets/table.ts";
import { record } from "../events/service.ts";
import type { Parties } from "./parties.ts";
import type { DatasetPlan, TablePlan } from "./plan.ts";
import { syncCopies, syncTables } from "./table.ts";

interface CopiedFile {
  original: LakeFile;
  file: LakeFile;
  sha256: string;
}

/**
 * Copies the files in the plan and makes them visible at once. If it fails, nothing is left at the destination.
 * Throws `dataset_changed` if someone else committed to it in the meantime, and `schema_contract_violation`.
 */
export async function copyDataset(
  parties: Parties,
  layer: string,
  { dataset, tables }: DatasetPlan,
): Promise<{ files: number; bytes: number }> {
  const { source, target } = parties;
  const loadId = target.ids.uuid();
  await using hold = holdLoad(target, loadId);
  const work = await target.lake.workFolder(loadId);
  const copied = new Map<TablePlan, CopiedFile[]>();
  const all = () => [...copied.values()].flat();
  try {
    for (const table of tables) {
      const done: CopiedFile[] = [];
      copied.set(table, done);
      for (const file of table.copy) {
        const path = join(work.path, file.id);
        const sha256 = await copyFile(await source.lake.localPath(file), path);
        const at = {
          organizationId: target.organizationId,
          layer,
          dataset,
          table: table.source.table,
          loadId,
        };
        const { rows, bytes } = file;
        // If it was loaded as a file, that name refers to a source that only that side has.
        const part = arrivedAt(file.part) === null ? (file.part ?? null) : null;
        done.push({ original: file, sha256, file: await target.lake.add(at, { path, rows, bytes, part }) });
      }
    }
    const load: LakeLoad = { loadId, layer, dataset, tables: tables.map((table) => changeOf(table, copied)) };
    const files = all().length;
    const bytes = all().reduce((sum, { file }) => sum + file.bytes, 0);
    hold.check();
    await writeFor(target, async (inside) => {
      const tx = inside(target);
      await commitLoad(tx, "", "", load, { kind: "sync", actionId: null });
      for (const table of tables) await remember(tx, source.organizationId, table, copied.get(table) ?? []);
      const data: JsonObject = {
        layer,
        dataset,
        tables: tables.map(({ source }) => source.table),
        files,
        bytes,
        loadId,
        sourceTenantId: source.organizationId,
        destTenantId: target.organizationId,
      };
      const entity = { type: "dataset", id: `${layer}.${dataset}` } as const;
      await record(tx, "dataset.synced", entity, data);
      await record(inside(source), "dataset.synced", entity, data);
    });
    return { files, bytes };
  } catch (error) {
    // If the connection to the database was lost during the commit, it may have the rows.
    // The sweeper deletes files without a row.
    if (!(error instanceof AppError && error.code === "unavailable"))
      await target.lake.remove(all().map(({ file }) => file.path));
    throw error;
  } finally {
    await work.dispose();
  }
}

/** Returns the SHA-256 of what was copied, hex. */
async function copyFile(from: string, to: string): Promise<string> {
  const hash = createHash("sha256");
  const listen = new Transform({
    transform(chunk, _, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  try {
    await pipeline(createReadStream(from), listen, createWriteStream(to, { mode: 0o600 }));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT")
      throw new AppError("dataset_changed", "The source changed during the sync. Try again.", {
        retryable: true,
        cause: error,
      });
    throw error;
  }
  return hash.digest("hex");
}

function changeOf(table: TablePlan, copied: ReadonlyMap<TablePlan, CopiedFile[]>): TableChange {
  const columns = unite(table.source, table.target);
  const files = (copied.get(table) ?? []).map(({ file }) => file);
  return {
    table: table.source.table,
    columns,
    add: isMixed(table.source.columns, columns) ? files.map((file) => ({ ...file, isMixed: true })) : files,
    remove: table.remove,
    baseVersion: table.target?.version ?? null,
  };
}

/** Merges both tables' columns. Throws `schema_contract_violation` if two types have no common one. */
function unite(source: LakeTable, target: LakeTable | null): Column[] {
  if (target === null) return source.columns;
  const united = new Map(target.columns.map((column) => [column.name.toLowerCase(), column]));
  for (const column of source.columns) {
    const known = united.get(column.name.toLowerCase());
    const dataType = known ? commonType(known.dataType, column.dataType) : column.dataType;
    if (dataType === null) {
      throw new AppError(
        "schema_contract_violation",
        `Column ${column.name} of ${source.table} is ${column.dataType} at the source and ${known?.dataType} at the destination.`,
      );
    }
    united.set(column.name.toLowerCase(), { ...(known ?? column), dataType });
  }
  return [...united.values()];
}

/** Statements accept a limited number of parameters. */
const BATCH = 50;

const insertCopies = insertInto(syncCopies);

/** Records which files are copied where, for the next sync. */
async function remember(
  tx: WriteContext,
  sourceOrganizationId: string,
  plan: TablePlan,
  copied: readonly CopiedFile[],
): Promise<void> {
  const { layer, dataset, table: tableName, version } = plan.source;
  const at = { organizationId: tx.organizationId, layer, dataset, tableName, sourceOrganizationId };
  const [made] = await tx.db
    .select({ version: lakeTables.version })
    .from(lakeTables)
    .where(
      and(
        eq(lakeTables.organizationId, at.organizationId),
        eq(lakeTables.layer, layer),
        eq(lakeTables.dataset, dataset),
        eq(lakeTables.tableName, tableName),
      ),
    );
  const state = {
    sourceVersion: version,
    version: made?.version ?? 0,
    isOwn: plan.isOwn,
    isWhole: plan.isWhole,
    syncedAt: timestamp(tx.clock),
  };
  const { organizationId, sourceOrganizationId: from } = syncTables;
  await tx.db
    .insert(syncTables)
    .values({ ...at, ...state })
    .onConflictDoUpdate({
      target: [organizationId, syncTables.layer, syncTables.dataset, syncTables.tableName, from],
      set: state,
    });
  await tx.db
    .delete(syncCopies)
    .where(
      and(
        eq(syncCopies.organizationId, at.organizationId),
        eq(syncCopies.layer, layer),
        eq(syncCopies.dataset, dataset),
        eq(syncCopies.tableName, tableName),
        eq(syncCopies.sourceOrganizationId, sourceOrganizationId),
      ),
    );
  const copies = [
    ...[...plan.existing].map(([sourceFileId, { fileId, bytes, sha256 }]) => ({
      ...at,
      sourceFileId,
      fileId,
      bytes,
      sha256,
    })),
    ...copied.map(({ original, file, sha256 }) => ({
      ...at,
      sourceFileId: original.id,
      fileId: file.id,
      bytes: original.bytes,
      sha256,
    })),
  ];
  for (let start = 0; start < copies.length; start += BATCH)
    await insertCopies(tx.db, ...copies.slice(start, start + BATCH));
}
