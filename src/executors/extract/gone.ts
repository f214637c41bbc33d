import { join } from "node:path";
import { AppError } from "../../base/errors.ts";
import type { OddValues } from "../../base/odd-values.ts";
import { deleteRows } from "../../lake/deletes.ts";
import { type ExistingFile, pruneFiles } from "../../lake/merge.ts";
import type { Extraction } from "../../providers/contract.ts";
import type { SqlFile } from "../../sql/contract.ts";
import { quoteName, scanOf } from "../../sql/text.ts";
import { type Finished, type FinishOptions, nothing, sizeOf } from "./finish.ts";
import { fitInto } from "./fit.ts";
import type { IntakeOptions } from "./intake-options.ts";
import { filesOf } from "./keys.ts";
import type { Landed } from "./land.ts";
import { columnPath, KEY_COLUMN, normaliseName } from "./naming.ts";
import { partsOf } from "./parts.ts";
import type { Plan } from "./plan.ts";
import { columnsOf, digitsOf } from "./resolve.ts";
import { KEY } from "./sheet.ts";
import type { Staging } from "./staging.ts";
import { recordFiles, takeTyped, typedSheet } from "./typed.ts";

/** Reads all keys of the source into a Parquet file, in the types of the table. */
export async function takeKeys(
  extraction: Extraction & { kind: "csv" },
  { key, tables: [root] }: Landed,
  staging: Staging,
  options: Pick<IntakeOptions, "table" | "namesOf" | "warn" | "signal" | "progress">,
): Promise<string> {
  const sheet = typedSheet(extraction, options);
  const taken = recordFiles(extraction, staging, { ...options, limit: null });
  await takeTyped(extraction, taken, sheet, staging);
  const values = key.columns.map((name, at) => {
    const type = root?.targets.find((target) => target.name === name)?.type;
    const column = sheet.columns[at];
    const [part] = column ? partsOf(column) : [];
    if (!type || !column || !part) throw noKeyColumn(options.table, name);
    const digits = type === "VARCHAR" ? digitsOf(column) : null;
    return `${digits ?? fitInto(type, part).main} AS ${quoteName(name)}`;
  });
  if (key.field) values.push(`${KEY.name} AS ${quoteName(KEY_COLUMN)}`);
  const path = staging.path("parquet");
  await staging.write(`SELECT ${values.join(", ")} FROM (${sheet.scan()})`, path);
  return path;
}

/** Throws `definition_invalid` if reading ended at the limit: the source may have more rows. */
export function checkLimit({ tables: [root] }: Landed, { resource }: Plan, limit: number | null): void {
  if (limit === null || (root?.rowsRead ?? 0) < limit) return;
  throw new AppError(
    "definition_invalid",
    `${resource}: maxRows (${limit}) was reached, so it isn't known which rows the source no longer has. Raise or remove maxRows, or set deletes to ignore. Nothing was loaded.`,
  );
}

/** Whether a value of the key changed when it was loaded, so that its row no longer has the source's key. */
export function hasOddKeys({ key }: Landed, odd: readonly (OddValues | undefined)[]): boolean {
  const columns = odd.flatMap((values) => values?.all ?? []).map(({ column }) => column);
  const names = new Set(columns.flatMap((column) => [normaliseName(column), columnPath(column)]));
  return key.columns.some((name) => names.has(name));
}

/** Whether the rows that were read have all keys of the source. Warns if they may not. */
export function hasAllKeys(
  { tables: [root], isPartial = false }: Landed,
  warn: (text: string) => void,
): boolean {
  const { table = "", rows = 0, rejected = 0 } = root ?? {};
  const isEmpty = rows + rejected === 0; // then nothing is loaded, with a better reason
  if ((!isPartial || isEmpty) && rejected === 0) return true;
  const why =
    rejected > 0
      ? `${rejected} of its rows ${rejected === 1 ? "was" : "were"} rejected`
      : "not all keys were read (see the other warnings)";
  warn(`${table}: nothing was deleted, since it isn't known which rows the source no longer has: ${why}.`);
  return false;
}

