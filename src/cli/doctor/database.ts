import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { and, count, eq, isNotNull, isNull, lte, min, sql } from "drizzle-orm";
import { type Clock, timestamp } from "../../base/clock.ts";
import { systemIds } from "../../base/ids.ts";
import { keyIdIn, keyIdOf, openSecretBox, type SecretBox } from "../../crypto/secretbox.ts";
import { migrationsOf } from "../../engine/backup/contents.ts";
import { SEALED, type SealedColumn } from "../../engine/sealed.ts";
import { lakeFiles } from "../../resources/datasets/table.ts";
import { events } from "../../resources/events/table.ts";
import { actionRuns } from "../../resources/runs/table.ts";
import { outboundDeliveries, webhooks } from "../../resources/webhooks/table.ts";
import { migrations } from "../../store/migrations.ts";
import { settings } from "../../store/settings.ts";
import type { ReadDb } from "../../store/store.ts";
import { type Finding, fine, wrong } from "./finding.ts";

const MINUTE_MS = 60 * 1000;
/** Due work starts within seconds, unless there is too much of it. */
const MAX_WAIT_MS = 5 * MINUTE_MS;
/** Maximum number of texts to decrypt per column. */
const SEALED_LOOKED_AT = 200;
const NAMED = 3;

export async function checkIntegrity(db: ReadDb): Promise<Finding> {
  const rows = await db.all<{ integrity_check: string }>("PRAGMA integrity_check(10)");
  const faults = rows.map((row) => row.integrity_check).filter((text) => text !== "ok");
  if (faults.length === 0) return fine("integrity", "The database file is intact.");
  return wrong(
    "integrity",
    `The database file is damaged: ${faults[0]}.`,
    'Stop the server and restore the latest backup with "weir restore".',
  );
}

/** `isCurrent`: the schema is the one that this program expects. */
export async function checkSchema(db: ReadDb): Promise<Finding & { isCurrent: boolean }> {
  const applied = await migrationsOf(db);
  const known = migrations.map(({ name }) => name);
  const newer = applied.filter((name) => !known.includes(name));
  if (newer.length > 0) {
    const message = `The database was created by a newer version of Weir (migrations: ${newer.join(", ")}).`;
    const remedy = "Use that version, or restore a backup made by this one.";
    return { ...wrong("schema", message, remedy), isCurrent: false };
  }
  const missing = known.filter((name) => !applied.includes(name)).length;
  const last = applied.at(-1) ?? "none";
  const message =
    missing === 0
      ? `The schema version is ${last}.`
      : `The schema version is ${last}. The next start backs up the database and applies ${missing} more migrations.`;
  return { ...fine("schema", message), isCurrent: missing === 0 };
}

/** Checks whether the available keys decrypt the stored secrets. */
export async function checkKey(db: ReadDb, keys: readonly Uint8Array[], where: string): Promise<Finding> {
  const kept = new Map((await db.select().from(settings)).map(({ key, value }) => [key, value]));
  const [own, ...others] = keys;
  const needed = kept.get("key_id");
  if (needed === undefined) return fine("key", "No encrypted secrets yet.");
  const put = `Restore the secret.key of this database to ${where}, or set WEIR_SECRET_KEY.`;
  if (own === undefined)
    return wrong("key", "The master key is missing, and the database contains encrypted secrets.", put);
  if (!keys.some((key) => keyIdOf(key) === needed)) {
    return wrong("key", `The master key is ${keyIdOf(own)}, but secrets are encrypted with ${needed}.`, put);
  }
  const box = openSecretBox(own, systemIds, { former: others });
  let opened = 0;
  const closed: string[] = [];
  for (const column of SEALED) {
    const found = await openSome(db, box, column);
    opened += found.opened;
    if (found.closed > 0) closed.push(`${found.closed} in ${column.name}`);
  }
  if (closed.length === 0) return fine("key", `The master key decrypts all ${opened} secrets checked.`);
  return wrong(
    "key",
    `The master key can't decrypt every secret: ${closed.join(", ")}.`,
    "They were encrypted with another key, or altered. Enter these credentials again, or restore a backup.",
  );
}

