import { type Static, Type } from "@sinclair/typebox";
import { cursorQuery, described, instant, nullable, object, optional, uuid } from "../../base/shape.ts";
import type { UserRow } from "../users/table.ts";
import { exampleUser } from "../users/wire.ts";

/** A user as operators see one. */
export const InstallationUser = object({
  id: uuid(),
  email: Type.String(),
  firstName: nullable(Type.String()),
  lastName: nullable(Type.String()),
  addressProven: Type.Boolean(),
  isOperator: Type.Boolean(),
  createdAt: instant(),
  updatedAt: instant(),
});

/** What the caller may do with the installation. */
export const InstallationAccess = object({
  isOperator: Type.Boolean(),
  createsOrganizations: Type.Boolean({ description: "Whether the caller can create organizations" }),
});
export type InstallationAccess = Static<typeof InstallationAccess>;

/** A user in a list. */
export const InstallationUserItem = object({
  ...InstallationUser.properties,
  lastActiveAt: described(
    "When a session or access token of the user was last used, to the minute. Null: never",
    nullable(instant()),
  ),
});

export const InstallationUserList = object({
  items: Type.Array(InstallationUserItem),
  nextCursor: optional(Type.String()),
});

export const InstallationUserQuery = object({
  q: optional(Type.String({ maxLength: 255, description: "Part of the email address or a name" })),
  is_operator: optional(Type.Boolean({ description: "True: only operators. False: only the others" })),
  ...cursorQuery(50, 200),
});
export type InstallationUserQuery = Static<typeof InstallationUserQuery>;

export const InstallationUserChange = object({
  addressProven: optional(Type.Literal(true, { description: "Marks the email address as verified" })),
  isOperator: optional(Type.Boolean({ description: "Whether the user is an operator" })),
});
export type InstallationUserChange = Static<typeof InstallationUserChange>;

export const toInstallationUser = (row: UserRow): Static<typeof InstallationUser> => ({
  id: row.id,
  email: row.email,
  firstName: row.firstName,
  lastName: row.lastName,
  addressProven: row.addressProvenAt !== null,
  isOperator: row.isOperator,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});

export const exampleInstallationUser: Static<typeof InstallationUser> = {
  id: exampleUser.id,
  email: exampleUser.email,
  firstName: exampleUser.firstName,
  lastName: exampleUser.lastName,
  addressProven: true,
  isOperator: false,
  createdAt: exampleUser.createdAt,
  updatedAt: exampleUser.updatedAt,
};

export const toInstallationUserItem = ({
  user,
  lastActiveAt,
}: {
  user: UserRow;
  lastActiveAt: string | null;
}): Static<typeof InstallationUserItem> => ({ ...toInstallationUser(user), lastActiveAt });
