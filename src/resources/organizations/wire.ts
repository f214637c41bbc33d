import { type Static, Type } from "@sinclair/typebox";
import { requestObject } from "../../base/null-shape.ts";
import {
  described,
  instant,
  named,
  nullable,
  object,
  oneOf,
  optional,
  slug,
  uuid,
} from "../../base/shape.ts";
import type { UserRow } from "../users/table.ts";
import { type MembershipRow, type OrganizationRow, PLANS, ROLES, type Role } from "./table.ts";

export const WebhookRate = object({
  perMinute: Type.Integer({ minimum: 1, maximum: 1_000_000, description: "Requests per minute" }),
  burst: Type.Integer({ minimum: 1, maximum: 1_000_000, description: "Requests at once" }),
});

export const Organization = object({
  id: uuid(),
  name: Type.String(),
  slug: Type.String(),
  plan: oneOf(PLANS),
  webhookRate: nullable(WebhookRate),
  requireFourEyes: Type.Boolean(),
  createdAt: instant(),
  updatedAt: instant(),
});

export const NewOrganization = requestObject({ name: named(), slug: optional(slug()) });
export type NewOrganization = Static<typeof NewOrganization>;

export const OrganizationChange = object({
  name: optional(named()),
  slug: optional(slug()),
  plan: optional(oneOf(PLANS)),
  webhookRate: optional(nullable(WebhookRate)),
  requireFourEyes: optional(
    described(
      "Whether users are kept from deciding their own requests, including those of runs that they started",
      Type.Boolean(),
    ),
  ),
});
export const OrganizationRemoval = object({
  confirm: described("The organization's name", Type.String({ maxLength: 255 })),
});

export type OrganizationChange = Static<typeof OrganizationChange>;

export const Membership = object({
  membershipId: uuid(),
  role: oneOf(ROLES),
  isCurrent: Type.Boolean(),
  isDefault: Type.Boolean(),
  organization: object({ id: uuid(), name: Type.String(), slug: Type.String() }),
});

export const OrganizationMember = object({
  id: uuid(),
  email: Type.String(),
  firstName: nullable(Type.String()),
  lastName: nullable(Type.String()),
  profilePictureUrl: nullable(Type.String()),
});

export const TeamMember = object({
  membershipId: uuid(),
  userId: uuid(),
  email: Type.String(),
  firstName: nullable(Type.String()),
  lastName: nullable(Type.String()),
  roleId: uuid(),
  roleName: Type.String(),
  roleSlug: oneOf(ROLES),
  joinedAt: instant(),
  isCurrentUser: Type.Boolean(),
});

export const Team = object({ currentRoleSlug: oneOf(ROLES), members: Type.Array(TeamMember) });

export const RoleChange = object({ roleSlug: oneOf(ROLES) });

export const MemberRole = object({
  membershipId: uuid(),
  roleId: uuid(),
  roleName: Type.String(),
  roleSlug: oneOf(ROLES),
});

/** The roles are the same in every organization, so their IDs are fixed. */
const ROLE_FACTS: Readonly<Record<Role, { roleId: string; roleName: string }>> = {
  viewer: { roleId: "00000000-0000-7000-8000-000000000001", roleName: "Viewer" },
  member: { roleId: "00000000-0000-7000-8000-000000000002", roleName: "Member" },
  admin: { roleId: "00000000-0000-7000-8000-000000000003", roleName: "Admin" },
  owner: { roleId: "00000000-0000-7000-8000-000000000004", roleName: "Owner" },
};

export const toOrganization = (row: OrganizationRow): Static<typeof Organization> => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  plan: row.plan,
  webhookRate: row.webhookRate,
  requireFourEyes: row.requireFourEyes,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});

/** A membership as its own user sees it. `currentId` is the organization of the request. */
export const toMembership = (
  { membership, organization }: { membership: MembershipRow; organization: OrganizationRow },
  { currentId, isDefault }: { currentId: string; isDefault: boolean },
): Static<typeof Membership> => ({
  membershipId: membership.id,
  role: membership.role,
  isCurrent: organization.id === currentId,
  isDefault,
  organization: { id: organization.id, name: organization.name, slug: organization.slug },
});

export const toOrganizationMember = ({ user }: { user: UserRow }): Static<typeof OrganizationMember> => ({
  id: user.id,
  email: user.email,
  firstName: user.firstName,
  lastName: user.lastName,
  profilePictureUrl: user.profilePictureUrl,
});

export const toTeamMember = (
  { membership, user }: { membership: MembershipRow; user: UserRow },
  currentUserId: string,
): Static<typeof TeamMember> => ({
  ...toMemberRole(membership),
  userId: user.id,
  email: user.email,
  firstName: user.firstName,
  lastName: user.lastName,
  joinedAt: membership.joinedAt,
  isCurrentUser: user.id === currentUserId,
});

export const toMemberRole = ({ id, role }: MembershipRow): Static<typeof MemberRole> => ({
  membershipId: id,
  ...ROLE_FACTS[role],
  roleSlug: role,
});

export const exampleOrganization: Static<typeof Organization> = {
  id: "01890a5d-ac96-774b-bcce-b302099a8058",
  name: "Acme",
  slug: "acme",
  plan: "free",
  webhookRate: null,
  requireFourEyes: false,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
};

export const exampleMembership: Static<typeof Membership> = {
  membershipId: "01890a5d-ac96-774b-bcce-b302099a8059",
  role: "owner",
  isCurrent: true,
  isDefault: true,
  organization: { id: exampleOrganization.id, name: "Acme", slug: "acme" },
};

export const exampleTeamMember: Static<typeof TeamMember> = {
  membershipId: exampleMembership.membershipId,
  userId: "01890a5d-ac96-774b-bcce-b302099a8057",
  email: "ada@example.com",
  firstName: "Ada",
  lastName: "Lovelace",
  ...ROLE_FACTS.owner,
  roleSlug: "owner",
  joinedAt: "2026-01-01T00:00:00.000Z",
  isCurrentUser: true,
};
