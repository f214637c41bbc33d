import type { Extraction } from "../../providers/contract.ts";
import type { SqlFile } from "../../sql/contract.ts";
import { parquet, quoteName } from "../../sql/text.ts";
import { isWhole, reached, rowIdentity } from "./boundary.ts";
import { keyOf, knownColumns, type Landed, metaTargets, type Site } from "./land.ts";
import type { Peekable } from "./peekable.ts";
import type { RecordFile } from "./records.ts";
import { resolve, selectOf } from "./resolve.ts";
import type { Sheet } from "./sheet.ts";
import { typedSource } from "./typed.ts";

/**
 * Writes a typed source directly to the table's files, in one pass, if nothing has to be filtered, looked up or
 * split. Returns null otherwise, after requesting at most the first of `records`. Throws a refusal (`isRefusal`) if
 * a later value has another type than the first ones.
 */
export async function landDirect(
  site: Site,
  extraction: Extraction & { kind: "csv" },
  records: Peekable<RecordFile>,
  sheet: Sheet,
): Promise<Landed | null> {
  const { plan, staging } = site;
  const { incremental } = plan;
  const { session, conveyor, pool } = staging;
  const isPlain =
    !incremental || (extraction.ranged && plan.limit === null && !incremental.stored?.boundary.length);
  if (site.dryRun || plan.disposition === "merge" || !isPlain) return null;
  await records.peek(); // from here on the first rows decide the types
  let needsRows = false;
  const existing = site.existing(sheet.table);
  const resolution = await resolve({
    sheet,
    existing: knownColumns(existing),
    contract: site.contract,
    fixed: site.fixed,
    key: [],
    isReplaced: plan.disposition === "replace",
    thinned: false,
    probe: async (conditions) => {
      needsRows = true;
      return conditions.map(() => 0);
    },
  });
  const field = incremental ? sheet.find(incremental.field) : undefined;
  const named = incremental ? [...plan.primaryKey, incremental.field].map((name) => sheet.find(name)) : [];
  // Fingerprints at the cursor are later computed from staged rows.
  const isSame = sheet.columns
    .filter((column) => isWhole(plan) || named.includes(column))
    .every((column) =>
      resolution.targets.some((t) => t.name === column.name && t.sql === column.slots[0]?.name),
    );
  if (needsRows || resolution.refusals.length > 0 || (incremental && !(isSame && field))) return null;

  const targets = [...resolution.targets, ...metaTargets(site, sheet)];
  const files: SqlFile[] = [];
  for await (const file of records) {
    const source = typedSource(extraction, sheet, file, { before: sheet.rows, isTrusting: true });
    const select = `SELECT ${selectOf(targets)} FROM (${source})`;
    sheet.rows += file.records;
    await conveyor.put(async () => {
      files.push(await staging.writeFinal(select));
      pool.give(file.path);
    });
  }
  await conveyor.drain();
  await pool.remove();

  const end =
    incremental && field && files.length > 0
      ? await reached(
          session,
          written(sheet, files),
          rowIdentity(sheet, plan, field, { fingerprinted: false, ranged: true }),
          { ...plan, incremental },
          site.warn,
        )
      : null;
  return {
    tables: [
      {
        table: sheet.table,
        isChild: false,
        existing,
        targets,
        rowsRead: sheet.rows,
        rows: files.reduce((sum, file) => sum + file.rows, 0),
        deduplicated: 0,
        rejected: 0,
        files,
        changes: resolution.changes,
        split: resolution.split,
        zoneless: resolution.zoneless,
        sample: [],
      },
    ],
    cursor: incremental && {
      start: incremental.start,
      end: end ? end.end : incremental.isBackfill ? null : incremental.start,
    },
    state: end?.state ?? null,
    rejects: [],
    furtherSheets: [],
    key: keyOf(sheet, plan),
    dedupeBy: undefined,
  };
}

/** The rows of the finished files under the names of the staged columns. */
function written(sheet: Sheet, files: readonly SqlFile[]): string {
  const columns = sheet.columns.map((column) => `${quoteName(column.name)} AS ${column.slots[0]?.name}`);
  return `SELECT ${columns.join(", ")} FROM ${parquet(files.map((file) => file.path))}`;
}
