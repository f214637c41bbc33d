import { eq } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import type { OpenIdProfile } from "../../base/openid.ts";
import type { Config } from "../../config.ts";
import type { WriteContext } from "../../context.ts";
import { resolveOrganization } from "../organizations/service.ts";
import { type MembershipRow, memberships, ROLES, type Role } from "../organizations/table.ts";
import { addMember, endMembership, setRole } from "../organizations/team.ts";
import type { UserRow } from "../users/table.ts";

interface Grant {
  group: string;
  role: Role;
}

/**
 * Returns the roles that a user's groups grant, by the organization's name in the setting. The highest role applies.
 */
export function grantsOf(
  { oidcGroupRoles }: Pick<Config, "oidcGroupRoles">,
  { groups }: Pick<OpenIdProfile, "groups">,
): Map<string, Grant> {
  const grants = new Map<string, Grant>();
  for (const pair of oidcGroupRoles) {
    const [, group = "", organization = "", role] = /^(.+)=([^=:]+):(\w+)$/.exec(pair) ?? [];
    if (!groups?.includes(group)) continue;
    const before = grants.get(organization);
    const grant = { group, role: role as Role };
    if (!before || ROLES.indexOf(grant.role) > ROLES.indexOf(before.role)) grants.set(organization, grant);
  }
  return grants;
}

/**
 * Adds a user to organizations, and removes them, by their groups. Other memberships are unchanged. A last owner stays,
 * with a warning in the log. `self` acts on behalf of the user.
 */
export async function followGroups(self: WriteContext, user: UserRow, profile: OpenIdProfile): Promise<void> {
  if (self.config.oidcGroupsClaim === null) return;
  const warn = (message: string, fields: object) =>
    self.log.write("warn", message, { userId: user.id, correlationId: self.correlationId, ...fields });
  if (profile.groups === null) {
    return warn("groups not in the ID token; memberships unchanged", {});
  }
  const currentMemberships = await self.db.select().from(memberships).where(eq(memberships.userId, user.id));
  const wanted = new Map<string, Grant>();
  for (const [named, grant] of grantsOf(self.config, profile)) {
    const id = await resolveOrganization(self.db, named);
    if (id === null) warn("WEIR_OIDC_GROUP_ROLES names an unknown organization", { organization: named });
    else wanted.set(id, grant);
  }
  const inside = (organizationId: string): WriteContext => ({ ...self, organizationId });
  const unlessLast = async (membership: MembershipRow, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "last_owner") throw error;
      const { organizationId } = membership;
      warn("last owner left the group; stays owner", { organizationId });
    }
  };
  for (const [organizationId, { role, group }] of wanted) {
    const before = currentMemberships.find((one) => one.organizationId === organizationId);
    const tx = inside(organizationId);
    if (!before) await addMember(tx, { userId: user.id, role, identityGroup: group });
    else if (before.identityGroup !== null) {
      await tx.db.update(memberships).set({ identityGroup: group }).where(eq(memberships.id, before.id));
      if (before.role !== role) await unlessLast(before, () => setRole(tx, before, role));
    }
  }
  for (const membership of currentMemberships) {
    if (membership.identityGroup === null || wanted.has(membership.organizationId)) continue;
    await unlessLast(membership, () => endMembership(inside(membership.organizationId), membership));
  }
}
