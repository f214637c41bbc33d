import { cursorQuery, object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { listOrganizationTokens, revokeOrganizationToken } from "./service.ts";
import { exampleOrganizationToken, OrganizationTokenList } from "./wire.ts";

const tag = "Organizations";

export const organizationTokenOperations = [
  operation({
    method: "GET",
    path: "/api/v1/organizations/tokens",
    audience: "admin",
    tag,
    summary: "List all tokens and keys",
    description: "Access tokens of all members and the organization's API keys, newest first.",
    query: object(cursorQuery(50, 200)),
    response: OrganizationTokenList,
    errors: [410],
    example: { items: [exampleOrganizationToken] },
    handle: async ({ ctx, query }) => {
      const { rows, ...next } = await listOrganizationTokens(ctx, query);
      return { items: rows, ...next };
    },
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/organizations/tokens/{token_id}",
    audience: "admin",
    tag,
    summary: "Revoke any token or key",
    description: "Takes effect immediately.",
    params: object({ token_id: uuid() }),
    status: 204,
    errors: [404],
    handle: ({ ctx, params }) => revokeOrganizationToken(ctx, params.token_id),
  }),
];
