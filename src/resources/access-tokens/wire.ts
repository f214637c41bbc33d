import { type Static, Type } from "@sinclair/typebox";
import { requestObject } from "../../base/null-shape.ts";
import { defaulted, instant, named, nullable, object, oneOf, optional, uuid } from "../../base/shape.ts";
import type { Role } from "../organizations/table.ts";
import { type AccessTokenRow, effectiveScopes, SCOPES, TOKEN_ORGANIZATIONS } from "./table.ts";

const shown = {
  id: uuid(),
  name: Type.String(),
  lastFour: Type.String(),
  scopes: Type.Array(oneOf(SCOPES)),
  createdAt: instant(),
  lastUsedAt: nullable(instant()),
  expiresAt: instant(),
};

export const AccessToken = object(shown);
export const CreatedAccessToken = object({
  ...shown,
  token: Type.String({ description: "Returned only once, at creation." }),
  warnings: optional(
    Type.Array(Type.String(), {
      description: "How the token differs from the request. Absent if it doesn't.",
    }),
  ),
});
export const AccessTokenList = object({
  items: Type.Array(AccessToken),
  nextCursor: optional(Type.String()),
});

export const MAX_TOKEN_DAYS = 365;

export const NewAccessToken = requestObject({
  name: named(),
  expiresInDays: Type.Integer({ minimum: 1, maximum: MAX_TOKEN_DAYS, default: 90 }),
  organizations: defaulted(
    oneOf(TOKEN_ORGANIZATIONS, {
      default: "current",
      description: "Where the token is valid: `current` organization, or `all` of the user's organizations",
    }),
  ),
  scopes: optional(
    Type.Array(oneOf(SCOPES), {
      minItems: 1,
      description:
        "What the token can be used for. Default: everything that the user's role allows. A scope never exceeds the role.",
    }),
  ),
});

export const toAccessToken = (row: AccessTokenRow, role: Role): Static<typeof AccessToken> => ({
  id: row.id,
  name: row.name,
  lastFour: row.lastFour,
  scopes: effectiveScopes(row.scopes, role),
  createdAt: row.createdAt,
  lastUsedAt: row.lastUsedAt,
  expiresAt: row.expiresAt,
});

export const exampleAccessToken: Static<typeof AccessToken> = {
  id: "01890a5d-ac96-774b-bcce-b302099a8061",
  name: "CI",
  lastFour: "x7Qd",
  scopes: ["read", "run"],
  createdAt: "2026-01-01T00:00:00.000Z",
  lastUsedAt: null,
  expiresAt: "2026-04-01T00:00:00.000Z",
};
