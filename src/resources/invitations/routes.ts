import { Type } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import { cursorQuery, object, uuid } from "../../base/shape.ts";
import type { App } from "../../context.ts";
import { sessionCookie } from "../../http/cookie.ts";
import { identify } from "../../http/identity.ts";
import { openOperation, operation, Reply, type Visit } from "../../http/operation.ts";
import { isSameOrigin } from "../../http/origin.ts";
import { visitorOf } from "../../http/visit.ts";
import { requireScope } from "../access-tokens/scopes.ts";
import { exampleMembership, Membership, toMembership } from "../organizations/wire.ts";
import { exampleUser, toUser, User } from "../users/wire.ts";
import { acceptInvitation } from "./accept.ts";
import { mailInvitation } from "./letter.ts";
import { acceptOwnInvitation, declineOwnInvitation, listOwnInvitations } from "./own.ts";
import { createInvitation, listInvitations, withdrawInvitation } from "./service.ts";
import {
  Acceptance,
  CreatedInvitation,
  exampleInvitation,
  exampleOwnInvitation,
  InvitationList,
  NewInvitation,
  OwnInvitation,
  toInvitation,
  toOwnInvitation,
} from "./wire.ts";

const tag = "Invitations";
const unproven = "403 until your email address is verified.";

export const invitationOperations = [
  operation({
    method: "GET",
    path: "/api/v1/organizations/invitations",
    audience: "admin",
    tag,
    summary: "List pending invitations",
    query: object(cursorQuery(50, 200)),
    response: InvitationList,
    errors: [410],
    example: { items: [exampleInvitation] },
    handle: async ({ ctx, query }) => {
      const { rows, ...next } = await listInvitations(ctx, query);
      return { items: rows.map(toInvitation), ...next };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/organizations/invitations",
    audience: "admin",
    idempotent: "batched-sealed",
    tag,
    summary: "Create an invitation",
    description:
      "Its role can't exceed yours. The link is returned only once, is valid for 7 days and works once. If a mail server is configured, a link is also emailed to the address. A pending invitation for the same address is revoked.",
    body: NewInvitation,
    response: CreatedInvitation,
    status: 201,
    errors: [409],
    example: { ...exampleInvitation, inviteUrl: "https://weir.example.com/invite?token=…" },
    handle: async ({ ctx, body }) => {
      const { row, inviteUrl, mailedUrl } = await createInvitation(ctx, body);
      const warning = await mailInvitation(ctx, row, mailedUrl);
      return { ...toInvitation(row), inviteUrl, ...(warning === null ? {} : { warnings: [warning] }) };
    },
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/organizations/invitations/{invitation_id}",
    audience: "admin",
    tag,
    summary: "Revoke an invitation",
    description: "Its link stops working.",
    params: object({ invitation_id: uuid() }),
    status: 204,
    errors: [404],
    handle: ({ ctx, params }) => withdrawInvitation(ctx, params.invitation_id),
  }),
  openOperation({
    method: "POST",
    path: "/api/v1/auth/invitations/accept",
    audience: "public",
    tag,
    summary: "Accept an invitation",
    description:
      "Makes the invited user a member and signs them in. With `password`, creates a user, or adds the existing user of that address if the password is theirs. Without it, adds the signed-in user if the invited address is theirs. An emailed link verifies the address. An account whose address was never verified then gets the password in the request, and its existing sessions and tokens end.",
    body: Acceptance,
    response: User,
    status: 201,
    errors: [401, 403, 409, 410, 429],
    replies: { 200: { description: "An existing user joined.", body: User } },
    example: exampleUser,
    handle: async ({ app, body, visit }) => {
      const signedInId = body.password === undefined ? await personOf(app, visit) : null;
      const { user, isNew, token } = await acceptInvitation(app, body, visitorOf(visit), signedInId);
      return new Reply(isNew ? 201 : 200, toUser(user), token ? sessionCookie(token, visit.isSecure) : {});
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/users/me/invitations",
    audience: "any",
    personal: true,
    tag,
    summary: "List your invitations",
    description: unproven,
    response: object({ items: Type.Array(OwnInvitation) }),
    example: { items: [exampleOwnInvitation] },
    handle: async ({ ctx }) => ({ items: (await listOwnInvitations(ctx)).map(toOwnInvitation) }),
  }),
  operation({
    method: "POST",
    path: "/api/v1/users/me/invitations/{invitation_id}/accept",
    audience: "any",
    personal: true,
    tag,
    summary: "Accept one of your invitations",
    description: unproven,
    params: object({ invitation_id: uuid() }),
    response: Membership,
    errors: [404, 409],
    example: { ...exampleMembership, role: "member", isCurrent: false, isDefault: false },
    handle: async ({ ctx, params }) => {
      const joined = await acceptOwnInvitation(ctx, params.invitation_id);
      const { isDefault } = joined.membership;
      return toMembership(joined, { currentId: ctx.organizationId, isDefault });
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/users/me/invitations/{invitation_id}/decline",
    audience: "any",
    personal: true,
    tag,
    summary: "Decline one of your invitations",
    description: unproven,
    params: object({ invitation_id: uuid() }),
    status: 204,
    errors: [404],
    handle: ({ ctx, params }) => declineOwnInvitation(ctx, params.invitation_id),
  }),
];

/** Returns the ID of the signed-in user. Null if there is none. */
async function personOf(app: App, visit: Visit): Promise<string | null> {
  const identity = await identify(app, visit.request.headers);
  if (!identity) return null;
  if (identity.kind === "api_key") {
    throw new AppError("forbidden", "This operation requires a user. API keys can't use it.");
  }
  if (identity.carrier === "cookie" && !isSameOrigin(app, visit)) {
    throw new AppError(
      "csrf",
      "With the session cookie, an invitation can only be accepted on Weir's own page.",
    );
  }
  requireScope(identity, "admin");
  return identity.userId;
}
