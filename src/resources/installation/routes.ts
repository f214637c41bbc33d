import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { restoreOrganization } from "../organization-removal/remove.ts";
import {
  changeInstallationOrganization,
  findInstallationOrganization,
  listInstallationOrganizations,
} from "./organizations.ts";
import { changeInstallationUser, findInstallationAccess, listInstallationUsers } from "./users.ts";
import {
  exampleInstallationUser,
  InstallationAccess,
  InstallationUser,
  InstallationUserChange,
  InstallationUserList,
  InstallationUserQuery,
  toInstallationUser,
  toInstallationUserItem,
} from "./wire.ts";
import {
  exampleInstallationOrganization,
  InstallationOrganization,
  InstallationOrganizationChange,
  InstallationOrganizationList,
  InstallationOrganizationQuery,
  toInstallationOrganization,
} from "./wire-organizations.ts";

const tag = "Installation";
const params = object({ organization_id: uuid() });

export const installationOperations = [
  operation({
    method: "GET",
    path: "/api/v1/installation",
    audience: "any",
    personal: true,
    tag,
    summary: "Get your installation permissions",
    response: InstallationAccess,
    example: { isOperator: false, createsOrganizations: false },
    handle: ({ ctx }) => findInstallationAccess(ctx),
  }),
  operation({
    method: "GET",
    path: "/api/v1/installation/organizations",
    audience: "operator",
    personal: true,
    tag,
    summary: "List all organizations",
    description: "Newest first. Removed ones are listed until they are erased.",
    query: InstallationOrganizationQuery,
    response: InstallationOrganizationList,
    errors: [410],
    example: { items: [exampleInstallationOrganization] },
    handle: async ({ ctx, query }) => {
      const { rows, ...next } = await listInstallationOrganizations(ctx, query);
      return { items: rows.map(toInstallationOrganization), ...next };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/installation/organizations/{organization_id}",
    audience: "operator",
    personal: true,
    tag,
    summary: "Get an organization",
    params,
    response: InstallationOrganization,
    errors: [404],
    example: exampleInstallationOrganization,
    handle: async ({ ctx, params }) =>
      toInstallationOrganization(await findInstallationOrganization(ctx, params.organization_id)),
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/installation/organizations/{organization_id}",
    audience: "operator",
    personal: true,
    tag,
    summary: "Update an organization",
    description:
      "Plan, quotas and allowed private addresses. Omitted quotas are unchanged; null removes one, or all. Requests beyond a quota return 429 `quota_exceeded`. The change is recorded in the organization's audit log.",
    params,
    body: InstallationOrganizationChange,
    bodyExample: { quotas: { concurrentRuns: 4 } },
    response: InstallationOrganization,
    errors: [404],
    example: exampleInstallationOrganization,
    handle: async ({ ctx, params, body }) =>
      toInstallationOrganization(await changeInstallationOrganization(ctx, params.organization_id, body)),
  }),
  operation({
    method: "POST",
    path: "/api/v1/installation/organizations/{organization_id}/restore",
    audience: "operator",
    personal: true,
    tag,
    summary: "Restore a removed organization",
    description:
      "Possible within 7 days of its removal. Members, credentials, webhooks and schedules are restored. Runs that the removal cancelled stay cancelled.",
    params,
    response: InstallationOrganization,
    errors: [404, 409, 410],
    example: exampleInstallationOrganization,
    handle: async ({ ctx, params }) =>
      toInstallationOrganization(await restoreOrganization(ctx, params.organization_id)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/installation/users",
    audience: "operator",
    personal: true,
    tag,
    summary: "List all users",
    description: "Newest first, in any organization.",
    query: InstallationUserQuery,
    response: InstallationUserList,
    errors: [410],
    example: { items: [{ ...exampleInstallationUser, lastActiveAt: exampleInstallationUser.updatedAt }] },
    handle: async ({ ctx, query }) => {
      const { rows, ...next } = await listInstallationUsers(ctx, query);
      return { items: rows.map(toInstallationUserItem), ...next };
    },
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/installation/users/{user_id}",
    audience: "operator",
    personal: true,
    freshSignIn: true,
    tag,
    summary: "Update a user",
    description: "Grants or revokes the operator role, or marks the email address as verified.",
    params: object({ user_id: uuid() }),
    body: InstallationUserChange,
    bodyExample: { addressProven: true },
    response: InstallationUser,
    errors: [404, 409],
    example: exampleInstallationUser,
    handle: async ({ ctx, params, body }) =>
      toInstallationUser(await changeInstallationUser(ctx, params.user_id, body)),
  }),
];
