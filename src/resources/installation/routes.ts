import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { changeInstallationUser } from "./users.ts";
import {
  exampleInstallationUser,
  InstallationUser,
  InstallationUserChange,
  toInstallationUser,
} from "./wire.ts";

export const installationOperations = [
  operation({
    method: "PATCH",
    path: "/api/v1/installation/users/{user_id}",
    audience: "operator",
    personal: true,
    tag: "Installation",
    summary: "Makes a user an operator or none, or confirms that the address is the person's own",
    params: object({ user_id: uuid() }),
    body: InstallationUserChange,
    bodyExample: { addressProven: true },
    response: InstallationUser,
    errors: [404, 409],
    example: exampleInstallationUser,
    handle: async ({ ctx, params, body }) =>
      toInstallationUser(await changeInstallationUser(ctx, params.user_id, body)),
  }),
];
