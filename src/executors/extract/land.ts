import { unlink } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import type { CursorState, LakeTable } from "../../lake/contract.ts";
import { writeRows } from "../../lake/merge.ts";
import { withoutZeros, ZONED } from "../../lake/readings.ts";
import type { ExtractRequest, KeyField } from "../../providers/contract.ts";
import type { SqlFile } from "../../sql/contract.ts";
import { quoteName, quoteText } from "../../sql/text.ts";
import { dropSeen, fingerprintSql, type RowIdentity, reached, rowIdentity } from "./boundary.ts";
import { dropUnmet } from "./condition.ts";
import { orderKey } from "./cursor.ts";
import { discard, reject } from "./discards.ts";
import { Drops } from "./drops.ts";
import type { Intake } from "./intake-options.ts";
import { upserted } from "./lacking.ts";
import {
  columnPath,
  DELETED_COLUMN,
  HISTORY_COLUMNS,
  KEY_COLUMN,
  META_COLUMNS,
  normaliseName,
} from "./naming.ts";
import type { Plan } from "./plan.ts";
import type { Reject } from "./rejects.ts";
import {
  modeFor,
  type Resolution,
  resolve,
  type SchemaChange,
  type SchemaContract,
  selectOf,
  type Target,
  violation,
} from "./resolve.ts";
import { FINGERPRINT, KEY, SEQUENCE, type Sheet, type SheetColumn } from "./sheet.ts";
import type { Staging } from "./staging.ts";

/** The new rows of one table, as finished Parquet files in the work folder. */
export interface LandedTable {
  table: string;
  isChild: boolean;
  existing: LakeTable | null;
  targets: Target[];
  /** Number of rows from the source within the range. */
  rowsRead: number;
  rows: number;
  deduplicated: number;
  rejected: number;
  files: SqlFile[];
  changes: SchemaChange[];
  /** Columns that couldn't hold all of their values, with the columns that hold the others. */
  split: ReadonlyMap<string, readonly string[]>;
  /** Time columns without a zone whose values had one. They are stored in UTC. */
  zoneless: ReadonlySet<string>;
  /** For an upsert, as in `mergeFiles`. */
  lacks?: ReadonlyMap<string, string>;
  /** First rows, in a dry run only. */
  sample: Record<string, Json>[];
}

/** How rows are identified in the table. */
export interface TableKey {
  /** The primary key's columns. */
  columns: string[];
  /** The columns that identify rows: the primary key, with `_dlt_key` instead of the columns in `field`. */
  match: string[];
  /** Null if the source compares all of them by their bytes. */
  field: KeyField | null;
  /** The columns that `field` replaces. */
  parts: string[];
}

export interface Landed {
  /** The root table first. */
  tables: LandedTable[];
  cursor: { start: Json; end: Json } | null;
  state: CursorState | null;
  key: TableKey;
  /** Records that couldn't be read and rows that were rejected, up to the maximum. */
  rejects: readonly Reject[];
  /** Sheets of workbooks that weren't read. */
  furtherSheets: readonly string[];
  /** A Parquet file with all keys of the source, in `key.match`. Omitted if not needed, or not known. */
  keysFile?: string;
  /** Whether rows of the source are known to be missing, so that their keys are too. */
  isPartial?: boolean;
  /** Which row of a key is kept, as in `mergeFiles`. */
  dedupeBy: string | undefined;
}

/** What landing a resource needs. */
export interface Site {
  staging: Staging;
  plan: Plan;
  contract: SchemaContract;
  loadId: string;
  idPrefix: string;
  /** When the run started, as ISO 8601. */
  startedAt: string;
  dryRun: boolean;
  /** Types set in the definition, by the column's name in the table. */
  fixed: ReadonlyMap<string, string>;
  /** Null if there is none, or if the source has applied it. */
  where: ExtractRequest["where"];
  /** The current table. Null if it doesn't exist. */
  existing(table: string): LakeTable | null;
  warn(text: string): void;
}

const SAMPLE_ROWS = 10;

export const knownColumns = (existing: LakeTable | null) =>
  existing?.columns.filter((column) => !META_COLUMNS.includes(column.name)) ?? null;

