import { and, asc, count, eq, gt, isNull, lt, lte, notInArray, or, sql } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { SecretBox } from "../../crypto/secretbox.ts";
import { keyOf, tablesWith } from "../../store/schema.ts";
import type { ReadDb } from "../../store/store.ts";
import { organizations } from "../organizations/table.ts";
import { headRow, isHeadAuthentic, isSealAuthentic } from "./heads.ts";
import { redactionsBetween } from "./redactions.ts";
import { chainHash } from "./service.ts";
import {
  events,
  GENESIS,
  type SealRow,
  type TrailHeadRow,
  trailErasures,
  trailHeads,
  trailSeals,
} from "./table.ts";
import type { Reason, Verification } from "./wire.ts";

/** Number of events recomputed before other work gets its turn. */
const BATCH = 200;

type Verifier = Pick<SecretBox, "sign" | "verify">;
type StoredHead = Pick<TrailHeadRow, "count" | "hash" | "mac">;

/** A head stored outside the database. */
export interface KnownHead {
  seq: number;
  count: number;
  hash: string;
}

/** Progress of a verification. */
interface Walk {
  count: number;
  /** Number of events from which personal data was erased. */
  redacted: number;
  hash: string;
  seq: number;
  /** The first event after the newest matching seal. */
  unsealedId: string | null;
  /** The stored head as last read. Null if there was none, undefined before the first read. */
  head: StoredHead | null | undefined;
}

const START: Walk = { count: 0, redacted: 0, hash: GENESIS, seq: 0, unsealedId: null, head: undefined };

const bad = (walk: Walk, reason: Reason, firstBadId: string | null): Verification => ({
  valid: false,
  checked: walk.count,
  firstBadId,
  reason,
});

const good = ({ count, redacted }: Walk): Verification => ({
  valid: true,
  checked: count,
  firstBadId: null,
  ...(redacted === 0 ? {} : { redacted }),
});

/** Without the master key, a signature only has to exist. */
const UNKEYED: Verifier = { sign: () => "", verify: (_text, _purpose, mac) => mac !== "" };

const REASON_TEXTS: Readonly<Record<Reason, string>> = {
  truncated: "the latest events are missing",
  rewritten: "events were changed or removed",
  rolled_back: "an older copy was restored",
};

/** Returns why an audit log isn't valid, as part of a sentence. */
export function reasonText({ reason, firstBadId }: Pick<Verification, "reason" | "firstBadId">): string {
  const at = firstBadId === null ? "" : `, first at event ${firstBadId}`;
  return `${REASON_TEXTS[reason ?? "rewritten"]}${at}`;
}

/** Returns whether the version that made a database recorded heads and seals of audit logs. */
export const recordsHeads = async (db: ReadDb): Promise<boolean> =>
  (await keyOf(db, "trail_heads")).length > 0;

/** Returns the organizations with an audit log, by ID: all but removed ones whose audit log is being erased. */
export async function verifiable(db: ReadDb): Promise<{ id: string; slug: string }[]> {
  const { id, slug, removedAt } = organizations;
  const canBeRemoved = (await tablesWith(db, "removed_at")).includes("organizations"); // not in older versions
  const erased = db.select({ id: trailErasures.organizationId }).from(trailErasures);
  return await db
    .select({ id, slug })
    .from(organizations)
    .where(canBeRemoved ? or(isNull(removedAt), notInArray(id, erased)) : undefined)
    .orderBy(asc(id));
}

/**
 * Recomputes an organization's chain from its first event and stops at the first that doesn't match. For a database
 * without heads: finds neither missing newest events nor a recomputed chain. Throws `cancelled` when `signal` aborts.
 */
export async function verifyChain(
  db: ReadDb,
  organizationId: string,
  signal?: AbortSignal,
): Promise<Verification> {
  const walk: Walk = { ...START };
  return (await walkOn(db, organizationId, walk, null, signal)) ?? good(walk);
}

/**
 * Recomputes an organization's chain and compares it with its seals and its head, which only the master key can create,
 * and with the head stored `beside` the database. Without `secrets`, their signatures aren't verified. Throws
 * `cancelled` when `signal` aborts.
 */
