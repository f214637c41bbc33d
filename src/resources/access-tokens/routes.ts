import { cursorQuery, object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { createAccessToken, listAccessTokens, revokeAccessToken } from "./service.ts";
import {
  AccessTokenList,
  CreatedAccessToken,
  exampleAccessToken,
  NewAccessToken,
  toAccessToken,
} from "./wire.ts";

const tag = "Access tokens";

export const accessTokenOperations = [
  operation({
    method: "GET",
    path: "/api/v1/access-tokens",
    audience: "any",
    personal: true,
    tag,
    summary: "List your access tokens",
    query: object(cursorQuery(50, 200)),
    response: AccessTokenList,
    errors: [410],
    example: { items: [exampleAccessToken] },
    handle: async ({ ctx, query }) => {
      const { rows, ...next } = await listAccessTokens(ctx, query);
      return { items: rows.map((row) => toAccessToken(row, ctx.role)), ...next };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/access-tokens",
    audience: "any",
    personal: true,
    idempotent: "sealed",
    freshSignIn: true,
    tag,
    summary: "Create an access token",
    body: NewAccessToken,
    response: CreatedAccessToken,
    status: 201,
    errors: [401, 409],
    example: { ...exampleAccessToken, token: "svc_pat_…" },
    description:
      "Acts in the organization of the request. The token is returned only once. If you create it with another token, it can't expire later or have more scopes than that one; an earlier expiry is in `warnings`.",
    handle: async ({ ctx, body, identity }) => {
      const { row, ...shown } = await createAccessToken(ctx, { ...body, latest: identity.expiresAt });
      return { ...toAccessToken(row, ctx.role), ...shown };
    },
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/access-tokens/{token_id}",
    audience: "any",
    personal: true,
    tag,
    summary: "Revoke an access token",
    description: "Takes effect immediately.",
    params: object({ token_id: uuid() }),
    status: 204,
    errors: [404],
    handle: ({ ctx, params }) => revokeAccessToken(ctx, params.token_id),
  }),
];