/** Throws `cursor_field_missing` if no row had the cursor, and `definition_invalid` if none had the key. */
function checkFields(sheet: Sheet, plan: Plan): void {
  const { incremental, primaryKey, resource } = plan;
  if (incremental && !hasValues(sheet, incremental.field)) {
    throw new AppError(
      "cursor_field_missing",
      `No row of ${resource} has the cursor field "${incremental.field}".`,
      {
        details: { resource, field: incremental.field },
      },
    );
  }
  const missing = primaryKey.filter((name) => !hasValues(sheet, name));
  if (missing.length > 0 && (isKeyed(plan) || incremental)) {
    throw new AppError(
      "definition_invalid",
      `No row of ${resource} has the primary key "${missing.join('", "')}".`,
      {
        details: { resource, primaryKey: missing },
      },
    );
  }
}

const hasValues = (sheet: Sheet, name: string) => (sheet.find(name)?.slots.length ?? 0) > 0;

/** Filters staged rows and writes the rest for the tables. */
export async function landStaged(site: Site, intake: Intake, ranged: boolean): Promise<Landed> {
  const { staging, plan, warn } = site;
  const { session } = staging;
  const [root, ...children] = intake.sheets as [Sheet, ...Sheet[]];
  const { incremental } = plan;
  if (root.rows > 0) checkFields(root, plan);
  const drops = await Drops.open(session, root);
  if (site.where && root.rows > 0) {
    const { targets } = await resolveSheet({ ...site, contract: EVOLVE }, drops, root);
    const limit = incremental ? null : plan.limit;
    await dropUnmet(drops, { targets, resource: plan.resource, where: site.where, limit });
  }
  const field = incremental && root.find(incremental.field);
  let identity: RowIdentity | null = null;
  if (incremental && field && root.rows > 0) {
    identity = rowIdentity(root, plan, field, { fingerprinted: intake.fingerprinted, ranged });
    await dropSeen(drops, identity, { ...plan, incremental }, ranged, warn);
  }
  if (plan.disposition === "merge" && root.rows > 0) await rejectKeyless(site, drops, root);

  const resolution = await resolveSheet(site, drops, root);
  const refused = await apply(site, drops, root, resolution);
  const tables: { sheet: Sheet; resolution: Resolution }[] = [{ sheet: root, resolution: refused }];
  for (const sheet of children) {
    const made = await landChild(site, drops, sheet, root);
    if (made) tables.push({ sheet, resolution: made });
  }
  const landed: LandedTable[] = [];
  for (const { sheet, resolution } of tables)
    landed.push(
      await write(site, drops, sheet, {
        changes: resolution.changes,
        split: resolution.split,
        zoneless: resolution.zoneless,
        targets: [
          ...resolution.targets,
          ...metaTargets(site, sheet),
          ...(sheet === root ? versionTargets(site, intake) : []),
        ],
      }),
    );
  const end =
    identity && incremental
      ? await reached(session, drops.read(), identity, { ...plan, incremental }, warn)
      : null;
  for (const sheet of intake.sheets) for (const file of sheet.files) await unlink(file);
  const order =
    field && !refused.split.has(field.name) && refused.targets.find((target) => target.name === field.name);
  return {
    tables: landed,
    cursor: incremental && {
      start: incremental.start,
      end: end ? end.end : incremental.isBackfill ? null : incremental.start,
    },
    state: end?.state ?? null,
    rejects: [...intake.rejects, ...drops.rejects],
    furtherSheets: intake.furtherSheets ?? [],
    key: keyOf(root, plan, site.existing(root.table)),
    dedupeBy: order && field ? `${orderOf(order, field)} DESC NULLS LAST` : undefined,
  };
}

export function keyOf(
  root: Sheet,
  { primaryKey }: Pick<Plan, "primaryKey">,
  existing: LakeTable | null = null,
): TableKey {
  const field = root.keyField;
  const nameOf = (name: string) => root.find(name)?.name ?? nameIn(existing, name) ?? normaliseName(name);
  const parts = primaryKey
    .filter((name) => field?.columns.includes(root.find(name)?.source ?? ""))
    .map(nameOf);
  const columns = primaryKey.map(nameOf);
  const others = columns.filter((name) => !parts.includes(name));
  return { columns, match: parts.length > 0 ? [...others, KEY_COLUMN] : columns, field, parts };
}

/** The table's column for a key of which nothing was read. */
const nameIn = (table: LakeTable | null, name: string): string | undefined =>
  table?.columns.find(({ source }) => source === name)?.name ??
  [normaliseName(name), columnPath(name)].find((wanted) =>
    table?.columns.some((column) => column.name === wanted),
  );

