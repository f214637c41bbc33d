import { and, eq, gt } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { type App, type Context, contextFor, write } from "../../context.ts";
import { hashToken, makeToken } from "../../crypto/tokens.ts";
import type { ReadDb } from "../../store/store.ts";
import { record } from "../events/service.ts";
import { memberships } from "../organizations/table.ts";
import { users } from "../users/table.ts";
import { type LinkTokenRow, slackLinks, slackLinkTokens } from "./table.ts";

const TOKEN_MS = 15 * 60 * 1000;

/** A Slack user, as named in a signed request. */
export interface Sender {
  teamId: string;
  teamName: string;
  userId: string;
  userName: string;
}

/** Returns a URL that links the sender to the user who opens it and agrees. Valid for 15 minutes, once. */
export async function linkAddress(app: App, sender: Sender): Promise<string> {
  const token = makeToken("", app.ids);
  const row: LinkTokenRow = {
    tokenHash: hashToken(token),
    teamId: sender.teamId,
    teamName: sender.teamName.slice(0, 200),
    slackUserId: sender.userId,
    slackUserName: sender.userName.slice(0, 200),
    expiresAt: timestamp(app.clock, TOKEN_MS),
  };
  await app.store.write(async (db) => void (await db.insert(slackLinkTokens).values(row)));
  return `${app.baseUrl()}/api/inbound/link-callback?token=${token}`;
}

/** Returns the Slack user that a link is for. Throws `gone` for one that is used, expired or unknown. */
export async function findLinkToken(ctx: Context, token: string): Promise<LinkTokenRow> {
  const [row] = await ctx.db
    .select()
    .from(slackLinkTokens)
    .where(
      and(
        eq(slackLinkTokens.tokenHash, hashToken(token)),
        gt(slackLinkTokens.expiresAt, timestamp(ctx.clock)),
      ),
    );
  if (row) return row;
  throw new AppError(
    "gone",
    "This link was already used, or has expired after 15 minutes. Request a new one in Slack.",
  );
}

/** Links the Slack user to the current user, in the request's organization. Throws as `findLinkToken` does. */
export function tieByToken(ctx: Context, token: string): Promise<LinkTokenRow> {
  return write(ctx, async (tx) => {
    const row = await findLinkToken(tx, token);
    const { teamId, slackUserId } = row;
    const link = { userId: tx.actor.id, organizationId: tx.organizationId, createdAt: timestamp(tx.clock) };
    await tx.db.delete(slackLinkTokens).where(eq(slackLinkTokens.tokenHash, row.tokenHash));
    await tx.db
      .insert(slackLinks)
      .values({ teamId, slackUserId, ...link })
      .onConflictDoUpdate({ target: [slackLinks.teamId, slackLinks.slackUserId], set: link });
    await record(
      tx,
      "auth.chat_linked",
      { type: "user", id: tx.actor.id },
      { provider: "slack", teamId, chatUserId: slackUserId },
    );
    return row;
  });
}

/** Selects the link of a Slack user. */
export const linkOf = ({ teamId, userId }: Pick<Sender, "teamId" | "userId">) =>
  and(eq(slackLinks.teamId, teamId), eq(slackLinks.slackUserId, userId));

/** Returns the sender's own context, with their current role. Null if they aren't linked or no longer a member. */
export async function contextOf(
  app: App,
  sender: Pick<Sender, "teamId" | "userId">,
  correlationId: string,
): Promise<Context | null> {
  const found = await findLinked(app.store.db, sender);
  if (!found) return null;
  const { userId, organizationId, role, email } = found;
  return contextFor(app, {
    organizationId,
    role,
    actor: { type: "user", id: userId, email, userAgent: "Slack" },
    correlationId,
  });
}

async function findLinked(db: ReadDb, sender: Pick<Sender, "teamId" | "userId">) {
  const [row] = await db
    .select({
      userId: slackLinks.userId,
      organizationId: slackLinks.organizationId,
      role: memberships.role,
      email: users.email,
    })
    .from(slackLinks)
    .innerJoin(
      memberships,
      and(
        eq(memberships.userId, slackLinks.userId),
        eq(memberships.organizationId, slackLinks.organizationId),
      ),
    )
    .innerJoin(users, eq(users.id, slackLinks.userId))
    .where(linkOf(sender));
  return row ?? null;
}