async function openSome(db: ReadDb, box: SecretBox, { table, column, facts, label }: SealedColumn) {
  const rows = await db
    .select({ ...facts, text: sql<string | null>`${column}` })
    .from(table)
    .where(sql`${column} is not null`)
    .limit(SEALED_LOOKED_AT);
  const found = { opened: 0, closed: 0 };
  for (const row of rows) {
    if (row.text === null || keyIdIn(row.text) === null) continue;
    try {
      box.open(row.text, label(row as unknown as Record<string, string>));
      found.opened++;
    } catch {
      found.closed++; // the finding reports the number
    }
  }
  return found;
}

/** Compares the wall clock with the newest event: a clock that was set back affects schedules and tokens. */
export async function checkEvents(db: ReadDb, clock: Clock): Promise<Finding> {
  const [newest] = await db.select({ at: sql<string | null>`max(${events.timestamp})` }).from(events);
  const at = newest?.at ?? null;
  if (at === null || Date.parse(at) <= clock.now().getTime() + MINUTE_MS)
    return fine("events", "No events dated in the future.");
  return wrong(
    "events",
    `The latest event is dated ${at}, but the current time is ${timestamp(clock)}.`,
    "The clock was set back, or was wrong before. Synchronize it with NTP (timedatectl set-ntp true).",
  );
}

/** Checks whether due work waits too long. Without a server, that is harmless. */
export async function checkQueue(db: ReadDb, clock: Clock, isServed: boolean): Promise<Finding> {
  const limit = timestamp(clock, -MAX_WAIT_MS);
  const [runs] = await db
    .select({ n: count(), since: min(actionRuns.dueAt) })
    .from(actionRuns)
    .where(and(sql`${actionRuns.status} = 'pending'`, lte(actionRuns.dueAt, limit)));
  const [sent] = await db
    .select({ n: count(), since: min(outboundDeliveries.dueAt) })
    .from(outboundDeliveries)
    .innerJoin(webhooks, eq(webhooks.id, outboundDeliveries.webhookId))
    .where(
      and(
        isNull(webhooks.deletedAt),
        eq(webhooks.status, "active"), // a disabled one holds its deliveries
        isNotNull(outboundDeliveries.dueAt),
        isNull(outboundDeliveries.takenBy),
        lte(outboundDeliveries.dueAt, limit),
      ),
    );
  const late = [
    ...(runs && runs.n > 0 ? [`${runs.n} runs have been due since ${runs.since}`] : []),
    ...(sent && sent.n > 0 ? [`${sent.n} deliveries have been due since ${sent.since}`] : []),
  ].join(", ");
  if (late === "") return fine("queue", "No run or delivery is more than 5 minutes late.");
  if (!isServed) return fine("queue", `${late}. No server is running; the next start processes them.`);
  return wrong(
    "queue",
    `${late}.`,
    'The queue is backed up. Raise WEIR_CONCURRENCY, or find long-running runs with "weir runs list --status running".',
  );
}

/** Checks whether the files that the database names are in the lake. */
export async function checkLake(db: ReadDb, lake: string): Promise<Finding> {
  const { path, bytes } = lakeFiles;
  const rows = await db.select({ path, bytes }).from(lakeFiles).where(isNull(lakeFiles.removedAt));
  const unseen: string[] = [];
  for (const row of rows) {
    const there = await lstat(join(lake, row.path)).catch(() => null); // an unreadable file is reported
    if (there?.size !== row.bytes) unseen.push(row.path);
  }
  if (unseen.length === 0) return fine("lake", `All ${rows.length} lake files are present.`);
  const names = unseen.slice(0, NAMED).join(", ");
  return wrong(
    "lake",
    `${unseen.length} of ${rows.length} lake files are missing from ${lake} or have a different size: ${names}${unseen.length > NAMED ? ", …" : ""}.`,
    "If the lake is in a bucket, set WEIR_LAKE_URL. Otherwise restore the files from a backup (weir restore).",
  );
}
