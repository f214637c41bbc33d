import { join } from "node:path";
import type { LakeTable } from "../../lake/contract.ts";
import { type Keep, rewriteKeys } from "../../lake/keys.ts";
import type { ExistingFile } from "../../lake/merge.ts";
import type { SqlFile, SqlSession } from "../../sql/contract.ts";
import type { RunLake } from "../contract.ts";
import { isKeyed, type Landed } from "./land.ts";
import { KEY_COLUMN } from "./naming.ts";
import type { Plan } from "./plan.ts";
import { columnsOf } from "./resolve.ts";

/** The table's files after its keys were converted, before the load adds its own. */
export interface Ready {
  existing: ExistingFile[];
  /** The new files, by path. */
  add: SqlFile[];
  /** IDs of the files that these replace. */
  remove: string[];
  /** Number of rows with the same key as a newer one. */
  deleted: number;
}

/** Converts the keys of earlier loads to the form of this load's keys, and reports it. */
export async function readyKeys(
  { tables: [root], key, keysFile }: Landed,
  options: { session: SqlSession; lake: RunLake; folder: string; plan: Plan; warn(text: string): void },
): Promise<Ready> {
  const { session, lake, folder, plan, warn } = options;
  if (!root || !isKeyed(plan)) return { existing: [], add: [], remove: [], deleted: 0 };
  const files = await filesOf(root.existing, lake);
  const asIs: Ready = { existing: files, add: [], remove: [], deleted: 0 };
  if (root.files.length === 0 && keysFile === undefined) return asIs;
  const before = new Map(root.existing?.columns.map(({ name, dataType }) => [name, dataType]));
  const columns = columnsOf(root.targets);
  const digits = root.targets
    .filter(({ name, isDigits }) => isDigits && before.has(name))
    .map(({ name }) => name);
  const { field, parts } = key;
  if (digits.length === 0 && !field) return asIs;
  const { add, remove, filled, trimmed, deleted } = await rewriteKeys(session, {
    existing: files,
    columns: columns.map((column) =>
      digits.includes(column.name)
        ? { ...column, dataType: before.get(column.name) ?? column.dataType }
        : column,
    ),
    digits,
    fill: field && { ...field, column: KEY_COLUMN, parts },
    key: key.match,
    keep: keepOf(plan),
    out: join(folder, `keyed-${root.table}`),
  });
  const names = key.columns.filter((name) => parts.includes(name) || digits.includes(name)).join(", ");
  if (filled > 0)
    warn(
      `${filled} rows of ${root.table} got their ${KEY_COLUMN}: rows are found by it now, since the source compares ${parts.join(", ")} by a collation.`,
    );
  if (trimmed > 0)
    warn(
      `${trimmed} rows of ${root.table} lost the zeros at the end of ${digits.join(", ")}, so that equal numbers are one key.`,
    );
  if (deleted > 0)
    warn(
      `${deleted} rows of ${root.table} were removed: another row has the same key in ${names}, as the source compares it.`,
    );
  const kept = files.filter(({ id }) => !remove.includes(id));
  const made = add.map(({ path, rows }) => ({ id: path, path, rows }));
  return { existing: [...kept, ...made], add, remove, deleted };
}

/** A table with appended rows may have several rows of one key, and so may one with versions. */
function keepOf({ disposition, strategy }: Plan): Keep {
  if (disposition !== "merge" || strategy === "scd2") return "all";
  return strategy === "insert_only" ? "oldest" : "newest";
}

export const filesOf = (table: LakeTable | null, lake: RunLake): Promise<ExistingFile[]> =>
  Promise.all(
    (table?.files ?? []).map(async (file) => ({
      id: file.id,
      rows: file.rows,
      path: await lake.localPath(file),
    })),
  );
