import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { and, eq, inArray } from "drizzle-orm";
import type { App, Context } from "../../context.ts";
import type { LakeFile, LakeTable } from "../../lake/contract.ts";
import { lakeFiles, lakeLoads } from "../datasets/table.ts";
import { readTables } from "../datasets/tables.ts";
import type { Parties } from "./parties.ts";
import { type SyncCopyRow, type SyncTableRow, syncCopies, syncTables } from "./table.ts";

/** What to do with one table, and what that was computed from. */
export interface TablePlan {
  source: LakeTable;
  target: LakeTable | null;
  copy: LakeFile[];
  /** IDs of files at the destination whose originals are gone, or that are replaced. */
  remove: string[];
  /** Existing copies of files, by the ID of the source's file. */
  existing: Map<string, { fileId: string; bytes: number; sha256: string }>;
  /** Whether the destination's table then has only rows of the source's. */
  isOwn: boolean;
  /** Whether it then has all rows of the source's table. */
  isWhole: boolean;
}

interface PlanFault {
  key: string;
  code: string;
  message: string;
}

export interface DatasetPlan {
  dataset: string;
  tables: TablePlan[];
  faults: PlanFault[];
}

/** The days whose loads are copied, both ends included. Null: no limit. */
export interface Days {
  from: string | null;
  to: string | null;
}

/** Returns what a sync of these datasets has to do. Only reads. */
export async function planDatasets(
  parties: Parties,
  wanted: { layer: string; dataset?: string },
  days: Days,
): Promise<DatasetPlan[]> {
  const { source, target } = parties;
  const theirs = await readTables(source.db, { organizationId: source.organizationId, ...wanted });
  const ours = await readTables(target.db, { organizationId: target.organizationId, ...wanted });
  const plans = new Map<string, DatasetPlan>();
  for (const table of theirs) {
    const plan = plans.get(table.dataset) ?? { dataset: table.dataset, tables: [], faults: [] };
    plans.set(table.dataset, plan);
    const there = ours.find((each) => each.dataset === table.dataset && each.table === table.table) ?? null;
    const made = await planTable(parties, table, there, days);
    if ("message" in made) plan.faults.push(made);
    else if (made.copy.length + made.remove.length > 0 || there === null) plan.tables.push(made);
  }
  const isDated = days.from !== null || days.to !== null;
  for (const plan of plans.values()) {
    // Empty tables are created along with others, but not if no file is from one of the days.
    if (isDated && plan.tables.every(({ copy, remove }) => copy.length + remove.length === 0))
      plan.tables = [];
  }
  return [...plans.values()];
}

async function planTable(
  parties: Parties,
  source: LakeTable,
  target: LakeTable | null,
  days: Days,
): Promise<TablePlan | PlanFault> {
  const state = await findState(parties, source);
  const live = new Set(target?.files.map(({ id }) => id));
  // A table with a lower version was recreated since then, and nothing that was copied is left.
  const isKnown = state !== null && target !== null && target.version >= state.version;
  const isUntouched = isKnown && target.version === state.version; // Except for compacted files.
  const isDated = days.from !== null || days.to !== null;
  const plan: TablePlan = {
    source,
    target,
    copy: [],
    remove: [],
    existing: new Map(),
    isOwn: (target?.files.length ?? 0) === 0 || (isUntouched && state.isOwn),
    isWhole: true,
  };
  if (isUntouched && state.isWhole && state.sourceVersion === source.version) return plan;

  const copies = isKnown ? await findCopies(parties, source) : [];
  const originals = new Set(source.files.map(({ id }) => id));
  const lost = copies.filter(({ fileId }) => !live.has(fileId));
  const orphans = copies.filter(({ sourceFileId }) => !originals.has(sourceFileId));
  if (lost.length > 0 && !isUntouched) return fault(source, REWRITTEN);
  if (orphans.length > 0 && isDated) return fault(source, UNDATED);
  if (orphans.some(({ fileId }) => !live.has(fileId))) {
    // Their rows are in one file with others, so that all rows are replaced.
    if (!plan.isOwn) return fault(source, REWRITTEN);
    return { ...plan, copy: [...source.files], remove: [...live], isOwn: true };
  }
  plan.remove = orphans.map(({ fileId }) => fileId);
  for (const { sourceFileId, ...copy } of copies)
    if (originals.has(sourceFileId)) plan.existing.set(sourceFileId, copy);

  const missing = source.files.filter(({ id }) => !plan.existing.has(id));
  const taken = new Set(copies.map(({ fileId }) => fileId));
  const spare = (target?.files ?? []).filter(({ id }) => !taken.has(id));
  for (const file of missing) {
    const same = await findSame(parties.source, file, spare);
    if (!same) continue;
    plan.existing.set(file.id, { fileId: same.file.id, bytes: file.bytes, sha256: same.sha256 });
    spare.splice(spare.indexOf(same.file), 1);
  }
  if (spare.length === 0 && !isKnown) plan.isOwn = true;
  const chosen = isDated ? await loadedBetween(parties.source, missing, days) : null;
  for (const file of missing) {
    if (plan.existing.has(file.id)) continue;
    if (chosen === null || chosen.has(file.id)) plan.copy.push(file);
    else plan.isWhole = false;
  }
  return plan;
}

