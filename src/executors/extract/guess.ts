import { unlink } from "node:fs/promises";
import type { SqlFile } from "../../sql/contract.ts";
import { parquet, quoteName } from "../../sql/text.ts";
import type { Intake } from "./intake-options.ts";
import {
  addedTable,
  isKeyed,
  knownColumns,
  type Landed,
  type LandedTable,
  metaTargets,
  type Site,
} from "./land.ts";
import { type Resolution, resolve, type SchemaContract, selectOf, type Target } from "./resolve.ts";
import type { Chunk, Sheet } from "./sheet.ts";
import { readText, type Staging } from "./staging.ts";
import { refusal } from "./typed.ts";

/**
 * The end of a source usually looks like its beginning, and a plain load drops nothing. So each piece is written
 * optimistically as the table's own files while it is read, and at the end only those are rewritten that a later row has
 * proved wrong. Returns whether a load is plain enough for that.
 */
export const isGuessable = ({ plan, dryRun, where }: Site): boolean =>
  !dryRun && where === null && plan.incremental === null && !isKeyed(plan);

interface Guess {
  resolution: Resolution;
  /** All of the table's columns, including those that the load adds itself. */
  targets: Target[];
}

/** Returns the table's columns, derived from the sheet so far. Null if the rows have to be read first. */
export async function guessSheet(site: Site, sheet: Sheet): Promise<Guess | null> {
  const root = site.existing(site.plan.table);
  const existing = site.existing(sheet.table);
  const isNewChild = sheet.parent !== null && root !== null && existing === null;
  if (isNewChild && site.contract.tables !== "evolve") return null;
  let needsRows = false;
  const resolution = await resolve({
    sheet,
    existing: knownColumns(existing),
    contract: unfrozen(site.contract), // violations of the contract are reported at the end
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
  return { resolution, targets: [...resolution.targets, ...metaTargets(site, sheet)] };
}

const unfrozen = ({ tables, columns, dataType }: SchemaContract): SchemaContract => ({
  tables: tables === "freeze" ? "discard_row" : tables,
  columns: columns === "freeze" ? "discard_row" : columns,
  dataType: dataType === "freeze" ? "discard_row" : dataType,
});

/**
 * Finishes an optimistic load. Null if it needs the staged rows after all, which then exist. Throws a refusal
 * (`isRefusal`) if the source has to be read again for that.
 */
export async function landGuessed(
  site: Site,
  { sheets, rejects, furtherSheets = [] }: Intake,
): Promise<Landed | null> {
  const guesses = new Map<Sheet, Guess>();
  for (const sheet of sheets) {
    const guess = await guessSheet(site, sheet);
    if (guess === null) {
      await stageAll(site, sheets);
      return null;
    }
    guesses.set(sheet, guess);
  }
  const tables: LandedTable[] = [];
  for (const [sheet, { resolution, targets }] of guesses) {
    const isChild = sheet.parent !== null;
    const files = await filesOf(site, sheet, targets);
    tables.push({
      table: sheet.table,
      isChild,
      existing: site.existing(sheet.table),
      targets,
      rowsRead: sheet.rows + sheet.rejected,
      rows: files.reduce((sum, file) => sum + file.rows, 0),
      deduplicated: 0,
      rejected: sheet.rejected,
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
    rejects,
    furtherSheets,
    key: { columns: [], match: [], field: null, parts: [] },
    dedupeBy: undefined,
  };
}

async function filesOf({ staging }: Site, sheet: Sheet, targets: readonly Target[]): Promise<SqlFile[]> {
  const select = selectOf(targets);
  const files: SqlFile[] = [];
  for (const chunk of sheet.chunks) {
    const { text, targets: guessed, files: written } = chunk;
    if (written && selectOf(guessed) === select) files.push(...written);
    else if (text === null) files.push(...(await widened(staging, chunk, targets)));
    else {
      const missing = sheet.slots
        .filter((slot) => !text.slots.includes(slot))
        .map(({ name, type }) => `, CAST(NULL AS ${type}) AS ${name}`);
      const rows = `SELECT *${missing.join("")} FROM ${readText(text)}`;
      files.push(await staging.writeFinal(`SELECT ${select} FROM (${rows})`));
    }
    if (text) await unlink(text.csv);
  }
  if (sheet.files.length > 0)
    files.push(...(await staging.writeLarge(`SELECT ${select} FROM (${sheet.scan()})`)));
  for (const staged of sheet.files) await unlink(staged);
  return files;
}

/** Rewrites files with the columns that later rows have added. Throws a refusal if those rows changed others. */
async function widened(
  staging: Staging,
  { targets, blank, files }: Chunk,
  now: readonly Target[],
): Promise<SqlFile[]> {
  const before = targets.filter(({ name }) => !blank.has(name));
  const old = new Map(before.map((target) => [target.name, target]));
  const isKept = ({ name, type, sql }: Target) => {
    const known = old.get(name);
    return known === undefined || (known.type === type && known.sql === sql);
  };
  const names = new Set(now.map(({ name }) => name));
  if (!now.every(isKept) || !before.every(({ name }) => names.has(name))) throw refusal();
  const values = now.map(({ name, type }) => ({
    name,
    type,
    sql: old.has(name) ? quoteName(name) : `CAST(NULL AS ${type})`,
  }));
  const written = await staging.writeLarge(
    `SELECT ${selectOf(values)} FROM ${parquet((files ?? []).map(({ path }) => path))}`,
  );
  for (const { path } of files ?? []) await unlink(path);
  return written;
}

async function stageAll({ staging }: Site, sheets: readonly Sheet[]): Promise<void> {
  for (const sheet of sheets) {
    for (const { text } of sheet.chunks.splice(0)) {
      if (text === null) throw refusal();
      const parquet = staging.path("parquet");
      await staging.stage(text, parquet);
      sheet.files.push(parquet);
    }
  }
}
