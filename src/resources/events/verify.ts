import { and, asc, eq, gt, sql } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ReadDb } from "../../store/store.ts";
import { chainHash, GENESIS } from "./service.ts";
import { events } from "./table.ts";
import type { Verification } from "./wire.ts";

/** So many events are recomputed before others get their turn. */
const BATCH = 200;

/**
 * Recomputes an organization's chain from its first event and stops at the first that does not fit: one
 * that was altered, or that follows a place where some are missing. That newest events were taken away is
 * not seen: nothing follows them. Throws `cancelled` when `signal` aborts.
 */
export async function verifyChain(
  db: ReadDb,
  organizationId: string,
  signal?: AbortSignal,
): Promise<Verification> {
  let previous = GENESIS;
  let after = 0;
  let checked = 0;
  for (;;) {
    const rows = await readBatch(db, organizationId, after);
    for (const { seq, hash, ...row } of rows) {
      checked++;
      if (hashOf(previous, row) !== hash) return { valid: false, checked, firstBadId: row.id };
      previous = hash;
      after = seq;
    }
    if (rows.length < BATCH) return { valid: true, checked, firstBadId: null };
    await new Promise((resolve) => setImmediate(resolve));
    if (signal?.aborted) throw new AppError("cancelled", "Nobody waits for the verification any more.");
  }
}

const readBatch = (db: ReadDb, organizationId: string, after: number) =>
  db
    .select({
      seq: events.seq,
      id: events.id,
      organizationId: events.organizationId,
      type: events.type,
      timestamp: events.timestamp,
      entityType: events.entityType,
      entityId: events.entityId,
      actorType: events.actorType,
      actorId: events.actorId,
      actor: sql<string>`${events.actor}`, // as text: what was altered may be no JSON any more
      data: sql<string>`${events.data}`,
      correlationId: events.correlationId,
      hash: events.hash,
    })
    .from(events)
    .where(and(eq(events.organizationId, organizationId), gt(events.seq, after)))
    .orderBy(asc(events.seq))
    .limit(BATCH);

type RawRow = Omit<Awaited<ReturnType<typeof readBatch>>[number], "seq" | "hash">;

/** Null for a row whose JSON can't be read. */
function hashOf(previous: string, row: RawRow): string | null {
  try {
    const actor: JsonObject = JSON.parse(row.actor);
    const data: JsonObject = JSON.parse(row.data);
    return chainHash(previous, { ...row, actor, data });
  } catch {
    return null; // the caller takes it for altered
  }
}