/** Writes the keys of the rows that were read to a Parquet file. Null if there is nothing to compare them with. */
export async function keysOfRows({ key, tables: [root] }: Landed, staging: Staging): Promise<string | null> {
  if (!root?.existing?.files.length) return null;
  const { targets, files, table } = root;
  const columns = key.match.map((name) => {
    const target = targets.find((each) => each.name === name);
    if (!target) throw noKeyColumn(table, name);
    return { name, dataType: target.type, nullable: true };
  });
  const path = staging.path("parquet");
  const rows = scanOf(
    files.map((file) => file.path),
    columns,
  );
  await staging.write(`SELECT DISTINCT * FROM (${rows})`, path);
  return path;
}

const noKeyColumn = (table: string, name: string) =>
  new AppError("definition_invalid", `${table} has no column ${name}, which is in its primaryKey.`);

/** Deletes or marks rows whose keys are missing from the source. Deletes their child rows too. */
export async function deleteMissing(
  finished: Finished[],
  { tables: [root], key }: Landed,
  keys: string,
  options: FinishOptions,
): Promise<void> {
  const { session, folder, plan, startedAt, children, lake } = options;
  const [first] = finished;
  if (!root || !first) return;
  const isHard = plan.deletes === "hard";
  const columns = first.change?.columns ?? columnsOf(root.targets);
  const goneIds = join(folder, "deleted.parquet");
  const former = await filesOf(root.existing, lake);
  const deletion = await deleteRows(session, {
    table: root.table,
    existing: current(former, first),
    former,
    columns,
    key: key.match,
    known: key.columns,
    keys,
    isHard,
    at: startedAt,
    maxPercent: plan.maxDelete,
    out: join(folder, `left-${root.table}`),
    goneIds,
  });
  first.result.deleted += deletion.deleted;
  put(first, deletion, { table: root.table, columns, baseVersion: root.existing?.version ?? null });
  if (!isHard || deletion.deleted === 0) return;
  for (const child of children) {
    const known = finished.find(({ result }) => result.table === child.table);
    const part: Finished = known ?? { result: nothing(child.table), change: null };
    if (!known) finished.push(part);
    const { table, columns, version } = child;
    const pruned = await pruneFiles(session, {
      existing: current(await filesOf(child, lake), part),
      incoming: [],
      columns: part.change?.columns ?? columns,
      out: join(folder, `left-${table}`),
      column: "_dlt_root_id",
      ids: goneIds,
    });
    part.result.deleted += pruned.deleted;
    put(part, pruned, { table, columns, baseVersion: version });
  }
}

/** The table's files after the load. Its new ones are identified by their paths. */
function current(existing: readonly ExistingFile[], { change }: Finished): ExistingFile[] {
  const remove = change?.remove ?? [];
  const kept = remove === "all" ? [] : existing.filter(({ id }) => !remove.includes(id));
  return [...kept, ...(change?.files ?? []).map(({ path, rows }) => ({ id: path, path, rows }))];
}

/** Records that some of those files are replaced. */
function put(
  finished: Finished,
  { add, remove }: { add: SqlFile[]; remove: string[] },
  fresh: Pick<NonNullable<Finished["change"]>, "table" | "columns" | "baseVersion">,
): void {
  if (remove.length === 0) return;
  const change = finished.change ?? { ...fresh, files: [], remove: [] };
  const own = new Set(change.files.map(({ path }) => path));
  const files = [...change.files.filter(({ path }) => !remove.includes(path)), ...add];
  const gone = remove.filter((id) => !own.has(id));
  finished.change = {
    ...change,
    files,
    remove: change.remove === "all" ? "all" : [...change.remove, ...gone],
  };
  Object.assign(finished.result, sizeOf(files));
}
