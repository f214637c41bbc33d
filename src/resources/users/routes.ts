import { Type } from "@sinclair/typebox";
import { object } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { listMemberships } from "../organizations/service.ts";
import { exampleMembership, Membership, toMembership } from "../organizations/wire.ts";
import { findMe, updatePreferences } from "./service.ts";
import { exampleUser, Preferences, toUser, User } from "./wire.ts";

export const userOperations = [
  operation({
    method: "GET",
    path: "/api/v1/users/me",
    audience: "any",
    personal: true,
    tag: "Users",
    summary: "Shows the person who is signed in",
    response: User,
    example: exampleUser,
    handle: async ({ ctx }) => toUser(await findMe(ctx)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/users/me/memberships",
    audience: "any",
    personal: true,
    tag: "Users",
    summary: "Lists the organizations that the person belongs to",
    response: object({ items: Type.Array(Membership) }),
    example: { items: [exampleMembership] },
    handle: async ({ ctx }) => ({
      items: (await listMemberships(ctx)).map((row, index) =>
        toMembership(row, { currentId: ctx.organizationId, isDefault: index === 0 }),
      ),
    }),
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/users/me/preferences",
    audience: "any",
    personal: true,
    tag: "Users",
    summary: "Changes locale and time zone; null clears",
    body: Preferences,
    response: User,
    example: exampleUser,
    handle: async ({ ctx, body }) => toUser(await updatePreferences(ctx, body)),
  }),
];
