import { AppError } from "../base/errors.ts";
import { canonicalJson, isObject } from "../base/json.ts";
import type { TreeFile } from "../providers/contract-tree.ts";
import { type Done, datasetOf, defineExecutor, type NamedConnection, type RunContext } from "./contract.ts";
import { copyFiles } from "./file-sync/copy.ts";
import {
  type Definition,
  definition,
  faultsOf,
  filterOf,
  isPlain,
  LAKE,
  partsOf,
  result,
  selectionOf,
} from "./file-sync/definition.ts";
import { type Failure, type Plan, planSync } from "./file-sync/plan.ts";
import { openSource, openTarget, readOnly, type Source, type Target } from "./file-sync/sides.ts";

/** Number of concurrent deletions. */
const DELETES_AT_ONCE = 8;
/** Maximum number of filenames in the log. */
const NAMES_TOLD = 100;

/**
 * Copies new and changed files from one location to another.
 *
 * A second attempt is safe: a file appears at its destination completely or not at all, and each copied file is
 * recorded in the manifest, so that it isn't copied again. Deletions come last, and only if nothing failed. Only files
 * that are in the way of a mirror, where a file became a folder or the reverse, are deleted before. In a table of the
 * lake, files are rows: copied files that were since rewritten are deleted in either mode.
 */
export const fileSync = defineExecutor({
  kind: "file_sync",
  title: "File sync",
  description:
    "Copies new and changed files between buckets, drives, folders and the lake. A mirror also deletes files that the source no longer has.",
  providers: ["s3", "google_drive", "local_files", "sftp"],
  definition,
  result,
  writes({ destination }) {
    const { connectionId, path } = isObject(destination) ? destination : {};
    const [layer, dataset] = connectionId === LAKE && isPlain(path) ? partsOf(path) : [];
    return datasetOf(layer, dataset);
  },
  connections: (input) => {
    const { source, destination } = input as Partial<Definition>;
    return [
      ...named(["source", "connectionId"], source?.connectionId, (provider) =>
        provider.tree ? null : `A connection of ${provider.title} has no files to copy.`,
      ),
      ...named(["destination", "connectionId"], destination?.connectionId, ({ tree, title }, config) =>
        tree?.writes ? (tree.writes.refusal?.(config) ?? null) : readOnly(title),
      ),
    ];
  },
  check: faultsOf,
  execute,
});

const named = (
  path: string[],
  id: string | undefined,
  refusal: NamedConnection["refusal"],
): NamedConnection[] => (isPlain(id) && id !== LAKE ? [{ path, id, refusal }] : []);

async function execute(ctx: RunContext, input: Definition): Promise<Done> {
  ctx.progress({ phase: "list", message: "Comparing source and destination" });
  const source = await openSource(ctx, input.source, input.mode);
  const target = await openTarget(ctx, input.destination, input.mode);
  try {
    refuseOverlap(source, target, input.mode);
    return await sync(ctx, input, source, target);
  } finally {
    await target.close();
  }
}

/** A folder copied into itself would be copied again, and a mirror would delete its own source. */
function refuseOverlap({ home: from }: Source, { home: to }: Target, mode: Definition["mode"]): void {
  if (!to.startsWith(from) && !(mode === "mirror" && from.startsWith(to))) return;
  throw new AppError("definition_invalid", "Source and destination overlap. Choose separate folders.");
}

async function sync(ctx: RunContext, input: Definition, source: Source, target: Target): Promise<Done> {
  const pair = new Bun.CryptoHasher("sha256").update(canonicalJson([source.home, target.home])).digest("hex");
  const isMeant = filterOf(input.source);
  const [listed, [manifest, present]] = await Promise.all([
    listSource(ctx, input, source, isMeant),
    ctx.manifest.read(pair).then(async (known) => [known, await target.list(known)] as const),
  ]);
  const plan = planSync({
    files: listed.files,
    present,
    manifest,
    runId: ctx.run.id,
    overwrite: input.overwrite,
    mirror: input.mode === "mirror",
    isFolderLike: target.isFolderLike,
    renamesTwins: target.renamesTwins,
    fault: target.fault,
    hasDropped: source.hasDropped,
    isMeant,
    unread: listed.failed,
    at: target.at,
  });
  for (const { path, reason } of plan.failed.slice(0, NAMES_TOLD)) ctx.log("warn", `${path}: ${reason}`);
  refusePastLimits(input, plan);
  if (plan.adopt.length > 0) await ctx.manifest.keep(pair, plan.adopt);

  const { failed } = plan;
  const cleared = await removeFiles(ctx, target, plan.clear, failed);
  const total = plan.copy.length;
  ctx.progress({ phase: "copy", current: 0, total, unit: "files" });
  const copied = await copyFiles({
    ctx,
    source,
    target,
    pair,
    files: plan.copy,
    maxBytes: input.maxBytes ?? null,
    tell: (done, bytes) =>
      ctx.progress({ phase: "copy", current: done, total, unit: "files", message: `${bytes} bytes` }),
  });
  if (copied.cause && copied.entries.length === 0) throw allFailed(copied.cause, copied.failed.length);

  failed.push(...copied.failed);
  const others = await removeFiles(ctx, target, [...plan.replaced, ...plan.remove], failed);
  const removed = [...cleared, ...others];
  const gone = [...removed, ...plan.forget];
  if (gone.length > 0) await ctx.manifest.forget(pair, gone);
  const load = await target.finish();
  const entries = [...plan.done, ...copied.entries].sort((a, b) => (a.path < b.path ? -1 : 1));
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  ctx.log(
    failed.length > 0 ? "warn" : "info",
    `${entries.length} copied (${bytes} bytes), ${plan.skipped} unchanged, ${removed.length} deleted, ${failed.length} failed.`,
  );
  if (failed.length > 0)
    ctx.progress({ phase: "done", message: `${failed.length} files failed; the result names them` });
  return {
    result: {
      copied: entries.length,
      skipped: plan.skipped,
      deleted: removed.length,
      failed: failed.map(({ path, reason }) => ({ path, reason })),
      bytes,
      files: entries.map(({ path, size }) => ({ path, size })),
    },
    ...(load ? { load } : {}),
  };
}

