import { AppError } from "../../base/errors.ts";
import type { TreeFile } from "../../providers/contract.ts";
import { isChanged } from "../../providers/files/streams.ts";
import type { ManifestEntry, RunContext } from "../contract.ts";
import type { Failure } from "./plan.ts";
import type { Source, Target } from "./sides.ts";

/** Small files are copied so many at once; of larger ones fewer, since each has several parts in memory. */
const SMALL_AT_ONCE = 16;
const LARGE_AT_ONCE = 4;
const LARGE_BYTES = 8 * 1024 * 1024;

/** Tries of one file where the other side fails in a way that may pass. */
const MAX_TRIES = 3;
const FIRST_WAIT_MS = 500;

/** What has arrived is written down and told so often; a process that ends takes no more than that with it. */
const KEEP_MS = 200;
/** While files come fast their entries go by the hundred: a statement for another number of them has to be made first. */
const KEPT_AT_ONCE = 100;

/** Errors that say nothing about the file but about where it goes or comes from. */
const SYSTEMIC = new Set(["upstream", "timeout", "egress_blocked", "forbidden", "disk_full", "unavailable"]);

export interface Copied {
  entries: ManifestEntry[];
  failed: Failure[];
  /** Why every file failed, where that was nobody's name or content. */
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
 * Copies files and writes down each that has arrived. One that fails does not keep the others from being copied.
 * Throws the signal's reason, `disk_full`, and `limit_exceeded` where files turn out larger than they were said to be.
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
        ctx.log("warn", `${next.value.path} was not copied: ${known.message}`);
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
    `The files are larger than they were said to be: ${bytes} bytes were copied, and maxBytes is ${maxBytes}.`,
    { details: { bytes, maxBytes } },
  );

/** One file, tried again where that may help; once more where it changed meanwhile. */
async function copyOne(job: Job, given: TreeFile): Promise<ManifestEntry> {
  const { ctx, source } = job;
  let file = given;
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
      await opened.bytes.cancel(error).catch(() => undefined); // the first error is the one to tell
    throw error;
  }
}

/** Writes down what has arrived, some at a time, and tells of it. */
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
    /** Null for a file that failed, of which there is nothing to write. */
    note(entry: ManifestEntry | null) {
      if (entry) waiting.push(entry);
      timer ??= setTimeout(late, KEEP_MS);
    },
    /** Throws what kept it from writing. */
    async close() {
      if (timer !== null) clearTimeout(timer);
      write(waiting.length);
      await writing;
      if (failure !== null) throw failure;
    },
  };
}
