import { type Static, Type } from "@sinclair/typebox";
import { described, instant, nullable, object, oneOf, uuid } from "../../base/shape.ts";
import { AccessToken } from "../access-tokens/wire.ts";
import { Message, Thread } from "../chat/wire.ts";
import { Decision } from "../decisions/wire.ts";
import { APPROVAL_PREFERENCES, FAILURE_PREFERENCES } from "../notices/table.ts";
import { ROLES } from "../organizations/table.ts";
import { exampleSession, Session } from "../sessions/wire.ts";
import { exampleUser, User } from "../users/wire.ts";

const ExportedMembership = object({
  id: uuid(),
  organizationId: uuid(),
  role: oneOf(ROLES),
  joinedAt: instant(),
});

const ExportedIdentity = object({
  id: uuid(),
  issuer: Type.String(),
  subject: Type.String(),
  createdAt: instant(),
});

export const PersonalData = object({
  exportedAt: instant(),
  user: User,
  addressProvenAt: nullable(instant()),
  memberships: Type.Array(ExportedMembership),
  identities: Type.Array(ExportedIdentity),
  sessions: Type.Array(Session),
  accessTokens: Type.Array(AccessToken),
  notices: object({ approvals: oneOf(APPROVAL_PREFERENCES), failures: oneOf(FAILURE_PREFERENCES) }),
  chats: Type.Array(object({ thread: Thread, messages: Type.Array(Message) }), {
    description: "Chats that the user started, in the organizations that the credential is valid for.",
  }),
  decisions: Type.Array(Decision, {
    description: "Decisions that the user made, in the organizations that the credential is valid for.",
  }),
});
export type PersonalData = Static<typeof PersonalData>;

/** Operators can't see organizations' data, so chats and decisions are left out. */
export const AccountData = Type.Omit(PersonalData, ["chats", "decisions"], { additionalProperties: false });
export type AccountData = Static<typeof AccountData>;

export const PersonErasure = object({
  confirm: described("Email address of the user, to confirm", Type.String({ maxLength: 320 })),
});

export const exampleAccountData: AccountData = {
  exportedAt: "2026-01-01T00:00:00.000Z",
  notices: { approvals: "all", failures: "mine" },
  user: exampleUser,
  addressProvenAt: null,
  memberships: [],
  identities: [],
  sessions: [exampleSession],
  accessTokens: [],
};
