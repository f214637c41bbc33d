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
    summary: "Lists the organizations that the person belongs to",
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
    summary: "Makes an organization; the person becomes its owner",
    description:
      "For operators; with `WEIR_ORGANIZATIONS=anyone` for everybody who is signed in. The person becomes its owner.",
    body: NewOrganization,
    response: Organization,
    status: 201,
    errors: [409],
    example: exampleOrganization,
    handle: async ({ ctx, body }) => {
      if (ctx.config.organizations === "operator" && !(await isOperator(ctx.db, ctx.actor.id))) {
        throw new AppError(
          "forbidden",
          "Only an operator of this installation creates organizations. WEIR_ORGANIZATIONS=anyone lets everybody do it.",
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
    summary: "Shows the organization of the request",
    response: Organization,
    example: exampleOrganization,
    handle: async ({ ctx }) => toOrganization(await findCurrentOrganization(ctx)),
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/organizations/current",
    audience: "admin",
    tag,
    summary: "Changes name, slug, plan, webhook rate and the rule of four eyes of the organization",
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
      "Ends at once for everybody: members, tokens and keys, webhooks, schedules, subscriptions and runs under way. An operator can restore it within 7 days; then it is erased with all its data. `confirm` is its name.",
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
    summary: "Lists the people of the organization",
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
    summary: "Lists the people of the organization with their roles",
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
    summary: "Gives a member another role, at most one's own; the last owner stays one",
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
    summary: "Ends a membership",
    params,
    status: 204,
    errors: [404, 409],
    handle: ({ ctx, params }) => removeMember(ctx, params.membership_id),
  }),
];
