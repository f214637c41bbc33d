import { count, desc, eq, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { TrailHead, WriteContext } from "../../context.ts";
import type { SecretBox } from "../../crypto/secretbox.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb, WriteDb } from "../../store/store.ts";
import {
  type EventType,
  events,
  GENESIS,
  type RedactionRow,
  type SealRow,
  type TrailHeadRow,
  trailHeads,
} from "./table.ts";

const HEAD = "trail-head";
const SEAL = "trail-seal";
const REDACTION = "trail-redaction";

type Signer = Pick<SecretBox, "sign" | "verify">;
type HeadFacts = Pick<TrailHeadRow, "organizationId" | "count" | "hash">;
type SealFacts = Pick<SealRow, "organizationId" | "count" | "hash" | "seq">;
type RedactionFacts = Pick<RedactionRow, "organizationId" | "seq" | "hash" | "redactedHash">;

const headText = ({ organizationId, count, hash }: HeadFacts) => `${organizationId}\n${count}\n${hash}`;
const sealText = (seal: SealFacts) => `${headText(seal)}\n${seal.seq}`;

const redactionText = ({ organizationId, seq, hash, redactedHash }: RedactionFacts) =>
  `${organizationId}\n${seq}\n${hash}\n${redactedHash}`;

/** Authenticates a head with the current master key. */
export const headMac = (secrets: Signer, head: HeadFacts): string => secrets.sign(headText(head), HEAD);
export const sealMac = (secrets: Signer, seal: SealFacts): string => secrets.sign(sealText(seal), SEAL);

export const redactionMac = (secrets: Signer, redaction: RedactionFacts): string =>
  secrets.sign(redactionText(redaction), REDACTION);

/** Returns whether this installation wrote the head and nobody changed it. */
export const isHeadAuthentic = (secrets: Signer, head: HeadFacts & { mac: string }): boolean =>
  secrets.verify(headText(head), HEAD, head.mac);
export const isSealAuthentic = (secrets: Signer, seal: SealFacts & { mac: string }): boolean =>
  secrets.verify(sealText(seal), SEAL, seal.mac);

export const isRedactionAuthentic = (secrets: Signer, redaction: RedactionFacts & { mac: string }): boolean =>
  secrets.verify(redactionText(redaction), REDACTION, redaction.mac);

const byOrganization = prepared((db: ReadDb) =>
  db
    .select()
    .from(trailHeads)
    .where(eq(trailHeads.organizationId, sql.placeholder("organizationId")))
    .prepare(),
);

/** Returns an organization's stored head. Null if it has none. */
export async function headRow(db: ReadDb, organizationId: string): Promise<TrailHeadRow | null> {
  const [row] = await byOrganization(db).all({ organizationId });
  return row ?? null;
}

/**
 * Returns the head that the next event follows. Only the first event of a new organization has none.
 * In any other case, the head was removed, and what follows isn't authenticated.
 */
export async function storedHead(tx: WriteContext, type: EventType): Promise<TrailHead> {
  const { organizationId } = tx;
  const row = await headRow(tx.db, organizationId);
  if (row !== null)
    return { count: row.count, hash: row.hash, isAuthentic: isHeadAuthentic(tx.secrets, row) };
  if (type === "organization.created") return { count: 0, hash: GENESIS, isAuthentic: true };
  const { events: total, head } = await endOfChain(tx.db, organizationId);
  return { count: total, hash: head, isAuthentic: false };
}

/** Returns the number of events of an organization, and the hash and position of the newest one, from the rows. */
export async function endOfChain(
  db: ReadDb,
  organizationId: string,
): Promise<{ events: number; head: string; seq: number }> {
  const own = eq(events.organizationId, organizationId);
  const [total] = await db.select({ n: count() }).from(events).where(own);
  const last = await newestEvent(db, organizationId);
  return { events: total?.n ?? 0, head: last?.hash ?? GENESIS, seq: last?.seq ?? 0 };
}

/** Returns the position and hash of an organization's newest event. */
export async function newestEvent(db: ReadDb, organizationId: string) {
  const [last] = await db
    .select({ seq: events.seq, hash: events.hash })
    .from(events)
    .where(eq(events.organizationId, organizationId))
    .orderBy(desc(events.seq))
    .limit(1);
  return last ?? null;
}

const upsertHead = prepared((db: WriteDb) =>
  db.statement(
    `INSERT INTO trail_heads (organization_id, count, hash, mac, key_id, seal_count, seal_at)
     VALUES (?, ?, ?, ?, ?, 0, ?)
     ON CONFLICT (organization_id) DO UPDATE
     SET count = excluded.count, hash = excluded.hash, mac = excluded.mac, key_id = excluded.key_id`,
    { kind: "trail head", table: "trail_heads", width: 6 },
  ),
);

/** Stores the head after a transaction. */
export async function putHead(tx: WriteContext, organizationId: string, head: TrailHead): Promise<void> {
  const { count, hash, isAuthentic } = head;
  const mac = isAuthentic ? headMac(tx.secrets, { organizationId, count, hash }) : "";
  await upsertHead(tx.db)([organizationId, count, hash, mac, tx.secrets.keyId, timestamp(tx.clock)]);
}
