import { type Static, Type } from "@sinclair/typebox";
import { described, nullable, object, offsetQuery, oneOf, optional, uuid } from "../../base/shape.ts";
import { API_TYPES } from "./table.ts";

export const CatalogItemQuery = object({
  q: optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: "Words that the name, path or description, or the API's name, must contain",
    }),
  ),
  ...offsetQuery(20),
});
export type CatalogItemQuery = Static<typeof CatalogItemQuery>;

export const CatalogItemPage = object({
  items: Type.Array(
    object({
      apiId: uuid(),
      apiName: described("Name of the API", Type.String()),
      type: described("`http` for an endpoint, `mcp` for a tool", oneOf(API_TYPES)),
      name: described("Name of the endpoint or tool", Type.String()),
      description: nullable(Type.String()),
      method: described("HTTP method; null for a tool", nullable(Type.String())),
      path: described("Path; null for a tool", nullable(Type.String())),
    }),
  ),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
});
