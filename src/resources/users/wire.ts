import { type Static, Type } from "@sinclair/typebox";
import { instant, map, named, nullable, object, optional, uuid } from "../../base/shape.ts";
import type { UserRow } from "./table.ts";

export const User = object({
  id: uuid(),
  email: Type.String(),
  firstName: nullable(Type.String()),
  lastName: nullable(Type.String()),
  profilePictureUrl: nullable(Type.String()),
  locale: nullable(Type.String({ description: "Language and region as a BCP 47 tag, such as de-CH" })),
  timezone: nullable(Type.String({ description: "IANA time zone, such as Europe/Zurich" })),
  createdAt: instant(),
  updatedAt: instant(),
});

/** `users` of a list: who created and changed its items, by ID. */
export const People = map(
  object({
    id: uuid(),
    firstName: nullable(Type.String()),
    lastName: nullable(Type.String()),
    profilePictureUrl: nullable(Type.String()),
  }),
);
export type People = Static<typeof People>;

export const Preferences = object({
  locale: optional(
    nullable(
      Type.String({
        minLength: 1,
        maxLength: 100,
        description: "Language and region as a BCP 47 tag, such as de-CH",
      }),
    ),
  ),
  timezone: optional(
    nullable(
      Type.String({ minLength: 1, maxLength: 100, description: "IANA time zone, such as Europe/Zurich" }),
    ),
  ),
  firstName: optional(nullable(named())),
  lastName: optional(nullable(named())),
});
export type Preferences = Static<typeof Preferences>;

export const toUser = (row: UserRow): Static<typeof User> => ({
  id: row.id,
  email: row.email,
  firstName: row.firstName,
  lastName: row.lastName,
  profilePictureUrl: row.profilePictureUrl,
  locale: row.locale,
  timezone: row.timezone,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});

export const exampleUser: Static<typeof User> = {
  id: "01890a5d-ac96-774b-bcce-b302099a8057",
  email: "ada@example.com",
  firstName: "Ada",
  lastName: "Lovelace",
  profilePictureUrl: null,
  locale: "en-GB",
  timezone: "Europe/London",
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
};
