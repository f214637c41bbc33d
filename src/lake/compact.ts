import { join } from "node:path";
import { AppError } from "../base/errors.ts";
import type { Column, SqlFile, SqlSession } from "../sql/contract.ts";
import { scanOf } from "../sql/text.ts";
import type { LakeFile } from "./contract.ts";
import { writeRows } from "./merge.ts";

/** Larger files are left as they are: opening them costs little beside reading them. */
export const SMALL_FILE_BYTES = 32 * 1024 * 1024;

/** With more files than so many that need not be, a table is put together. As the index `lake_tables_crowded` has it. */
export const MAX_SPARE_FILES = 31;

/** So many of a table's largest small files may stay, so that they are not written anew for each handful of rows. */
const KEPT_FILES = 7;

/** What is read for one commit: a few seconds' work, which a load may have to wait for. */
const MAX_BYTES = 256 * 1024 * 1024;

/** Small files of one partition that are to become one. */
export interface Batch {
  part: string | null;
  files: LakeFile[];
}

/**
 * The small files of a table that are worth putting together, the smallest first, so that a row is written anew as
 * often as the logarithm of the table's size and not with each load. Files of two partitions never come together.
 */
export function pickBatches(files: readonly LakeFile[]): Batch[] {
  const parts = new Map<string | null, LakeFile[]>();
  for (const file of files) {
    if (file.bytes >= SMALL_FILE_BYTES) continue;
    const part = file.part ?? null;
    parts.set(part, [...(parts.get(part) ?? []), file]);
  }
  const keep = parts.size === 1 ? KEPT_FILES : 0;
  let left = MAX_BYTES;
  const batches: Batch[] = [];
  for (const [part, all] of [...parts].sort(([, a], [, b]) => b.length - a.length)) {
    const taken: LakeFile[] = [];
    let sum = 0;
    for (const file of all.sort((a, b) => a.bytes - b.bytes)) {
      if (taken.length >= all.length - keep && file.bytes > sum) break;
      if (sum + file.bytes > left && taken.length > 1) break;
      taken.push(file);
      sum += file.bytes;
    }
    if (taken.length < 2) continue;
    batches.push({ part, files: taken.sort((a, b) => (a.id < b.id ? -1 : 1)) });
    left -= sum;
    if (left <= 0) break;
  }
  return batches;
}

/**
 * Writes the rows of files as few files below `out`, in the order in which they came. `paths` are those of the files
 * on this machine. Throws `row_count_mismatch` where the rows are not those that the files should have.
 */
export async function rewriteFiles(
  session: SqlSession,
  { files, paths, columns, out }: { files: LakeFile[]; paths: string[]; columns: Column[]; out: string },
): Promise<SqlFile[]> {
  const written = await writeRows(session, scanOf(paths, columns), join(out));
  const rows = (all: readonly { rows: number }[]) => all.reduce((sum, file) => sum + file.rows, 0);
  if (rows(written) === rows(files)) return written;
  throw new AppError(
    "row_count_mismatch",
    `${files.length} files should have ${rows(files)} rows together, and have ${rows(written)}.`,
  );
}
