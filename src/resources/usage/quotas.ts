import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { eq, isNotNull, sql } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import { slot } from "../../base/memory.ts";
import type { App, Context, WriteContext } from "../../context.ts";
import type { FileRoom } from "../../providers/contract-room.ts";
import { PARTS_FOLDER } from "../../providers/files/paths.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { artifacts } from "../artifacts/table.ts";
import { lakeTables } from "../datasets/table.ts";
import { organizations, type Quotas } from "../organizations/table.ts";
import { actionRuns } from "../runs/table.ts";

type Quota = keyof Quotas;

const quotasById = prepared((db: ReadDb) =>
  db
    .select({ quotas: organizations.quotas })
    .from(organizations)
    .where(eq(organizations.id, sql.placeholder("organizationId")))
    .prepare(),
);

/** Null if no operator has set one. */
export async function quotaOf(
  { db, organizationId }: Pick<Context, "db" | "organizationId">,
  name: Quota,
): Promise<number | null> {
  const [row] = await quotasById(db).all({ organizationId });
  return row?.quotas?.[name] ?? null;
}

const REMEDY: Readonly<Record<Quota, string>> = {
  storageBytes: "Delete data, or ask an operator to raise it.",
  queuedRuns: "Try again when runs have finished, or ask an operator to raise it.",
  concurrentRuns: "Try again when runs have finished, or ask an operator to raise it.",
  concurrentQueries: "Try again when queries have finished, or ask an operator to raise it.",
  llmTokensPerDay: "It resets at midnight UTC. An operator can raise it.",
};

export const quotaExceeded = (name: Quota, limit: number, retryAfterSeconds?: number) =>
  new AppError(
    "quota_exceeded",
    `This organization has reached its quota ${name} of ${limit.toLocaleString("en")}. ${REMEDY[name]}`,
    { details: { quota: name, limit }, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) },
  );

/** Organizations without a limit on queued runs, by the transaction that read it. */
const unlimited = new WeakMap<object, Set<string>>();

/** Call it in the transaction that changes an organization's quotas. */
export const quotasChanged = ({ group }: WriteContext, organizationId: string): void =>
  void unlimited.get(group)?.delete(organizationId);

/** Throws `quota_exceeded` if the maximum number of runs is queued. */
export async function refuseQueue(tx: WriteContext): Promise<void> {
  const { group, organizationId } = tx;
  if (unlimited.get(group)?.has(organizationId)) return;
  const limit = await quotaOf(tx, "queuedRuns");
  if (limit === null) {
    unlimited.set(group, (unlimited.get(group) ?? new Set()).add(organizationId));
    return;
  }
  const queued = await tx.db.$count(
    actionRuns,
    // Matches the index by status.
    sql`${actionRuns.organizationId} = ${tx.organizationId} and ${actionRuns.status} = 'pending'
      and ${actionRuns.status} <> 'completed'`,
  );
  if (queued >= limit) throw quotaExceeded("queuedRuns", limit, 5);
}

/** Returns how many more runs can start now, for each organization with such a quota. */
export async function roomToRun(db: ReadDb): Promise<Map<string, number>> {
  const limited = await db
    .select({ id: organizations.id, quotas: organizations.quotas })
    .from(organizations)
    .where(isNotNull(organizations.quotas));
  const room = new Map<string, number>();
  for (const { id, quotas } of limited) {
    const limit = quotas?.concurrentRuns ?? null;
    if (limit === null) continue;
    const running = await db.$count(
      actionRuns,
      sql`${actionRuns.organizationId} = ${id} and ${actionRuns.status} = 'running' and ${actionRuns.status} <> 'completed'`,
    );
    room.set(id, Math.max(0, limit - running));
  }
  return room;
}

/** Queries in progress by organization, for each App. */
const underWay = new WeakMap<App["store"], Map<string, number>>();

