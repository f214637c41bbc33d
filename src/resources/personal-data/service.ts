import { and, asc, eq, inArray } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { notFound } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { accessTokens } from "../access-tokens/table.ts";
import { toAccessToken } from "../access-tokens/wire.ts";
import { chatMessages, chatThreads } from "../chat/table.ts";
import { toMessage, toThread } from "../chat/wire.ts";
import { decisions } from "../decisions/table.ts";
import { toDecision } from "../decisions/wire.ts";
import { findPreferences } from "../notices/service.ts";
import { openidIdentities } from "../openid/table.ts";
import { memberships } from "../organizations/table.ts";
import { sessions } from "../sessions/table.ts";
import { toSession } from "../sessions/wire.ts";
import { users } from "../users/table.ts";
import { toUser } from "../users/wire.ts";
import type { AccountData, PersonalData } from "./wire.ts";

/** Returns what is stored about an account, without secrets and without data of organizations. Throws `not_found`. */
export async function exportAccount({ db, clock }: Context, userId: string): Promise<AccountData> {
  const [user] = await db.select().from(users).where(eq(users.id, userId));
  if (!user || user.erasedAt !== null) throw notFound("user");
  const at = timestamp(clock);
  const own = await db.select().from(memberships).where(eq(memberships.userId, userId));
  const linked = await db.select().from(openidIdentities).where(eq(openidIdentities.userId, userId));
  const signedIn = await db
    .select()
    .from(sessions)
    .where(eq(sessions.userId, userId))
    .orderBy(asc(sessions.id));
  const tokens = await db
    .select()
    .from(accessTokens)
    .where(eq(accessTokens.userId, userId))
    .orderBy(asc(accessTokens.id));
  const roleIn = (id: string) => own.find(({ organizationId }) => organizationId === id)?.role ?? "viewer";
  return {
    exportedAt: at,
    user: toUser(user),
    addressProvenAt: user.addressProvenAt,
    memberships: own.map(({ id, organizationId, role, joinedAt }) => ({
      id,
      organizationId,
      role,
      joinedAt,
    })),
    identities: linked.map(({ id, issuer, subject, createdAt }) => ({ id, issuer, subject, createdAt })),
    sessions: signedIn.map((row) => toSession(row, at)),
    notices: await findPreferences(db, userId),
    accessTokens: tokens.map((row) => toAccessToken(row, roleIn(row.organizationId))),
  };
}

/**
 * Returns what is stored about the caller. A credential limited to one organization sees only its chats and decisions.
 */
export async function exportMe(ctx: Context): Promise<PersonalData> {
  const userId = ctx.actor.id;
  const account = await exportAccount(ctx, userId);
  const among = account.memberships
    .map(({ organizationId }) => organizationId)
    .filter((id) => !ctx.isConfined || id === ctx.organizationId);
  return {
    ...account,
    chats: await chatsOf(ctx, userId, among),
    decisions: await decidedBy(ctx, userId, among),
  };
}

async function chatsOf({ db }: Context, userId: string, among: readonly string[]) {
  const threads = await db
    .select()
    .from(chatThreads)
    .where(and(eq(chatThreads.ownerId, userId), inArray(chatThreads.organizationId, [...among])))
    .orderBy(asc(chatThreads.id));
  const chats: PersonalData["chats"] = [];
  for (const thread of threads) {
    const messages = await db
      .select()
      .from(chatMessages)
      .where(eq(chatMessages.threadId, thread.id))
      .orderBy(asc(chatMessages.id));
    chats.push({ thread: toThread(thread), messages: messages.map(toMessage) });
  }
  return chats;
}

async function decidedBy(ctx: Context, userId: string, among: readonly string[]) {
  const rows = await ctx.db
    .select()
    .from(decisions)
    .where(and(eq(decisions.decidedBy, userId), inArray(decisions.organizationId, [...among])))
    .orderBy(asc(decisions.id));
  return rows.map((row) => toDecision(row, ctx));
}
