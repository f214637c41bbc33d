import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../base/disk.ts";
import { AppError } from "../base/errors.ts";
import { bytesOf } from "../sql/sql.ts";

const CHECK_MS = 1_000;
/** Maximum ratio of a run's disk usage to the free space that it leaves. */
const TIMES_FREE = 9;

interface Watch {
  path: string;
  /** As configured, such as `20GB`. */
  limit: string;
  /** Ends the run. */
  end(why: AppError): void;
  report(error: unknown): void;
}

/** Ends a run that exceeds its work directory limit or nearly fills the disk. Returns a function that stops the check. */
export function watchFolder({ path, limit, end, report }: Watch): () => void {
  const limitBytes = bytesOf(limit);
  let isOver = false;
  let timer = setTimeout(check, CHECK_MS);
  async function check(): Promise<void> {
    try {
      const why = await faultOf(path, limitBytes, limit);
      if (isOver) return;
      if (why) return end(why);
    } catch (error) {
      report(error);
    }
    if (!isOver) timer = setTimeout(check, CHECK_MS);
  }
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

async function faultOf(path: string, limitBytes: number, limit: string): Promise<AppError | null> {
  const bytes = await bytesBelow(path);
  if (bytes > limitBytes) {
    const message = `The run used more than ${limit} in its work directory. Let it process less at once, or raise WEIR_WORK_LIMIT.`;
    return new AppError("work_folder_full", message);
  }
  if (bytes === 0) return null;
  const disk = await statfs(path).catch(orGone(null));
  if (disk === null) return null;
  const { bavail, bsize } = disk;
  if (bavail * bsize * TIMES_FREE >= bytes) return null;
  const message = "The run used nearly all of the disk. Free up space and try again.";
  return new AppError("disk_full", message, { retryable: true });
}

/** Files come and go during the check. A deleted file counts as 0 bytes. */
async function bytesBelow(path: string): Promise<number> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(orGone([]));
  let bytes = 0;
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const found = await stat(join(entry.parentPath, entry.name)).catch(orGone(null));
    bytes += found?.size ?? 0;
  }
  return bytes;
}

/** Returns `instead` for a missing file. */
const orGone =
  <T>(instead: T) =>
  (error: unknown): T => {
    if (codeOf(error) === "ENOENT") return instead;
    throw error;
  };
