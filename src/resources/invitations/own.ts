import { eq, inArray } from "drizzle-orm";
import { AppError, notFound } from "../../base/errors.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { type MembershipRow, type OrganizationRow, organizations } from "../organizations/table.ts";
import { findMe } from "../users/service.ts";
import { type UserRow, users } from "../users/table.ts";
import { findOpenInvitations, joinByInvitation, recordWithdrawn } from "./service.ts";
import { type InvitationRow, invitations } from "./table.ts";

/** An invitation as the invited user sees it. `inviter` is null for an API key. */
export interface OwnInvitation {
  invitation: InvitationRow;
  organization: OrganizationRow;
  inviter: UserRow | null;
}

/**
 * Lists pending invitations of the caller's address, oldest first. Throws `forbidden` if the address isn't verified.
 */
export async function listOwnInvitations(ctx: Context): Promise<OwnInvitation[]> {
  const { email } = await provenMe(ctx);
  const open = await findOpenInvitations(ctx, { email });
  if (open.length === 0) return [];
  const [rows, people] = await Promise.all([
    ctx.db
      .select()
      .from(organizations)
      .where(
        inArray(
          organizations.id,
          open.map(({ organizationId }) => organizationId),
        ),
      ),
    ctx.db
      .select()
      .from(users)
      .where(
        inArray(
          users.id,
          open.map(({ createdBy }) => createdBy),
        ),
      ),
  ]);
  return open
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap((invitation) => {
      const organization = rows.find(({ id }) => id === invitation.organizationId);
      const inviter = people.find(({ id }) => id === invitation.createdBy) ?? null;
      return organization ? { invitation, organization, inviter } : [];
    });
}

/** Adds the caller as a member. Throws `not_found`, `forbidden` if the address isn't verified, `conflict`. */
export function acceptOwnInvitation(
  ctx: Context,
  id: string,
): Promise<{ membership: MembershipRow; organization: OrganizationRow }> {
  return write(ctx, async (tx) => {
    const { invitation, inside, organization } = await openOne(tx, id);
    return { membership: await joinByInvitation(inside, invitation, tx.actor.id), organization };
  });
}

/** Declines an invitation of the current user. Throws `not_found`, `forbidden`. */
export function declineOwnInvitation(ctx: Context, id: string): Promise<void> {
  return write(ctx, async (tx) => {
    const { invitation, inside } = await openOne(tx, id);
    await tx.db.delete(invitations).where(eq(invitations.id, invitation.id));
    await recordWithdrawn(inside, invitation, "declined");
  });
}

async function openOne(tx: WriteContext, id: string) {
  const found = (await listOwnInvitations(tx)).find(({ invitation }) => invitation.id === id);
  if (!found) throw notFound("invitation");
  const { organizationId, role } = found.invitation;
  return { ...found, inside: { ...tx, organizationId, role } };
}

async function provenMe(ctx: Context): Promise<UserRow> {
  const me = await findMe(ctx);
  if (me.addressProvenAt !== null) return me;
  throw new AppError(
    "forbidden",
    `The address ${me.email} isn't verified yet, so its invitations aren't shown. Open the link that was emailed to it, or ask the operator to confirm the address.`,
  );
}