export async function verifyTrail(
  { db, secrets: keyed }: { db: ReadDb; secrets: Verifier | null },
  organizationId: string,
  { beside = null, signal }: { beside?: KnownHead | null; signal?: AbortSignal } = {},
): Promise<Verification> {
  const secrets = keyed ?? UNKEYED;
  const walk: Walk = { ...START };
  for (;;) {
    const found = await walkOn(db, organizationId, walk, secrets, signal);
    if (found) return found;
    if (walk.head !== undefined) break;
    const end = await endOf(db, organizationId);
    if (end.seq === walk.seq) walk.head = end.head;
    if (end.seq <= walk.seq) break;
  }
  const head = walk.head ?? null;
  const isBesideThere = beside === null || (await hasEvent(db, organizationId, beside));
  if (head === null) return bad(walk, isBesideThere ? "truncated" : "rolled_back", null);
  if (head.count > walk.count || (await hasLaterSeal(db, secrets, organizationId, walk.count)))
    return bad(walk, "truncated", null);
  const isHead = head.count === walk.count && head.hash === walk.hash;
  if (!isHead || !isHeadAuthentic(secrets, { organizationId, ...head }))
    return bad(walk, "rewritten", walk.unsealedId);
  return isBesideThere ? good(walk) : bad(walk, "rolled_back", null);
}

/** Returns whether the event of a stored head is in the audit log. */
export async function hasEvent(db: ReadDb, organizationId: string, { seq, hash }: KnownHead) {
  const [row] = await db
    .select({ hash: events.hash })
    .from(events)
    .where(and(eq(events.organizationId, organizationId), eq(events.seq, seq)));
  return row?.hash === hash;
}

/** Continues to the newest event. Null if everything matches. Without `secrets`, heads and seals aren't read. */
async function walkOn(
  db: ReadDb,
  organizationId: string,
  walk: Walk,
  secrets: Verifier | null,
  signal: AbortSignal | undefined,
): Promise<Verification | null> {
  for (;;) {
    const rows = await readBatch(db, organizationId, walk.seq, secrets !== null);
    const seals = secrets ? await sealsBetween(db, organizationId, walk.count, rows.length) : new Map();
    let redactions: Awaited<ReturnType<typeof redactionsBetween>> | null = null;
    for (const { seq, hash, headCount, headHash, headMac, ...row } of rows) {
      walk.count++;
      const reckoned = hashOf(walk.hash, row);
      if (reckoned !== hash) {
        redactions ??= await redactionsBetween(db, secrets, organizationId, seq, rows.at(-1)?.seq ?? seq);
        const redaction = redactions.get(seq);
        if (reckoned === null || redaction?.hash !== hash || redaction.redactedHash !== reckoned)
          return bad(walk, secrets ? await reasonAt(db, organizationId, walk, seq) : "rewritten", row.id);
        walk.redacted++;
      }
      walk.hash = hash;
      walk.seq = seq;
      walk.unsealedId ??= row.id;
      walk.head = headOf(headCount, headHash, headMac);
      const seal: SealRow | undefined = seals.get(walk.count);
      if (seal === undefined || secrets === null) continue;
      if (seal.hash !== hash || seal.seq !== seq || !isSealAuthentic(secrets, seal))
        return bad(walk, "rewritten", walk.unsealedId);
      walk.unsealedId = null;
    }
    if (rows.length === 0) walk.head = undefined; // The head read with the previous rows may be outdated.
    if (rows.length < BATCH) return null;
    await new Promise((resolve) => setImmediate(resolve));
    if (signal?.aborted) throw new AppError("cancelled", "The verification is no longer needed.");
  }
}

const headOf = (count: number | null, hash: string | null, mac: string | null): StoredHead | null =>
  count === null || hash === null || mac === null ? null : { count, hash, mac };

