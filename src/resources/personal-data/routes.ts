import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { exportAccount, exportMe } from "./service.ts";
import { AccountData, exampleAccountData, PersonalData } from "./wire.ts";

export const personalDataOperations = [
  operation({
    method: "GET",
    path: "/api/v1/users/me/export",
    audience: "any",
    personal: true,
    tag: "Users",
    summary: "Export your data",
    description:
      "Everything that is kept about the signed-in person: profile, memberships, sessions, tokens without their secrets, chats and decisions.",
    response: PersonalData,
    example: { ...exampleAccountData, chats: [], decisions: [] },
    handle: ({ ctx }) => exportMe(ctx),
  }),
  operation({
    method: "GET",
    path: "/api/v1/installation/users/{user_id}/export",
    audience: "operator",
    personal: true,
    tag: "Installation",
    summary: "Export a user's account data",
    description:
      "Profile, memberships, sessions and tokens without their secrets. Operators see no organization's data, so chats and decisions are not in it.",
    params: object({ user_id: uuid() }),
    response: AccountData,
    errors: [404],
    example: exampleAccountData,
    handle: ({ ctx, params }) => exportAccount(ctx, params.user_id),
  }),
];
