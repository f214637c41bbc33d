import { AppError } from "../../base/errors.ts";
import type { TreeFile } from "../../providers/contract-tree.ts";
import { isChanged } from "../../providers/files/streams.ts";
import type { ManifestEntry, RunContext } from "../contract.ts";
import type { Failure } from "./plan.ts";
import type { Source, Target } from "./sides.ts";

/** Number of small files copied concurrently. Fewer of larger ones, since each has several parts in memory. */
const SMALL_AT_ONCE = 16;
const LARGE_AT_ONCE = 4;
const LARGE_BYTES = 8 * 1024 * 1024;

/** Number of attempts for one file, if the failure may be temporary. */
const MAX_TRIES = 3;
const FIRST_WAIT_MS = 500;

/** How often copied files are recorded and reported. If the process ends, no more than that is lost. */
const KEEP_MS = 200;
/** When files are copied quickly, entries are written in hundreds: another number needs another prepared statement. */
const KEPT_AT_ONCE = 100;

/** Errors that are about the source or destination, not about the file. */
const SYSTEMIC = new Set(["upstream", "timeout", "egress_blocked", "forbidden", "disk_full", "unavailable"]);

export interface Copied {
  entries: ManifestEntry[];
  failed: Failure[];
  /** Reason why every file failed, if it isn't about a file's name or content. */
  cause: AppError | null;
}

interface Job {
  ctx: RunContext;
  source: Source;
  target: Target;
  pair: string;
  files: readonly TreeFile[];
  maxBytes: number | null;
  tell(done: number, bytes: number): void;
}

/**
 * Copies files and records each one. A failed file doesn't keep the others from being copied. Throws the signal's
 * reason, `disk_full`, and `limit_exceeded` if files are larger than announced.
 */
export async function copyFiles(job: Job): Promise<Copied> {
  const { ctx, files } = job;
  const copied: Copied = { entries: [], failed: [], cause: null };
  let bytes = 0;
  const diary = openDiary(job, () => job.tell(copied.entries.length + copied.failed.length, bytes));
  let fatal: unknown = null;
  const work = async (queue: Iterator<TreeFile>) => {
    for (let next = queue.next(); !next.done && fatal === null; next = queue.next()) {
      try {
        ctx.signal.throwIfAborted();
        const entry = await copyOne(job, next.value);
        bytes += entry.size;
        copied.entries.push(entry);
        diary.note(entry);
        if (job.maxBytes !== null && bytes > job.maxBytes) throw tooMany(bytes, job.maxBytes);
      } catch (error) {
        if (isFatal(ctx, error)) {
          fatal ??= ctx.signal.aborted ? ctx.signal.reason : error;
          return;
        }
        const known = error as AppError;
        if (SYSTEMIC.has(known.code) && !isChanged(known)) copied.cause ??= known;
        copied.failed.push({ path: next.value.path, reason: known.message });
        ctx.log("warn", `${next.value.path} wasn't copied: ${known.message}`);
        diary.note(null);
      }
    }
  };
  const isLarge = ({ size }: TreeFile) => (size ?? 0) > LARGE_BYTES;
  const large = files.filter(isLarge).values();
  const small = files.filter((file) => !isLarge(file)).values();
  await Promise.all([
    ...Array.from({ length: LARGE_AT_ONCE }, () => work(large)),
    ...Array.from({ length: SMALL_AT_ONCE }, () => work(small)),
  ]);
  await diary.close();
  if (fatal !== null) throw fatal;
  return copied;
}

const isFatal = ({ signal }: RunContext, error: unknown): boolean =>
  signal.aborted ||
  !(error instanceof AppError) ||
  error.code === "disk_full" ||
  error.code === "limit_exceeded" ||
  error.code === "internal";

const tooMany = (bytes: number, maxBytes: number) =>
  new AppError(
    "limit_exceeded",
    `The files are larger than announced: ${bytes} bytes were copied, and maxBytes is ${maxBytes}.`,
    { details: { bytes, maxBytes } },
  );

/** Copies one file. Retries if that may help, and once if it changed in the meantime. */
async function copyOne(job: Job, listedFile: TreeFile): Promise<ManifestEntry> {
  const { ctx, source } = job;
  let file = listedFile;
  let hasChanged = false;
  for (let tries = 1; ; tries++) {
    try {
      const { version, size, detail = null } = await bring(job, file);
      return {
        path: file.path,
        sourceVersion: file.version,
        targetVersion: version,
        size,
        detail,
        runId: null,
      };
    } catch (error) {
      ctx.signal.throwIfAborted();
      if (!(error instanceof AppError)) throw error;
      if (isChanged(error) ? hasChanged : !error.retryable || tries >= MAX_TRIES) throw error;
      if (isChanged(error)) hasChanged = true;
      else await ctx.clock.sleep(FIRST_WAIT_MS * 2 ** (tries - 1), ctx.signal);
      ctx.signal.throwIfAborted();
      const now = await source.stat(file);
      if (!now) throw new AppError("not_found", "It no longer exists.");
      file = now;
    }
  }
}

async function bring({ source, target }: Job, file: TreeFile) {
  const there = await target.copy(source, file);
  if (there) return there;
  const opened = await source.open(file);
  try {
    return await target.put(file.path, opened, file.size);
  } catch (error) {
    if (opened.bytes instanceof ReadableStream && !opened.bytes.locked)
      await opened.bytes.cancel(error).catch(() => undefined); // report the first error
    throw error;
  }
}

/** Records copied files in batches, and reports them. */
function openDiary({ ctx, pair }: Pick<Job, "ctx" | "pair">, tell: () => void) {
  const waiting: ManifestEntry[] = [];
  let timer: Timer | null = null;
  let failure: unknown = null;
  let writing: Promise<void> = Promise.resolve();
  const write = (count: number) => {
    tell();
    const batch = waiting.splice(0, count);
    writing = writing
      .then(() => (batch.length > 0 ? ctx.manifest.keep(pair, batch) : undefined))
      .catch((error: unknown) => {
        failure ??= error;
      });
  };
  const late = () => {
    timer = null;
    const { length } = waiting;
    write(length > KEPT_AT_ONCE ? length - (length % KEPT_AT_ONCE) : length);
    if (waiting.length > 0) timer = setTimeout(late, KEEP_MS);
  };
  return {
    /** Null for a failed file, which has no entry. */
    note(entry: ManifestEntry | null) {
      if (entry) waiting.push(entry);
      timer ??= setTimeout(late, KEEP_MS);
    },
    /** Throws the reason why it couldn't be stored. */
    async close() {
      if (timer !== null) clearTimeout(timer);
      write(waiting.length);
      await writing;
      if (failure !== null) throw failure;
    },
  };
}
