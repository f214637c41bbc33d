import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { eraseUser } from "./erase.ts";
import { exportAccount, exportMe } from "./service.ts";
import { AccountData, exampleAccountData, PersonalData, PersonErasure } from "./wire.ts";

export const personalDataOperations = [
  operation({
    method: "GET",
    path: "/api/v1/users/me/export",
    audience: "any",
    personal: true,
    tag: "Users",
    summary: "Export your data",
    description:
      "Everything stored about the signed-in user: profile, memberships, sessions, tokens without their secrets, chats and decisions.",
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
      "Profile, memberships, sessions and tokens without their secrets. Operators can't see an organization's data, so chats and decisions are not included.",
    params: object({ user_id: uuid() }),
    response: AccountData,
    errors: [404],
    example: exampleAccountData,
    handle: ({ ctx, params }) => exportAccount(ctx, params.user_id),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/users/me",
    audience: "any",
    personal: true,
    freshSignIn: true,
    tag: "Users",
    summary: "Erase your account",
    description:
      "Ends all access, and permanently erases profile, memberships, sessions, tokens and chats. What you created in organizations is kept with your ID, as are your entries in their audit logs, without name, email address and IP address. `confirm` is your email address. Backups contain your data until they are rotated out.",
    body: PersonErasure,
    bodyExample: { confirm: "grace@example.com" },
    status: 204,
    errors: [401, 403, 404, 409],
    handle: ({ ctx, body, visit }) => {
      visit.keepOpen(); // Years of events take a while.
      return eraseUser(ctx, ctx.actor.id, body.confirm);
    },
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/installation/users/{user_id}",
    audience: "operator",
    personal: true,
    freshSignIn: true,
    tag: "Installation",
    summary: "Erase a user",
    description:
      "Ends all access, and permanently erases profile, memberships, sessions, tokens and chats. What the user created in organizations is kept with the ID. `confirm` is the user's email address.",
    params: object({ user_id: uuid() }),
    body: PersonErasure,
    bodyExample: { confirm: "grace@example.com" },
    status: 204,
    errors: [401, 404, 409],
    handle: ({ ctx, params, body, visit }) => {
      visit.keepOpen();
      return eraseUser(ctx, params.user_id, body.confirm);
    },
  }),
];