/** Counts a query until the returned function is called. Throws `quota_exceeded`. */
export async function beginQuery(ctx: Context): Promise<() => void> {
  const limit = await quotaOf(ctx, "concurrentQueries");
  const counts = underWay.get(ctx.store) ?? new Map<string, number>();
  underWay.set(ctx.store, counts);
  const { organizationId } = ctx;
  const count = counts.get(organizationId) ?? 0;
  if (limit !== null && count >= limit) throw quotaExceeded("concurrentQueries", limit, 5);
  counts.set(organizationId, count + 1);
  return () => {
    const left = (counts.get(organizationId) ?? 1) - 1;
    if (left > 0) counts.set(organizationId, left);
    else counts.delete(organizationId);
  };
}

/** Returns the bytes of tables and artifacts. */
async function storedBytes({ db, organizationId }: Pick<Context, "db" | "organizationId">): Promise<number> {
  const [tables] = await db
    .select({ bytes: sql<number>`coalesce(sum(${lakeTables.bytes}), 0)` })
    .from(lakeTables)
    .where(eq(lakeTables.organizationId, organizationId));
  const [others] = await db
    .select({ bytes: sql<number>`coalesce(sum(${artifacts.bytes}), 0)` })
    .from(artifacts)
    .where(eq(artifacts.organizationId, organizationId));
  return (tables?.bytes ?? 0) + (others?.bytes ?? 0);
}

/** Runs work that may store more. Throws `quota_exceeded` if it is then over the limit and more than before. */
export async function withinStorage<T>(tx: WriteContext, work: () => Promise<T>): Promise<T> {
  const limit = await quotaOf(tx, "storageBytes");
  if (limit === null) return work();
  const before = await storedBytes(tx);
  const done = await work();
  const after = await storedBytes(tx);
  if (after > limit && after > before) throw quotaExceeded("storageBytes", limit);
  return done;
}

/** Files of one organization that are being written, and what it had stored before the first of them. */
interface Writing {
  before: Promise<number>;
  /** When that was measured. */
  measuredMs: number;
  taken: number;
  files: number;
}

/** A measurement reads the whole folder, so consecutive files share it for this long. */
const MEASURED_MS = 1_000;

const WRITING = slot(() => new Map<string, Writing>());

/**
 * Returns the space for a file of the organization. Null without such a quota. Throws `quota_exceeded` if none is left.
 */
export async function openFileRoom(ctx: Context): Promise<FileRoom | null> {
  const limit = await quotaOf(ctx, "storageBytes");
  if (limit === null) return null;
  const all = ctx.memory.of(WRITING);
  const { organizationId } = ctx;
  const nowMs = ctx.clock.monotonic();
  const last = all.get(organizationId);
  const isMeasured = last && (last.files > 0 || nowMs - last.measuredMs < MEASURED_MS);
  const writing: Writing = isMeasured
    ? last
    : { before: bytesWithFiles(ctx), measuredMs: nowMs, taken: 0, files: 0 };
  all.set(organizationId, writing);
  writing.files++;
  let own = 0;
  const end = (stays: boolean) => {
    if (!stays) writing.taken -= own;
    writing.files--;
    // Once something is deleted, a rejected file may fit.
    if (!stays && writing.files === 0) all.delete(organizationId);
  };
  try {
    const before = await writing.before;
    if (before + writing.taken >= limit) throw quotaExceeded("storageBytes", limit);
    const take = (bytes: number) => {
      own += bytes;
      writing.taken += bytes;
      if (before + writing.taken > limit) throw quotaExceeded("storageBytes", limit);
    };
    return { take, end };
  } catch (error) {
    end(false);
    throw error;
  }
}

const bytesWithFiles = async (ctx: Context): Promise<number> =>
  (await storedBytes(ctx)) + (await folderBytes(join(ctx.filesFolder, ctx.organizationId)));

/** Without files that are being written. */
async function folderBytes(folder: string): Promise<number> {
  let bytes = 0;
  const entries = (await readdir(folder, { withFileTypes: true, recursive: true }).catch(goneAsNull)) ?? [];
  for (const entry of entries) {
    if (entry.isFile() && basename(entry.parentPath) !== PARTS_FOLDER)
      bytes += (await stat(join(entry.parentPath, entry.name)).catch(goneAsNull))?.size ?? 0;
  }
  return bytes;
}

function goneAsNull(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}
