import { lt } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { App, WriteContext } from "../../context.ts";
import { slackLinkTokens, slackSeen } from "./table.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** Returns true the first time. Slack repeats requests that weren't answered in time, and a repeat starts nothing. */
export async function isFirst(tx: WriteContext, key: string): Promise<boolean> {
  const rows = await tx.db
    .insert(slackSeen)
    .values({ key, seenAt: timestamp(tx.clock) })
    .onConflictDoNothing()
    .returning({ key: slackSeen.key });
  return rows.length > 0;
}

/** Deletes records older than a day, and expired links. */
export async function forgetOld(app: App): Promise<void> {
  await app.store.write(async (db) => {
    await db.delete(slackSeen).where(lt(slackSeen.seenAt, timestamp(app.clock, -DAY_MS)));
    await db.delete(slackLinkTokens).where(lt(slackLinkTokens.expiresAt, timestamp(app.clock)));
  });
}