/** Sort order for a column of the table. Numbers stored as text are sorted as numbers. */
function orderOf({ name, type }: Target, { slots }: SheetColumn): string {
  const areDigits = type === "VARCHAR" && slots.every((slot) => slot.number !== undefined);
  return areDigits ? orderKey(withoutZeros(quoteName(name))) : quoteName(name);
}

/** Rows that the condition drops don't affect the schema. */
const EVOLVE: SchemaContract = { tables: "evolve", columns: "evolve", dataType: "evolve" };

/** A merge can't match rows that have NULL in all key columns. */
async function rejectKeyless(site: Site, drops: Drops, root: Sheet): Promise<void> {
  const slots = site.plan.primaryKey.flatMap((name) => root.find(name)?.slots ?? []);
  const keyless = slots.map((slot) => `${slot.name} IS NULL`).join(" AND ");
  const count = await reject(drops, root, keyless, "no primary key");
  if (count > 0) site.warn(`${count} rows of ${root.table} have no primary key and were rejected.`);
}

/** Whether rows of the table are looked up by their keys. */
export const isKeyed = ({ disposition, deletes }: Pick<Plan, "disposition" | "deletes">): boolean =>
  disposition === "merge" || deletes !== "ignore";

function resolveSheet(site: Site, drops: Drops, sheet: Sheet): Promise<Resolution> {
  return resolve({
    sheet,
    existing: knownColumns(site.existing(sheet.table)),
    contract: site.contract,
    fixed: site.fixed,
    key: sheet.parent === null && isKeyed(site.plan) ? keyOf(sheet, site.plan).columns : [],
    isReplaced: site.plan.disposition === "replace",
    thinned: drops.any,
    probe: async (conditions) => {
      const counts = conditions.map((condition, at) => `count(*) FILTER (${condition}) AS n${at}`);
      const [row] = await drops.session.run(`SELECT ${counts.join(", ")} FROM (${drops.alive(sheet)})`);
      return conditions.map((_, at) => Number(row?.[`n${at}`] ?? 0));
    },
  });
}

/** Applies the contract to values that don't fit the table. */
async function apply(site: Site, drops: Drops, sheet: Sheet, resolution: Resolution): Promise<Resolution> {
  const { refusals, split } = resolution;
  const key = site.plan.primaryKey.find(
    (name) => sheet === drops.root && split.has(sheet.find(name)?.name ?? ""),
  );
  if (key && isKeyed(site.plan)) {
    throw new AppError(
      "definition_invalid",
      `The primary key "${key}" of ${sheet.table} has values that its column can't hold. Load it into a new table, with {"name": ${JSON.stringify(key)}, "type": "text"} in columns.`,
    );
  }
  if (sheet === drops.root && isKeyed(site.plan)) refuseJsonKeys(sheet, site.plan);
  for (const refusal of refusals) {
    const wholeRows = modeFor(site.contract, refusal.change) === "discard_row";
    await discard(drops, sheet, refusal, { wholeRows, warn: site.warn });
  }
  return resolution;
}

/** The text of equal JSON values may differ each time the source is read. */
function refuseJsonKeys(sheet: Sheet, { primaryKey }: Plan): void {
  const isJson = (name: string) => sheet.find(name)?.slots.every(({ type }) => type === "JSON") === true;
  const key = primaryKey.find(isJson);
  if (key === undefined) return;
  throw new AppError(
    "definition_invalid",
    `The primary key "${key}" of ${sheet.table} is JSON, whose equal values can have different text. Choose other columns for the key.`,
  );
}

export const addedTable = (table: string): SchemaChange => ({
  table,
  column: null,
  change: "added",
  from: null,
  to: null,
});

/** Null for a table that the contract doesn't allow and that would have no rows anyway. */
async function landChild(site: Site, drops: Drops, sheet: Sheet, root: Sheet): Promise<Resolution | null> {
  await drops.dropOrphans(sheet);
  const isNew = site.existing(root.table) !== null && site.existing(sheet.table) === null;
  if (isNew && site.contract.tables !== "evolve") {
    const [row] = await drops.session.run(`SELECT count(*) AS n FROM (${drops.alive(sheet)})`);
    const rows = Number(row?.n ?? 0);
    const change = addedTable(sheet.table);
    if (rows > 0 && site.contract.tables === "freeze") throw violation(change);
    if (rows > 0)
      site.warn(
        `${sheet.table}: ${rows} ${rows === 1 ? "row" : "rows"} rejected: schemaContract allows no new table.`,
      );
    await reject(drops, sheet, "true", `${sheet.table}: schemaContract allows no new table`);
    return null;
  }
  const resolution = await resolveSheet(site, drops, sheet);
  if (isNew) resolution.changes.unshift(addedTable(sheet.table));
  return apply(site, drops, sheet, resolution);
}

