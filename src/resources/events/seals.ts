import { and, eq, gt, inArray, isNull, lte, ne, or, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { App, Context } from "../../context.ts";
import { makeCursor, readCursor } from "../../crypto/cursor.ts";
import type { SecretBox } from "../../crypto/secretbox.ts";
import type { ReadDb, WriteDb } from "../../store/store.ts";
import { organizations } from "../organizations/table.ts";
import {
  endOfChain,
  headMac,
  headRow,
  isHeadAuthentic,
  isRedactionAuthentic,
  isSealAuthentic,
  newestEvent,
  redactionMac,
  sealMac,
} from "./heads.ts";
import {
  events,
  GENESIS,
  type SealRow,
  trailErasures,
  trailHeads,
  trailRedactions,
  trailSeals,
} from "./table.ts";

/** A seal is due after this many events, or after this time since the previous one. */
const SEAL_EVENTS = 1_000;
const SEAL_MS = 60_000;
const BATCH = 200;
/** Far enough in the past for the next check to create a seal. */
const NEVER = "1970-01-01T00:00:00.000Z";

type SealParts = Pick<App, "store" | "clock" | "secrets">;

/** Returns one page of an organization's seals, oldest first. Throws `invalid`, `cursor_expired`. */
export async function listSeals(
  ctx: Context,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<{ rows: SealRow[]; nextCursor?: string }> {
  const scope = ["event-seals", ctx.organizationId];
  const after = cursor === undefined ? 0 : Number(readCursor(ctx, scope, cursor));
  const rows = await ctx.db
    .select()
    .from(trailSeals)
    .where(and(eq(trailSeals.organizationId, ctx.organizationId), gt(trailSeals.count, after)))
    .orderBy(trailSeals.count)
    .limit(limit + 1);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    rows: rows.slice(0, limit),
    ...(last ? { nextCursor: makeCursor(ctx, scope, last.count) } : {}),
  };
}

/** Returns organizations whose audit log is due for a seal. With `isAll`, those with any event since the last one. */
export async function dueForSeal({ store, clock }: SealParts, isAll = false): Promise<string[]> {
  const grown = sql`${trailHeads.count} - ${trailHeads.sealCount}`;
  const isDue = or(sql`${grown} >= ${SEAL_EVENTS}`, lte(trailHeads.sealAt, timestamp(clock, -SEAL_MS)));
  const rows = await store.db
    .select({ organizationId: trailHeads.organizationId })
    .from(trailHeads)
    .where(and(sql`${grown} > 0`, ne(trailHeads.mac, ""), isAll ? undefined : isDue));
  return rows.map(({ organizationId }) => organizationId);
}

/** Seals the head of an organization. Null if the head isn't that of the newest event, or isn't authentic. */
export function sealHead(parts: SealParts, organizationId: string): Promise<SealRow | null> {
  const { store, clock, secrets } = parts;
  return store.write(async (db) => {
    const head = await headRow(db, organizationId);
    const newest = await newestEvent(db, organizationId);
    if (head === null || head.hash !== newest?.hash || !isHeadAuthentic(secrets, head)) return null;
    const { count, hash } = head;
    const createdAt = timestamp(clock);
    const facts = { organizationId, count, seq: newest.seq, hash };
    const seal = { ...facts, createdAt, mac: sealMac(secrets, facts), keyId: secrets.keyId };
    await db.insert(trailSeals).values(seal).onConflictDoNothing();
    await db
      .update(trailHeads)
      .set({ sealCount: count, sealAt: createdAt })
      .where(eq(trailHeads.organizationId, organizationId));
    return seal;
  });
}

/** Creates a head for each organization without one, at the first start of a version that has heads. */
export async function makeHeads({ store, secrets }: SealParts): Promise<number> {
  const rows = await store.db
    .select({ id: organizations.id })
    .from(organizations)
    .leftJoin(trailHeads, eq(trailHeads.organizationId, organizations.id))
    .where(isNull(trailHeads.organizationId));
  for (const { id } of rows) {
    await store.write(async (db) => {
      const { events: count, head: hash } = await endOfChain(db, id);
      const facts = { organizationId: id, count, hash };
      const mac = headMac(secrets, facts);
      await db
        .insert(trailHeads)
        .values({ ...facts, mac, keyId: secrets.keyId, sealCount: 0, sealAt: NEVER })
        .onConflictDoNothing();
    });
  }
  return rows.length;
}

/**
 * Signs heads, seals and redactions again with the current master key, in small steps. Returns how many. One that the
 * available keys didn't create stays unchanged.
 */
export async function* authenticateAgain(parts: SealParts): AsyncGenerator<void, number> {
  const { store, secrets } = parts;
  let made = 0;
  const stale = await store.db
    .select({ id: trailHeads.organizationId })
    .from(trailHeads)
    .where(ne(trailHeads.keyId, secrets.keyId));
  for (let at = 0; at < stale.length; at += BATCH) {
    const ids = stale.slice(at, at + BATCH).map(({ id }) => id);
    made += await store.write(async (db) => {
      const rows = await db.select().from(trailHeads).where(inArray(trailHeads.organizationId, ids));
      for (const row of rows) {
        const mac = isHeadAuthentic(secrets, row) ? headMac(secrets, row) : "";
        const own = eq(trailHeads.organizationId, row.organizationId);
        await db.update(trailHeads).set({ mac, keyId: secrets.keyId }).where(own);
      }
      return rows.length;
    });
    yield;
  }
  for (;;) {
    const count = await store.write(
      async (db) => (await sealsAgain(db, parts)) + (await redactionsAgain(db, parts)),
    );
    if (count === 0) return made;
    made += count;
    yield;
  }
}

async function redactionsAgain(db: WriteDb, { secrets }: SealParts): Promise<number> {
  const stale = ne(trailRedactions.keyId, secrets.keyId);
  const rows = await db.select().from(trailRedactions).where(stale).limit(BATCH);
  for (const row of rows) {
    const mac = isRedactionAuthentic(secrets, row) ? redactionMac(secrets, row) : "";
    const own = eq(trailRedactions.seq, row.seq);
    await db.update(trailRedactions).set({ mac, keyId: secrets.keyId }).where(own);
  }
  return rows.length;
}

async function sealsAgain(db: WriteDb, { secrets }: SealParts): Promise<number> {
  const rows = await db.select().from(trailSeals).where(ne(trailSeals.keyId, secrets.keyId)).limit(BATCH);
  for (const row of rows) {
    const mac = isSealAuthentic(secrets, row) ? sealMac(secrets, row) : "";
    await db
      .update(trailSeals)
      .set({ mac, keyId: secrets.keyId })
      .where(and(eq(trailSeals.organizationId, row.organizationId), eq(trailSeals.count, row.count)));
  }
  return rows.length;
}

/** Returns when the erasure of an organization's audit log began. Null if it wasn't erased. */
export async function erasedAt(
  { db, secrets }: { db: ReadDb; secrets: Pick<SecretBox, "sign" | "verify"> },
  organizationId: string,
): Promise<string | null> {
  const [row] = await db
    .select()
    .from(trailSeals)
    .where(and(eq(trailSeals.organizationId, organizationId), eq(trailSeals.count, 0)));
  return row !== undefined && isSealAuthentic(secrets, row) ? row.createdAt : null;
}

/**
 * Deletes part of a removed organization's audit log, at most `limit` events. Returns true when nothing is left but a
 * seal of no events, which proves the erasure. Each call needs its own transaction. Until nothing else is left,
 * `verifiable` leaves the organization out.
 */
export async function eraseTrail(
  { clock, secrets }: Pick<SealParts, "clock" | "secrets">,
  db: WriteDb,
  organizationId: string,
  limit = 5_000,
): Promise<boolean> {
  await db.insert(trailErasures).values({ organizationId }).onConflictDoNothing();
  const facts = { organizationId, count: 0, seq: 0, hash: GENESIS };
  const proof = { ...facts, createdAt: timestamp(clock), mac: sealMac(secrets, facts), keyId: secrets.keyId };
  await db.insert(trailSeals).values(proof).onConflictDoNothing();
  const some = db
    .select({ seq: events.seq })
    .from(events)
    .where(eq(events.organizationId, organizationId))
    .limit(limit);
  await db.delete(events).where(inArray(events.seq, some));
  if ((await newestEvent(db, organizationId)) !== null) return false;
  for (const table of [trailRedactions, trailHeads, trailErasures])
    await db.delete(table).where(eq(table.organizationId, organizationId));
  await db
    .delete(trailSeals)
    .where(and(eq(trailSeals.organizationId, organizationId), gt(trailSeals.count, 0)));
  return true;
}
