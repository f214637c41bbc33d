import { type Static, Type } from "@sinclair/typebox";
import { instant, named, nullable, object, oneOf, optional, uuid } from "../../base/shape.ts";
import { ROLES } from "../organizations/table.ts";
import type { ApiKeyRow } from "./table.ts";

const shown = {
  id: uuid(),
  name: Type.String(),
  roleSlug: oneOf(ROLES),
  lastFour: Type.String(),
  createdAt: instant(),
  lastUsedAt: nullable(instant()),
};

export const ApiKey = object(shown);
export const CreatedApiKey = object({
  ...shown,
  key: Type.String({ description: "Returned only once, at creation." }),
});
export const ApiKeyList = object({ items: Type.Array(ApiKey), nextCursor: optional(Type.String()) });

export const NewApiKey = object({ name: named(), roleSlug: oneOf(ROLES, { default: "member" }) });

export const toApiKey = (row: ApiKeyRow): Static<typeof ApiKey> => ({
  id: row.id,
  name: row.name,
  roleSlug: row.role,
  lastFour: row.lastFour,
  createdAt: row.createdAt,
  lastUsedAt: row.lastUsedAt,
});

export const exampleApiKey: Static<typeof ApiKey> = {
  id: "01890a5d-ac96-774b-bcce-b302099a8062",
  name: "Nightly import",
  roleSlug: "member",
  lastFour: "p3Kc",
  createdAt: "2026-01-01T00:00:00.000Z",
  lastUsedAt: null,
};