/** Additional columns of a table of versions, over staged rows. */
function versionTargets({ plan, startedAt }: Site, { sheets, fingerprinted }: Intake): Target[] {
  if (plan.disposition !== "merge" || plan.strategy !== "scd2") return [];
  const type = "TIMESTAMP WITH TIME ZONE";
  const hash = fingerprinted ? FINGERPRINT.name : fingerprintSql(sheets[0]?.columns ?? []);
  const sql = [hash, `CAST(${quoteText(startedAt)} AS ${type})`, `CAST(NULL AS ${type})`];
  return HISTORY_COLUMNS.map((name, at) => ({
    name,
    type: at === 0 ? "VARCHAR" : type,
    sql: sql[at] ?? "NULL",
  }));
}

/** The columns that the load adds, over the staged rows of a sheet. */
export function metaTargets(
  site: Pick<Site, "loadId" | "idPrefix" | "plan" | "existing">,
  { parent, table, keyField, list }: Sheet,
): Target[] {
  const rootId = `${quoteText(site.idPrefix)} || ${SEQUENCE.name}`;
  const text = (name: string, sql: string) => ({ name, type: "VARCHAR", sql });
  const load = text("_dlt_load_id", quoteText(site.loadId));
  if (parent === null) {
    const has = (wanted: string) =>
      site.existing(table)?.columns.some(({ name }) => name === wanted) === true;
    const key = keyField ? [text(KEY_COLUMN, KEY.name)] : [];
    const noKey = has(KEY_COLUMN) ? [text(KEY_COLUMN, "CAST(NULL AS VARCHAR)")] : [];
    const isMarked = site.plan.deletes === "soft" || has(DELETED_COLUMN);
    const deleted = { name: DELETED_COLUMN, type: ZONED, sql: `CAST(NULL AS ${ZONED})` };
    return [text("_dlt_id", rootId), load, ...(keyField ? key : noKey), ...(isMarked ? [deleted] : [])];
  }
  return [
    text("_dlt_id", "_dlt_id"),
    load,
    { ...text("_dlt_parent_id", "_dlt_parent_id"), source: list },
    { name: "_dlt_list_idx", type: "BIGINT", sql: "_dlt_list_idx" },
    text("_dlt_root_id", parent.parent === null ? "_dlt_parent_id" : rootId),
  ];
}

async function write(
  site: Site,
  drops: Drops,
  sheet: Sheet,
  { targets, changes, split, zoneless }: Omit<Resolution, "refusals">,
): Promise<LandedTable> {
  const { session } = drops;
  const counts = await drops.counts(sheet);
  const { targets: kept, flags, lacks } = await upserted(site, drops, sheet, targets);
  const select = `SELECT ${selectOf([...kept, ...flags])} FROM (${drops.alive(sheet)})`;
  const expected = sheet.rows - counts.filtered - counts.deduplicated - counts.rejected;
  const writes = !site.dryRun && expected !== 0;
  const files = writes
    ? await writeRows(session, select, join(site.staging.folder, `out-${sheet.table}`))
    : [];
  const [row] = writes ? [] : await session.run(`SELECT count(*) AS n FROM (${drops.alive(sheet)})`);
  return {
    table: sheet.table,
    isChild: sheet !== drops.root,
    existing: site.existing(sheet.table),
    targets,
    rowsRead: sheet.rows + sheet.rejected - counts.filtered,
    rows: writes ? files.reduce((sum, file) => sum + file.rows, 0) : Number(row?.n ?? 0),
    deduplicated: counts.deduplicated,
    rejected: counts.rejected + sheet.rejected,
    files,
    changes,
    split,
    zoneless,
    lacks,
    sample: site.dryRun
      ? await session.run(`SELECT ${selectOf(kept)} FROM (${drops.alive(sheet)}) LIMIT ${SAMPLE_ROWS}`)
      : [],
  };
}
