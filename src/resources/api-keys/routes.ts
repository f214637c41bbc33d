import { cursorQuery, object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { createApiKey, listApiKeys, revokeApiKey } from "./service.ts";
import { ApiKeyList, CreatedApiKey, exampleApiKey, NewApiKey, toApiKey } from "./wire.ts";

const tag = "API keys";

export const apiKeyOperations = [
  operation({
    method: "GET",
    path: "/api/v1/api-keys",
    audience: "admin",
    tag,
    summary: "List API keys",
    query: object(cursorQuery(50, 200)),
    response: ApiKeyList,
    errors: [410],
    example: { items: [exampleApiKey] },
    handle: async ({ ctx, query }) => {
      const { rows, ...next } = await listApiKeys(ctx, query);
      return { items: rows.map(toApiKey), ...next };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/api-keys",
    audience: "admin",
    idempotent: "sealed",
    freshSignIn: true,
    tag,
    summary: "Create an API key",
    description:
      "Its role can't exceed yours. It has all scopes and doesn't expire, so a token needs all scopes to create it. The key is returned only once.",
    body: NewApiKey,
    response: CreatedApiKey,
    status: 201,
    errors: [401, 409],
    example: { ...exampleApiKey, key: "svc_key_…" },
    handle: async ({ ctx, body }) => {
      const { row, key } = await createApiKey(ctx, body);
      return { ...toApiKey(row), key };
    },
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/api-keys/{key_id}",
    audience: "admin",
    tag,
    summary: "Revoke an API key",
    description: "Takes effect immediately.",
    params: object({ key_id: uuid() }),
    status: 204,
    errors: [404],
    handle: ({ ctx, params }) => revokeApiKey(ctx, params.key_id),
  }),
];
