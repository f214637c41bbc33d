import { Type } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { removeOrganization } from "../organization-removal/remove.ts";
import { isOperator } from "../users/service.ts";
import {
  createOrganization,
  findCurrentOrganization,
  listMemberships,
  updateOrganization,
} from "./service.ts";
import { changeRole, listTeam, removeMember } from "./team.ts";
import {
  exampleOrganization,
  exampleTeamMember,
  MemberRole,
  NewOrganization,
  Organization,
  OrganizationChange,
  OrganizationMember,
  OrganizationRemoval,
  RoleChange,
  Team,
  toMemberRole,
  toOrganization,
  toOrganizationMember,
  toTeamMember,
} from "./wire.ts";

const tag = "Organizations";
const params = object({ membership_id: uuid() });
const { membershipId, roleId, roleName, roleSlug, email, firstName, lastName } = exampleTeamMember;

export const organizationOperations = [
  operation({
    method: "GET",
    path: "/api/v1/organizations",
    audience: "any",
    personal: true,
    tag,
    summary: "List your organizations",
    response: object({ items: Type.Array(Organization) }),
    example: { items: [exampleOrganization] },
    handle: async ({ ctx }) => ({
      items: (await listMemberships(ctx)).map(({ organization }) => toOrganization(organization)),
    }),
  }),
  operation({
    method: "POST",
    path: "/api/v1/organizations",
    audience: "any",
    personal: true,
    idempotent: true,
    tag,
    summary: "Create an organization",
    description:
      "For operators. With `WEIR_ORGANIZATIONS=anyone`, for every signed-in user. The caller becomes its owner.",
    body: NewOrganization,
    response: Organization,
    status: 201,
    errors: [409],
    example: exampleOrganization,
    handle: async ({ ctx, body }) => {
      if (ctx.config.organizations === "operator" && !(await isOperator(ctx.db, ctx.actor.id))) {
        throw new AppError(
          "forbidden",
          "Only operators of this installation can create organizations. To let every user create them, set WEIR_ORGANIZATIONS=anyone.",
        );
      }
      return toOrganization(await createOrganization(ctx, body));
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/organizations/current",
    audience: "viewer",
    tag,
    summary: "Get the current organization",
    response: Organization,
    example: exampleOrganization,
    handle: async ({ ctx }) => toOrganization(await findCurrentOrganization(ctx)),
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/organizations/current",
    audience: "admin",
    tag,
    summary: "Update the current organization",
    description: "Name, slug, plan, webhook rate limit and four-eyes rule.",
    body: OrganizationChange,
    response: Organization,
    errors: [409],
    example: exampleOrganization,
    handle: async ({ ctx, body }) => toOrganization(await updateOrganization(ctx, body)),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/organizations/current",
    audience: "owner",
    tag,
    summary: "Remove the organization",
    description:
      "Immediately ends the access of all members, tokens and keys, its webhooks, schedules and subscriptions, and its running runs. An operator can restore it within 7 days; then all of its data is erased. `confirm` is its name.",
    body: OrganizationRemoval,
    bodyExample: { confirm: "Acme (old)" },
    status: 204,
    handle: ({ ctx, body }) => removeOrganization(ctx, body),
  }),
  operation({
    method: "GET",
    path: "/api/v1/organizations/members",
    audience: "viewer",
    tag,
    summary: "List members",
    response: object({ items: Type.Array(OrganizationMember) }),
    example: {
      items: [{ id: exampleTeamMember.userId, email, firstName, lastName, profilePictureUrl: null }],
    },
    handle: async ({ ctx }) => ({ items: (await listTeam(ctx)).map(toOrganizationMember) }),
  }),
  operation({
    method: "GET",
    path: "/api/v1/organizations/team",
    audience: "viewer",
    tag,
    summary: "List members with roles",
    response: Team,
    example: { currentRoleSlug: "owner", members: [exampleTeamMember] },
    handle: async ({ ctx }) => ({
      currentRoleSlug: ctx.role,
      members: (await listTeam(ctx)).map((row) => toTeamMember(row, ctx.actor.id)),
    }),
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/organizations/team/members/{membership_id}/role",
    audience: "admin",
    tag,
    summary: "Change a member's role",
    description: "The role can't exceed yours. The last owner can't be changed.",
    params,
    body: RoleChange,
    response: MemberRole,
    errors: [404, 409],
    example: { membershipId, roleId, roleName, roleSlug },
    handle: async ({ ctx, params, body }) =>
      toMemberRole(await changeRole(ctx, params.membership_id, body.roleSlug)),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/organizations/team/members/{membership_id}",
    audience: "admin",
    tag,
    summary: "Remove a member",
    params,
    status: 204,
    errors: [404, 409],
    handle: ({ ctx, params }) => removeMember(ctx, params.membership_id),
  }),
];
