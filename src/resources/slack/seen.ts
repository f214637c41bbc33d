import { lt } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { App, WriteContext } from "../../context.ts";
import { slackLinkTokens, slackSeen } from "./table.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** True the first time; Slack sends again what was not answered in time, and that starts nothing new. */
export async function isFirst(tx: WriteContext, key: string): Promise<boolean> {
  const rows = await tx.db
    .insert(slackSeen)
    .values({ key, seenAt: timestamp(tx.clock) })
    .onConflictDoNothing()
    .returning({ key: slackSeen.key });
  return rows.length > 0;
}

/** Forgets what is older than a day, and links that are past their time. */
export async function forgetOld(app: App): Promise<void> {
  await app.store.write(async (db) => {
    await db.delete(slackSeen).where(lt(slackSeen.seenAt, timestamp(app.clock, -DAY_MS)));
    await db.delete(slackLinkTokens).where(lt(slackLinkTokens.expiresAt, timestamp(app.clock)));
  });
}
