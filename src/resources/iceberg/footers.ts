import { AppError } from "../../base/errors.ts";
import { slot } from "../../base/memory.ts";
import { openTurns } from "../../base/slices.ts";
import type { App } from "../../context.ts";
import type { LakeFile } from "../../lake/contract.ts";
import { type ColumnStats, footerLength, readFooter } from "../../lake/iceberg/footer.ts";
import { MAX_COLUMNS } from "../../lake/iceberg/metrics.ts";

/** Number of bytes read first. Most footers are shorter. */
const FIRST_BYTES = 64 * 1024;
/** A longer footer isn't read, since that would block other work. */
const MAX_BYTES = 128 * 1024;
const MAX_KEPT = 1_000;
/** Maximum number of a table's files with statistics. Readers open the others. */
const MAX_FILES = 1_000;
const AT_ONCE = 8;

/** Cache of recent files' statistics, by path: files never change. */
const KEPT = slot(() => new Map<string, readonly ColumnStats[]>());

type File = Pick<LakeFile, "path" | "bytes">;

/**
 * Returns column statistics of files by path, if their footers can be read. Only for the first files if there are many.
 */
export async function statsOf(
  app: App,
  files: readonly File[],
): Promise<ReadonlyMap<string, readonly ColumnStats[]>> {
  const found = new Map<string, readonly ColumnStats[]>();
  const kept = app.memory.of(KEPT);
  const waiting = files.slice(0, MAX_FILES);
  const yieldSlice = openTurns();
  const work = async () => {
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
      const { path } = file;
      const stats = kept.get(path) ?? (await readStats(app, file));
      kept.delete(path);
      kept.set(path, stats);
      found.set(path, stats);
      const [oldest] = kept.keys();
      if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
      await yieldSlice();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

/** Empty for a deleted file, and for one with a footer that is too long. */
async function readStats(app: App, file: File): Promise<readonly ColumnStats[]> {
  try {
    const end = await app.lake.tail(file, FIRST_BYTES);
    const length = footerLength(end);
    if (length === null || length > MAX_BYTES) return [];
    const stats = readFooter(length <= end.length ? end : await app.lake.tail(file, length));
    return stats.slice(0, MAX_COLUMNS); // Statistics of the others aren't published.
  } catch (error) {
    if (error instanceof AppError && error.code === "dataset_changed") return [];
    if (!(error instanceof RangeError)) throw error;
    app.log.report(error, { at: "read the footer of a file of the lake", path: file.path });
    return [];
  }
}
