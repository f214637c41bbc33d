import type { SQL } from "drizzle-orm";
import type { WriteContext } from "../../context.ts";
import { record } from "../events/service.ts";
import { slackLinks } from "../slack/table.ts";

/** Deletes the links that `where` selects. Returns how many. */
export async function unlinkSlack(tx: WriteContext, where: SQL | undefined): Promise<number> {
  const links = await tx.db.delete(slackLinks).where(where).returning();
  for (const { organizationId, userId, teamId, slackUserId } of links)
    await record(
      { ...tx, organizationId },
      "auth.chat_unlinked",
      { type: "user", id: userId },
      { provider: "slack", teamId, chatUserId: slackUserId },
    );
  return links.length;
}
