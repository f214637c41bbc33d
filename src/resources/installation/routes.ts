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
    summary: "Get what you may do with the installation",
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
    summary: "List all organizations of the installation",
    description: "Newest first, with removed ones until they are erased.",
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
    summary: "Get an organization of the installation",
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
    summary: "Update plan, quotas and private addresses of an organization",
    description:
      "Quotas that are not given stay; null lifts one, or all. What is past one answers 429 `quota_exceeded`. The organization's trail tells of the change.",
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
      "Within 7 days of its removal: its people, credentials, webhooks and schedules are as they were. Runs that the removal cancelled stay cancelled.",
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
    summary: "List all users of the installation",
    description: "Newest first, whichever organizations they are members of.",
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
    summary: "Makes a user an operator or none, or confirms that the address is the person's own",
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
