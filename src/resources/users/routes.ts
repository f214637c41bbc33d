import { Type } from "@sinclair/typebox";
import { object } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { listMemberships } from "../organizations/service.ts";
import { exampleMembership, Membership, toMembership } from "../organizations/wire.ts";
import { findMe, preferenceFaults, updatePreferences } from "./service.ts";
import { exampleUser, Preferences, toUser, User } from "./wire.ts";

export const userOperations = [
  operation({
    method: "GET",
    path: "/api/v1/users/me",
    audience: "any",
    personal: true,
    tag: "Users",
    summary: "Get the current user",
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
    summary: "List your organizations",
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
    summary: "Update your name, locale and time zone",
    description: "null clears a setting.",
    body: Preferences,
    furtherFaults: ({ raw }) => preferenceFaults(raw),
    response: User,
    example: exampleUser,
    handle: async ({ ctx, body }) => toUser(await updatePreferences(ctx, body)),
  }),
];
