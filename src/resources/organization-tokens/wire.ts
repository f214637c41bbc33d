import { type Static, Type } from "@sinclair/typebox";
import { instant, nullable, object, oneOf, optional, uuid } from "../../base/shape.ts";
import { SCOPES } from "../access-tokens/table.ts";

export const OrganizationToken = object({
  id: uuid(),
  kind: oneOf(["pat", "api_key"] as const),
  userId: nullable(
    Type.String({
      format: "uuid",
      description: "ID of the token's user, or of the user who created the API key",
    }),
  ),
  name: Type.String(),
  lastFour: Type.String(),
  scopes: Type.Array(oneOf(SCOPES)),
  createdAt: instant(),
  lastUsedAt: nullable(instant()),
  expiresAt: nullable(instant()),
});
export type OrganizationToken = Static<typeof OrganizationToken>;

export const OrganizationTokenList = object({
  items: Type.Array(OrganizationToken),
  nextCursor: optional(Type.String()),
});

export const exampleOrganizationToken: OrganizationToken = {
  id: "01890a5d-ac96-774b-bcce-b302099a8061",
  kind: "pat",
  userId: "01890a5d-ac96-774b-bcce-b302099a8057",
  name: "CI",
  lastFour: "x7Qd",
  scopes: [...SCOPES],
  createdAt: "2026-01-01T00:00:00.000Z",
  lastUsedAt: null,
  expiresAt: "2026-04-01T00:00:00.000Z",
};