async function sealsBetween(db: ReadDb, organizationId: string, after: number, length: number) {
  const rows = await db
    .select()
    .from(trailSeals)
    .where(
      and(
        eq(trailSeals.organizationId, organizationId),
        gt(trailSeals.count, after),
        lte(trailSeals.count, after + length),
      ),
    );
  return new Map(rows.map((row) => [row.count, row]));
}

async function hasLaterSeal(db: ReadDb, secrets: Verifier, organizationId: string, after: number) {
  const rows = await db
    .select()
    .from(trailSeals)
    .where(and(eq(trailSeals.organizationId, organizationId), gt(trailSeals.count, after)))
    .limit(BATCH);
  return rows.some((row) => isSealAuthentic(secrets, row));
}

/** Returns the newest position and the head of an audit log, from the same state. */
async function endOf(db: ReadDb, organizationId: string) {
  const newest = db
    .select({ seq: sql<number>`coalesce(max(${events.seq}), 0)` })
    .from(events)
    .where(eq(events.organizationId, organizationId));
  const [row] = await db
    .select({
      seq: sql<number>`(${newest})`,
      count: sql<number | null>`${trailHeads.count}`,
      hash: sql<string | null>`${trailHeads.hash}`,
      mac: sql<string | null>`${trailHeads.mac}`,
    })
    .from(organizations)
    .leftJoin(trailHeads, eq(trailHeads.organizationId, organizations.id))
    .where(eq(organizations.id, organizationId));
  return { seq: row?.seq ?? 0, head: row ? headOf(row.count, row.hash, row.mac) : null };
}

/**
 * Returns why the event at `seq` doesn't follow the previous one. If newest events were cut off, the server continues
 * from the head that it knows: events are then missing although their positions were reused.
 */
async function reasonAt(db: ReadDb, organizationId: string, walk: Walk, seq: number): Promise<Reason> {
  const head = await headRow(db, organizationId);
  const [own] = await db.select({ n: count() }).from(events).where(eq(events.organizationId, organizationId));
  const [between] = await db
    .select({ n: count() })
    .from(events)
    .where(and(gt(events.seq, walk.seq), lt(events.seq, seq)));
  const areMissing = head !== null && head.count > (own?.n ?? 0);
  const hasNoGap = (between?.n ?? 0) === seq - walk.seq - 1;
  return areMissing && hasNoGap ? "truncated" : "rewritten";
}

/** What is hashed of an event. */
const EVENT = {
  seq: events.seq,
  id: events.id,
  organizationId: events.organizationId,
  type: events.type,
  timestamp: events.timestamp,
  entityType: events.entityType,
  entityId: events.entityId,
  actorType: events.actorType,
  actorId: events.actorId,
  actor: sql<string>`${events.actor}`, // As text: altered data may no longer be JSON.
  data: sql<string>`${events.data}`,
  correlationId: events.correlationId,
  hash: events.hash,
};

const HEAD = { headCount: trailHeads.count, headHash: trailHeads.hash, headMac: trailHeads.mac };
const NO_HEAD = { headCount: sql<null>`null`, headHash: sql<null>`null`, headMac: sql<null>`null` };

function readBatch(db: ReadDb, organizationId: string, after: number, withHead: boolean) {
  const next = and(eq(events.organizationId, organizationId), gt(events.seq, after));
  const rows = withHead
    ? db
        .select({ ...EVENT, ...HEAD })
        .from(events)
        .leftJoin(trailHeads, eq(trailHeads.organizationId, events.organizationId))
        .$dynamic()
    : db
        .select({ ...EVENT, ...NO_HEAD })
        .from(events)
        .$dynamic();
  return rows.where(next).orderBy(asc(events.seq)).limit(BATCH);
}

type RawRow = Omit<
  Awaited<ReturnType<typeof readBatch>>[number],
  "seq" | "hash" | "headCount" | "headHash" | "headMac"
>;

/** Null for a row whose JSON can't be read. */
function hashOf(previous: string, row: RawRow): string | null {
  try {
    const actor: JsonObject = JSON.parse(row.actor);
    const data: JsonObject = JSON.parse(row.data);
    return chainHash(previous, { ...row, actor, data });
  } catch {
    return null; // The caller treats it as changed.
  }
}
