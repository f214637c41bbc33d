import { unlink } from "node:fs/promises";
import type { SqlFile } from "../../sql/contract.ts";
import type { Intake } from "./intake.ts";
import { addedTable, knownColumns, type Landed, type LandedTable, metaTargets, type Site } from "./land.ts";
import { type Resolution, resolve, type SchemaContract, selectOf } from "./resolve.ts";
import type { Sheet } from "./sheet.ts";
import { readChunk } from "./staging.ts";

/**
 * The end of a JSON source usually looks like its beginning, and a plain load drops nothing. So each piece is written
 * optimistically as the table's own file while it is read, and at the end only those are rewritten that a later row has
 * proved wrong. Returns whether a load is plain enough for that.
 */
export const isGuessable = ({ plan, dryRun, where }: Site): boolean =>
  !dryRun && where === null && plan.incremental === null && plan.disposition !== "merge";

interface Guess {
  resolution: Resolution;
  select: string;
}

/** Returns what creates the table's rows, from what is known of the sheet. Null if the rows have to be read first. */
export async function guessSheet(site: Site, sheet: Sheet): Promise<Guess | null> {
  const root = site.existing(site.plan.table);
  const existing = site.existing(sheet.table);
  const isNewChild = sheet.parent !== null && root !== null && existing === null;
  if (isNewChild && site.contract.tables !== "evolve") return null;
  let needsRows = false;
  const resolution = await resolve({
    sheet,
    existing: knownColumns(existing),
    contract: unfrozen(site.contract), // what freeze refuses is told at the end
    fixed: site.fixed,
    key: [],
    isReplaced: site.plan.disposition === "replace",
    thinned: false,
    probe: async (conditions) => {
      needsRows = true;
      return conditions.map(() => 0);
    },
  });
  if (needsRows || resolution.refusals.length > 0) return null;
  if (isNewChild) resolution.changes.unshift(addedTable(sheet.table));
  return {
    resolution,
    select: selectOf([...resolution.targets, ...metaTargets(site, sheet)]),
  };
}

const unfrozen = ({ tables, columns, dataType }: SchemaContract): SchemaContract => ({
  tables: tables === "freeze" ? "discard_row" : tables,
  columns: columns === "freeze" ? "discard_row" : columns,
  dataType: dataType === "freeze" ? "discard_row" : dataType,
});

/** Finishes an optimistic load. Null if it needs the staged rows after all, which then exist. */
export async function landGuessed(site: Site, { sheets }: Intake): Promise<Landed | null> {
  const guesses = new Map<Sheet, Guess>();
  for (const sheet of sheets) {
    const guess = sheet.files.length > 0 ? null : await guessSheet(site, sheet);
    if (guess === null) {
      await stageAll(site, sheets);
      return null;
    }
    guesses.set(sheet, guess);
  }
  const tables: LandedTable[] = [];
  for (const [sheet, { resolution, select }] of guesses) {
    const isChild = sheet.parent !== null;
    const files = await filesOf(site, sheet, select);
    tables.push({
      table: sheet.table,
      isChild,
      existing: site.existing(sheet.table),
      targets: [...resolution.targets, ...metaTargets(site, sheet)],
      rowsRead: sheet.rows,
      rows: files.reduce((sum, file) => sum + file.rows, 0),
      deduplicated: 0,
      rejected: 0,
      files,
      changes: resolution.changes,
      split: resolution.split,
      zoneless: resolution.zoneless,
      sample: [],
    });
  }
  return {
    tables,
    cursor: null,
    state: null,
    rejects: [],
    furtherSheets: [],
    key: { columns: [], match: [], field: null, parts: [] },
    dedupeBy: undefined,
  };
}

async function filesOf({ staging }: Site, sheet: Sheet, select: string): Promise<SqlFile[]> {
  const files: SqlFile[] = [];
  for (const chunk of sheet.chunks) {
    const missing = sheet.slots
      .slice(chunk.slots.length)
      .map(({ name, type }) => `, CAST(NULL AS ${type}) AS ${name}`);
    const rows = `SELECT *${missing.join("")} FROM ${readChunk(chunk)}`;
    const isRight = chunk.file !== null && chunk.select === select;
    files.push(
      isRight && chunk.file ? chunk.file : await staging.writeFinal(`SELECT ${select} FROM (${rows})`),
    );
    await unlink(chunk.csv);
  }
  return files;
}

async function stageAll({ staging }: Site, sheets: readonly Sheet[]): Promise<void> {
  for (const sheet of sheets) {
    for (const chunk of sheet.chunks.splice(0)) {
      const parquet = staging.path("parquet");
      await staging.stage(chunk, parquet);
      sheet.files.push(parquet);
    }
  }
}
