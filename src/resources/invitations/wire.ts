import { type Static, Type } from "@sinclair/typebox";
import { requestObject } from "../../base/null-shape.ts";
import { instant, named, nullable, object, oneOf, optional, uuid } from "../../base/shape.ts";
import { type OrganizationRow, ROLES } from "../organizations/table.ts";
import { Password } from "../sign-in/wire.ts";
import type { UserRow } from "../users/table.ts";
import type { InvitationRow } from "./table.ts";

const shown = {
  id: uuid(),
  email: Type.String(),
  roleSlug: oneOf(ROLES),
  createdAt: instant(),
  createdBy: Type.String({ description: "ID of the user or API key that created the invitation" }),
  expiresAt: instant(),
};

export const Invitation = object(shown);
export const CreatedInvitation = object({
  ...shown,
  inviteUrl: Type.String({ description: "Invitation link. Returned only once." }),
  warnings: optional(
    Type.Array(Type.String(), { description: "Why no link was emailed. Omitted if one was" }),
  ),
});
export const InvitationList = object({ items: Type.Array(Invitation), nextCursor: optional(Type.String()) });

export const NewInvitation = object({
  email: Type.String({ format: "email", maxLength: 254 }),
  roleSlug: oneOf(ROLES, { default: "member" }),
});

export const Acceptance = requestObject({
  token: Type.String({ minLength: 1, maxLength: 200 }),
  password: optional(Password),
  firstName: optional(nullable(named())),
  lastName: optional(nullable(named())),
});
export type Acceptance = Static<typeof Acceptance>;

/** An invitation as the invited user sees it. */
export const OwnInvitation = object({
  id: uuid(),
  organization: object({ id: uuid(), name: Type.String(), slug: Type.String() }),
  roleSlug: oneOf(ROLES),
  invitedBy: nullable(
    object({
      id: uuid(),
      email: Type.String(),
      firstName: nullable(Type.String()),
      lastName: nullable(Type.String()),
    }),
  ),
  createdAt: instant(),
  expiresAt: instant(),
});

export const toOwnInvitation = ({
  invitation,
  organization,
  inviter,
}: {
  invitation: InvitationRow;
  organization: OrganizationRow;
  inviter: UserRow | null;
}): Static<typeof OwnInvitation> => ({
  id: invitation.id,
  organization: { id: organization.id, name: organization.name, slug: organization.slug },
  roleSlug: invitation.role,
  invitedBy: inviter && {
    id: inviter.id,
    email: inviter.email,
    firstName: inviter.firstName,
    lastName: inviter.lastName,
  },
  createdAt: invitation.createdAt,
  expiresAt: invitation.expiresAt,
});

export const toInvitation = (row: InvitationRow): Static<typeof Invitation> => ({
  id: row.id,
  email: row.email,
  roleSlug: row.role,
  createdAt: row.createdAt,
  createdBy: row.createdBy,
  expiresAt: row.expiresAt,
});

export const exampleInvitation: Static<typeof Invitation> = {
  id: "01890a5d-ac96-774b-bcce-b302099a8063",
  email: "grace@example.com",
  roleSlug: "member",
  createdAt: "2026-01-01T00:00:00.000Z",
  createdBy: "01890a5d-ac96-774b-bcce-b302099a8057",
  expiresAt: "2026-01-08T00:00:00.000Z",
};

export const exampleOwnInvitation: Static<typeof OwnInvitation> = {
  id: exampleInvitation.id,
  organization: { id: "01890a5d-ac96-774b-bcce-b302099a8058", name: "Acme", slug: "acme" },
  roleSlug: "member",
  invitedBy: {
    id: exampleInvitation.createdBy,
    email: "ada@example.com",
    firstName: "Ada",
    lastName: "Lovelace",
  },
  createdAt: exampleInvitation.createdAt,
  expiresAt: exampleInvitation.expiresAt,
};
