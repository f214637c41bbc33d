import { and, asc, eq, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, notFound } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { record } from "../events/service.ts";
import { type UserRow, users } from "../users/table.ts";
import { endWaysIntoOrganization } from "../users/ways-in.ts";
import { type MembershipRow, memberships, ROLES, type Role } from "./table.ts";

/** Lists everyone in the organization, in the order of joining. */
export function listTeam(ctx: Context): Promise<{ membership: MembershipRow; user: UserRow }[]> {
  return ctx.db
    .select({ membership: memberships, user: users })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(eq(memberships.organizationId, ctx.organizationId))
    .orderBy(asc(memberships.joinedAt), asc(memberships.id));
}

/** Makes a user a member. It becomes the default membership if there is none. */
export async function addMember(
  tx: WriteContext,
  {
    userId,
    role,
    invitationId,
    identityGroup = null,
  }: { userId: string; role: Role; invitationId?: string; identityGroup?: string | null },
): Promise<MembershipRow> {
  const hasDefault = await tx.db.$count(
    memberships,
    and(eq(memberships.userId, userId), eq(memberships.isDefault, true)),
  );
  const membership: MembershipRow = {
    id: tx.ids.uuid(),
    organizationId: tx.organizationId,
    userId,
    role,
    isDefault: hasDefault === 0,
    joinedAt: timestamp(tx.clock),
    identityGroup,
  };
  await tx.db.insert(memberships).values(membership);
  await recordRole(tx, "auth.permission_granted", membership, {
    ...(invitationId ? { invitationId } : {}),
    ...(identityGroup ? { identityGroup } : {}),
  });
  return membership;
}

/**
 * Changes a member's role. Throws `not_found`, `forbidden` for a role above the caller's or an owner's role changed by
 * a non-owner, `last_owner`.
 */
export function changeRole(ctx: Context, membershipId: string, role: Role): Promise<MembershipRow> {
  return write(ctx, async (tx) => {
    const before = await findMembership(tx, membershipId);
    refuseRoleAbove(tx, role);
    refuseOwners(tx, before);
    if (before.role === role) return before;
    await setRole(tx, before, role);
    return { ...before, role };
  });
}

/** Changes the role of a member of the context's organization. Throws `last_owner`. */
export async function setRole(tx: WriteContext, before: MembershipRow, role: Role): Promise<void> {
  await refuseLastOwner(tx, before);
  await tx.db.update(memberships).set({ role }).where(eq(memberships.id, before.id));
  await recordRole(tx, "auth.permission_revoked", before);
  await recordRole(tx, "auth.permission_granted", { ...before, role });
}

/**
 * Ends a membership, and revokes the user's tokens of this organization permanently. What they created stays. Throws
 * `not_found`, `forbidden`, `last_owner`.
 */
export function removeMember(ctx: Context, membershipId: string): Promise<void> {
  return write(ctx, async (tx) => {
    const membership = await findMembership(tx, membershipId);
    refuseOwners(tx, membership);
    await endMembership(tx, membership);
  });
}

/** Ends a membership of the context's organization, with the user's tokens. Throws `last_owner`. */
export async function endMembership(tx: WriteContext, membership: MembershipRow): Promise<void> {
  await refuseLastOwner(tx, membership);
  await tx.db.delete(memberships).where(eq(memberships.id, membership.id));
  if (membership.isDefault) await chooseDefault(tx, membership.userId);
  await recordRole(tx, "auth.permission_revoked", membership);
  await endWaysIntoOrganization(tx, membership.userId);
}

/** Throws `forbidden` if `role` is above the caller's own. */
export function refuseRoleAbove(ctx: Context, role: Role): void {
  if (ROLES.indexOf(role) <= ROLES.indexOf(ctx.role)) return;
  throw new AppError("forbidden", `You can't assign the ${role} role. Your role is ${ctx.role}.`);
}

async function findMembership(tx: WriteContext, id: string): Promise<MembershipRow> {
  const [row] = await tx.db
    .select()
    .from(memberships)
    .where(and(eq(memberships.organizationId, tx.organizationId), eq(memberships.id, id)));
  if (!row) throw notFound("membership");
  return row;
}

function refuseOwners(tx: WriteContext, { role }: MembershipRow): void {
  if (role === "owner" && tx.role !== "owner") {
    throw new AppError("forbidden", `Only owners can change owners. Your role is ${tx.role}.`);
  }
}

async function refuseLastOwner(tx: WriteContext, { role, organizationId }: MembershipRow): Promise<void> {
  if (role !== "owner") return;
  const owners = await tx.db.$count(
    memberships,
    and(eq(memberships.organizationId, organizationId), eq(memberships.role, "owner")),
  );
  if (owners > 1) return;
  throw new AppError(
    "last_owner",
    "An organization needs at least one owner. Make someone else an owner first.",
  );
}

/** Makes the oldest remaining membership the default one. Does nothing if there is none. */
export async function chooseDefault(tx: WriteContext, userId: string): Promise<void> {
  const home = await findHome(tx.db, userId);
  if (!home) return;
  await tx.db
    .update(memberships)
    .set({ isDefault: true })
    .where(and(eq(memberships.userId, userId), eq(memberships.organizationId, home.organizationId)));
}

const recordRole = (
  tx: WriteContext,
  type: "auth.permission_granted" | "auth.permission_revoked",
  { id, userId, role }: MembershipRow,
  also: JsonObject = {},
) => record(tx, type, { type: "membership", id }, { userId, roleSlug: role, ...also });

const homeOf = prepared((db: ReadDb) =>
  db
    .select({ organizationId: memberships.organizationId, role: memberships.role })
    .from(memberships)
    .where(eq(memberships.userId, sql.placeholder("userId")))
    .orderBy(sql`${memberships.isDefault} desc`, memberships.id)
    .limit(1)
    .prepare(),
);

/** Returns a user's organization if none is named: the default membership, otherwise the oldest one. */
export async function findHome(
  db: ReadDb,
  userId: string,
): Promise<{ organizationId: string; role: Role } | null> {
  const [home] = await homeOf(db).all({ userId });
  return home ?? null;
}
