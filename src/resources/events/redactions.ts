import { and, desc, eq, getTableColumns, gte, inArray, lt, lte, sql } from "drizzle-orm";
import type { JsonObject } from "../../base/json.ts";
import type { SecretBox } from "../../crypto/secretbox.ts";
import { keyOf } from "../../store/schema.ts";
import type { ReadDb, WriteDb } from "../../store/store.ts";
import { isRedactionAuthentic, redactionMac } from "./heads.ts";
import { chainHash } from "./service.ts";
import {
  type EventRow,
  events,
  GENESIS,
  type RedactionRow,
  trailErasures,
  trailRedactions,
} from "./table.ts";

type Signer = Pick<SecretBox, "sign" | "verify" | "keyId">;

/** Returns what is left of an event. Null if it stays unchanged. */
type Redact = (row: EventRow) => { actor: JsonObject; data: JsonObject } | null;

/**
 * Erases content of the events at these positions. Their hashes stay.
 * A redaction authenticates what each event was and what is left of it.
 * An event that didn't match its hash before is redacted too, and still doesn't match. Returns how many changed.
 */
export async function redactEvents(
  db: WriteDb,
  secrets: Signer,
  seqs: readonly number[],
  { at, redact }: { at: string; redact: Redact },
): Promise<number> {
  let changed = 0;
  const rows = await readEvents(db, seqs);
  const open = [...new Set(rows.map(({ row }) => row.organizationId))].map((organizationId) => ({
    organizationId,
  }));
  if (open.length > 0) await db.insert(trailErasures).values(open).onConflictDoNothing();
  for (const { row, isReadable } of rows) {
    const left = isReadable ? redact(row) : { actor: {}, data: {} };
    if (left === null) continue;
    const { organizationId, seq, hash } = row;
    const previous = await hashBefore(db, row);
    const facts = { organizationId, seq, hash, redactedHash: chainHash(previous, { ...row, ...left }) };
    const isKnown = isReadable && (await isGenuine(db, secrets, row, previous));
    const mac = isKnown ? redactionMac(secrets, facts) : "";
    const redaction = { ...facts, mac, keyId: secrets.keyId };
    await db
      .insert(trailRedactions)
      .values(redaction)
      .onConflictDoUpdate({ target: trailRedactions.seq, set: redaction });
    await db
      .update(events)
      .set({ ...left, redactedAt: at })
      .where(eq(events.seq, seq));
    changed++;
  }
  for (const { organizationId } of open)
    await db.delete(trailErasures).where(eq(trailErasures.organizationId, organizationId));
  return changed;
}

/** Reads events whose JSON may have been damaged. */
async function readEvents(db: ReadDb, seqs: readonly number[]) {
  const rows = await db
    .select({
      ...getTableColumns(events),
      actor: sql<string>`${events.actor}`,
      data: sql<string>`${events.data}`,
    })
    .from(events)
    .where(inArray(events.seq, [...seqs]));
  return rows.map((row): { row: EventRow; isReadable: boolean } => {
    try {
      return {
        row: { ...row, actor: JSON.parse(row.actor), data: JSON.parse(row.data) },
        isReadable: true,
      };
    } catch {
      return { row: { ...row, actor: {}, data: {} }, isReadable: false }; // Its content is unknown.
    }
  });
}

async function hashBefore(db: ReadDb, { organizationId, seq }: EventRow): Promise<string> {
  const [row] = await db
    .select({ hash: events.hash })
    .from(events)
    .where(and(eq(events.organizationId, organizationId), lt(events.seq, seq)))
    .orderBy(desc(events.seq))
    .limit(1);
  return row?.hash ?? GENESIS;
}

/** Returns whether the event is as it was recorded, or as an earlier redaction left it. */
async function isGenuine(db: ReadDb, secrets: Signer, row: EventRow, previous: string): Promise<boolean> {
  const reckoned = chainHash(previous, row);
  if (reckoned === row.hash) return true;
  const known = await redactionsBetween(db, secrets, row.organizationId, row.seq, row.seq);
  const before = known.get(row.seq);
  return before?.hash === row.hash && before.redactedHash === reckoned;
}

/** Returns redactions of a range by position, only those created with the available keys. All without `secrets`. */
export async function redactionsBetween(
  db: ReadDb,
  secrets: Pick<SecretBox, "sign" | "verify"> | null,
  organizationId: string,
  from: number,
  to: number,
): Promise<Map<number, RedactionRow>> {
  if ((await keyOf(db, "trail_redactions")).length === 0) return new Map(); // A backup of an earlier version.
  const rows = await db
    .select()
    .from(trailRedactions)
    .where(
      and(
        eq(trailRedactions.organizationId, organizationId),
        gte(trailRedactions.seq, from),
        lte(trailRedactions.seq, to),
      ),
    );
  return new Map(
    rows.filter((row) => secrets === null || isRedactionAuthentic(secrets, row)).map((row) => [row.seq, row]),
  );
}