const REWRITTEN =
  "Previously copied rows were changed at the destination. Delete the dataset there, and sync again.";
const UNDATED =
  "Previously copied files were rewritten at the source. Sync once without dates to update the table.";

const fault = ({ layer, dataset, table }: LakeTable, message: string): PlanFault => ({
  key: `${layer}.${dataset}.${table}`,
  code: "dataset_changed",
  message,
});

async function findState({ source, target }: Parties, table: LakeTable): Promise<SyncTableRow | null> {
  const [row] = await target.db
    .select()
    .from(syncTables)
    .where(
      and(
        eq(syncTables.organizationId, target.organizationId),
        eq(syncTables.layer, table.layer),
        eq(syncTables.dataset, table.dataset),
        eq(syncTables.tableName, table.table),
        eq(syncTables.sourceOrganizationId, source.organizationId),
      ),
    );
  return row ?? null;
}

const findCopies = ({ source, target }: Parties, table: LakeTable): Promise<SyncCopyRow[]> =>
  target.db
    .select()
    .from(syncCopies)
    .where(
      and(
        eq(syncCopies.organizationId, target.organizationId),
        eq(syncCopies.layer, table.layer),
        eq(syncCopies.dataset, table.dataset),
        eq(syncCopies.tableName, table.table),
        eq(syncCopies.sourceOrganizationId, source.organizationId),
      ),
    );

/** Finds a file of the destination with the same content. Reads only files of the same size. */
async function findSame(
  app: App,
  file: LakeFile,
  among: readonly LakeFile[],
): Promise<{ file: LakeFile; sha256: string } | null> {
  const alike = among.filter(({ bytes, rows }) => bytes === file.bytes && rows === file.rows);
  if (alike.length === 0) return null;
  const sha256 = await hashOf(app, file);
  for (const each of alike) if ((await hashOf(app, each)) === sha256) return { file: each, sha256 };
  return null;
}

async function hashOf({ lake }: App, file: LakeFile): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(await lake.localPath(file))) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** Statements accept a limited number of parameters. */
const BATCH = 200;

/** Returns IDs of the files whose load was committed on one of the days. */
async function loadedBetween(
  ctx: Context,
  files: readonly LakeFile[],
  { from, to }: Days,
): Promise<Set<string>> {
  const chosen = new Set<string>();
  for (let start = 0; start < files.length; start += BATCH) {
    const ids = files.slice(start, start + BATCH).map(({ id }) => id);
    const rows = await ctx.db
      .select({ id: lakeFiles.id, createdAt: lakeFiles.createdAt, committedAt: lakeLoads.committedAt })
      .from(lakeFiles)
      .leftJoin(lakeLoads, eq(lakeLoads.id, lakeFiles.loadId))
      .where(inArray(lakeFiles.id, ids));
    for (const { id, createdAt, committedAt } of rows) {
      const day = (committedAt ?? createdAt).slice(0, 10);
      if ((from === null || day >= from) && (to === null || day <= to)) chosen.add(id);
    }
  }
  return chosen;
}
