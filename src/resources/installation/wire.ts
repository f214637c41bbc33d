import { type Static, Type } from "@sinclair/typebox";
import { instant, nullable, object, optional, uuid } from "../../base/shape.ts";
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

export const InstallationUserChange = object({
  addressProven: optional(
    Type.Literal(true, { description: "The operator says that the address is the person's own" }),
  ),
  isOperator: optional(Type.Boolean()),
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