/**
 * Lists the source's files to sync. Selected files that don't exist are reported as failed, and the others are copied.
 */
async function listSource(
  ctx: RunContext,
  input: Definition,
  source: Source,
  isMeant: (path: string) => boolean,
): Promise<{ files: TreeFile[]; failed: Failure[] }> {
  const files: TreeFile[] = [];
  const failed: Failure[] = [];
  const missing = (path: string) =>
    void failed.push({ path, reason: "Selected, but not found in the source's folder." });
  const { selectedItems } = input.source;
  const only =
    selectedItems && selectedItems.length > 0 ? { items: selectionOf(selectedItems), missing } : undefined;
  const unread = (path: string, reason: string) => {
    if (isMeant(path)) failed.push({ path, reason: `Not copied: ${reason}.` });
  };
  for await (const file of source.walk(only, unread)) {
    if (!isMeant(file.path)) continue;
    files.push(file);
    if (files.length % 1_000 === 0)
      ctx.progress({
        phase: "list",
        current: files.length,
        unit: "files",
        message: "Comparing source and destination",
      });
  }
  return { files, failed };
}

/** Throws `limit_exceeded` or `max_delete_exceeded` before anything is done. */
function refusePastLimits({ maxFiles, maxBytes, maxDelete }: Definition, plan: Plan): void {
  const files = plan.copy.length;
  const bytes = plan.copy.reduce((sum, { size }) => sum + (size ?? 0), 0);
  if (maxFiles !== undefined && files > maxFiles) {
    throw new AppError(
      "limit_exceeded",
      `Sync cancelled: ${files} files exceed maxFiles (${maxFiles}). Nothing was copied.`,
      { details: { files, maxFiles } },
    );
  }
  if (maxBytes !== undefined && bytes > maxBytes) {
    throw new AppError(
      "limit_exceeded",
      `Sync cancelled: ${bytes} bytes exceed maxBytes (${maxBytes}). Nothing was copied.`,
      { details: { bytes, maxBytes } },
    );
  }
  const deletes = plan.clear.length + plan.remove.length;
  if (deletes > maxDelete) {
    throw new AppError(
      "max_delete_exceeded",
      `Sync cancelled: ${deletes} deletions at the destination exceed maxDelete (${maxDelete}). Nothing was copied. To delete them, raise maxDelete.`,
      { details: { deletes, maxDelete } },
    );
  }
}

const allFailed = (cause: AppError, count: number) =>
  new AppError(cause.code, `None of ${count} files could be copied. ${cause.message}`, {
    retryable: cause.retryable,
    cause,
    details: { ...cause.details, files: count },
    ...(cause.retryAfterSeconds === null ? {} : { retryAfterSeconds: cause.retryAfterSeconds }),
  });

/** Deletes what has to be deleted, unless anything failed. Returns the deleted paths. */
async function removeFiles(
  ctx: RunContext,
  target: Target,
  paths: readonly string[],
  failed: Failure[],
): Promise<string[]> {
  if (paths.length === 0) return [];
  if (failed.length > 0) {
    ctx.log("warn", `${paths.length} files were not deleted, since ${failed.length} failed.`);
    return [];
  }
  ctx.progress({ phase: "delete", current: 0, total: paths.length, unit: "files" });
  const removed: string[] = [];
  const queue = paths.values();
  const work = async () => {
    for (let next = queue.next(); !next.done && failed.length === 0; next = queue.next()) {
      ctx.signal.throwIfAborted();
      try {
        await target.remove(next.value);
        removed.push(next.value);
        if (removed.length <= NAMES_TOLD) ctx.log("info", `${next.value} was deleted.`);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        failed.push({ path: next.value, reason: `It was not deleted: ${error.message}` });
      }
    }
  };
  await Promise.all(Array.from({ length: DELETES_AT_ONCE }, work));
  return removed;
}
