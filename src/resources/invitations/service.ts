import { and, desc, eq, isNull, lt, or } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, notFound } from "../../base/errors.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { pageOf, readCursor } from "../../crypto/cursor.ts";
import { hashToken, makeToken } from "../../crypto/tokens.ts";
import { apiKeys } from "../api-keys/table.ts";
import { record } from "../events/service.ts";
import { type MembershipRow, memberships, organizations, ROLES, type Role } from "../organizations/table.ts";
import { addMember, refuseRoleAbove } from "../organizations/team.ts";
import { findUserByEmail, normalEmail } from "../users/service.ts";
import { type InvitationRow, invitations } from "./table.ts";

/** How long a link is valid (docs/decisions/sign-in.md). */
const INVITATION_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * Invites an address to the organization. `inviteUrl` is returned only once, and `mailedUrl` only sent to the address.
 * A pending invitation of the same address is revoked, so that only one link works. Throws `forbidden` for a role above
 * the caller's, and `conflict` for a member.
 */
export function createInvitation(
  ctx: Context,
  input: { email: string; roleSlug: Role },
): Promise<{ row: InvitationRow; inviteUrl: string; mailedUrl: string }> {
  refuseRoleAbove(ctx, input.roleSlug);
  const email = normalEmail(input.email);
  const token = makeToken("", ctx.ids);
  const mailed = makeToken("", ctx.ids);
  return write(ctx, async (tx) => {
    const user = await findUserByEmail(tx.db, email);
    if (user && (await roleOf(tx, tx.organizationId, user.id))) {
      throw new AppError("conflict", `${email} is a member of this organization already.`);
    }
    const [before] = await tx.db
      .delete(invitations)
      .where(and(eq(invitations.organizationId, tx.organizationId), eq(invitations.email, email)))
      .returning();
    if (before) await recordWithdrawn(tx, before, "replaced");
    const row: InvitationRow = {
      id: tx.ids.uuid(),
      organizationId: tx.organizationId,
      email,
      role: input.roleSlug,
      tokenHash: hashToken(token),
      mailTokenHash: hashToken(mailed),
      createdAt: timestamp(tx.clock),
      createdBy: tx.actor.id,
      expiresAt: timestamp(tx.clock, INVITATION_MS),
    };
    await tx.db.insert(invitations).values(row);
    const data = { email, roleSlug: row.role, expiresAt: row.expiresAt };
    await record(tx, "organization.invitation_created", { type: "invitation", id: row.id }, data);
    const linkOf = (secret: string) => `${tx.baseUrl()}/invite?token=${secret}`;
    return { row, inviteUrl: linkOf(token), mailedUrl: linkOf(mailed) };
  });
}

/** Lists the organization's invitations that were neither used nor revoked, newest first. Includes expired ones. */
export async function listInvitations(
  ctx: Context,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<{ rows: InvitationRow[]; nextCursor?: string }> {
  const scope = ["invitations", ctx.organizationId];
  const before =
    cursor === undefined ? undefined : lt(invitations.id, String(readCursor(ctx, scope, cursor)));
  const rows = await ctx.db
    .select()
    .from(invitations)
    .where(and(eq(invitations.organizationId, ctx.organizationId), before))
    .orderBy(desc(invitations.id))
    .limit(limit + 1);
  return pageOf(ctx, scope, rows, limit);
}

/** Revokes the link. Throws `not_found`, also for one that was used. */
export function withdrawInvitation(ctx: Context, id: string): Promise<void> {
  return write(ctx, async (tx) => {
    const [row] = await tx.db
      .delete(invitations)
      .where(and(eq(invitations.organizationId, tx.organizationId), eq(invitations.id, id)))
      .returning();
    if (!row) throw notFound("invitation");
    await recordWithdrawn(tx, row, "withdrawn");
  });
}

export const recordWithdrawn = (
  tx: WriteContext,
  row: InvitationRow,
  cause: "withdrawn" | "replaced" | "declined",
) =>
  record(
    tx,
    "organization.invitation_withdrawn",
    { type: "invitation", id: row.id },
    { email: row.email, roleSlug: row.role, cause },
  );

type Reader = Pick<Context, "db" | "clock">;

/**
 * Returns the invitations, by a link's token or by address, that can be accepted now:
 * not expired, and from someone who could still invite with that role.
 */
export async function findOpenInvitations(
  ctx: Reader,
  by: { token: string } | { email: string },
): Promise<InvitationRow[]> {
  const found = await ctx.db
    .select()
    .from(invitations)
    .where(
      "token" in by
        ? or(
            eq(invitations.tokenHash, hashToken(by.token)),
            eq(invitations.mailTokenHash, hashToken(by.token)),
          )
        : eq(invitations.email, normalEmail(by.email)),
    );
  const open: InvitationRow[] = [];
  for (const row of found) {
    if (row.expiresAt > timestamp(ctx.clock) && (await isStillGiven(ctx, row))) open.push(row);
  }
  return open;
}

/** A link gives no more than its creator still has: after they left or were demoted, it can't give access. */
async function isStillGiven(
  ctx: Reader,
  { organizationId, createdBy, role }: InvitationRow,
): Promise<boolean> {
  const maker = await roleOf(ctx, organizationId, createdBy);
  return maker !== null && rank(maker) >= Math.max(rank("admin"), rank(role));
}

const rank = (role: Role) => ROLES.indexOf(role);

/** Returns the role of a user or API key in the organization. Null if they have none. */
async function roleOf({ db }: Reader, organizationId: string, id: string): Promise<Role | null> {
  const [member] = await db
    .select({ role: memberships.role })
    .from(memberships)
    .where(and(eq(memberships.organizationId, organizationId), eq(memberships.userId, id)));
  if (member) return member.role;
  const [key] = await db
    .select({ role: apiKeys.role })
    .from(apiKeys)
    .innerJoin(organizations, eq(organizations.id, apiKeys.organizationId))
    .where(
      and(
        eq(apiKeys.id, id),
        eq(apiKeys.organizationId, organizationId),
        isNull(apiKeys.revokedAt),
        isNull(organizations.removedAt),
      ),
    );
  return key?.role ?? null;
}

/**
 * Uses an invitation: `userId` becomes a member. The context must be of the invitation's organization.
 * Throws `conflict` for an existing member.
 */
export async function joinByInvitation(
  tx: WriteContext,
  invitation: InvitationRow,
  userId: string,
): Promise<MembershipRow> {
  if (await roleOf(tx, invitation.organizationId, userId)) {
    throw new AppError("conflict", "You are already a member of this organization.");
  }
  await tx.db.delete(invitations).where(eq(invitations.id, invitation.id));
  return addMember(tx, { userId, role: invitation.role, invitationId: invitation.id });
}
