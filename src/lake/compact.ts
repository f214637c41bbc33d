import { join } from "node:path";
import { AppError } from "../base/errors.ts";
import type { Column, SqlFile, SqlSession } from "../sql/contract.ts";
import { scanOf } from "../sql/text.ts";
import type { LakeFile } from "./contract.ts";
import { writeRows } from "./merge.ts";

/** Larger files are left alone: opening them costs little compared to reading them. */
export const SMALL_FILE_BYTES = 32 * 1024 * 1024;

/** A table with more small files than this is compacted. The index `lake_tables_crowded` has the same number. */
export const MAX_SPARE_FILES = 31;

/**
 * Number of a table's largest small files that may stay, so that a few new rows don't cause all of them to be
 * rewritten.
 */
const KEPT_FILES = 7;

/** Maximum bytes to read for one commit: a few seconds of work that a load may have to wait for. */
const MAX_BYTES = 256 * 1024 * 1024;

/** Small files of one partition to be merged into one. */
export interface Batch {
  part: string | null;
  files: LakeFile[];
}

/**
 * The small files of a table worth merging, the smallest first. A row is rewritten as often as the logarithm of the
 * table's size, not with each load. Files of different partitions are never merged.
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
 * Writes the rows of several files to fewer files below `out`, in their original order. `paths` are the files' local
 * paths. Throws `row_count_mismatch` if the number of rows differs from the files' recorded counts.
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
