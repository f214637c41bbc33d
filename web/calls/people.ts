import type {
  AccessTokenList,
  CreatedAccessToken,
  NewAccessToken,
} from "../../src/resources/access-tokens/wire.ts";
import type { ApiKeyList, CreatedApiKey, NewApiKey } from "../../src/resources/api-keys/wire.ts";
import type {
  CreatedInvitation,
  InvitationList,
  NewInvitation,
  OwnInvitation,
} from "../../src/resources/invitations/wire.ts";
import type { Meta } from "../../src/resources/meta/wire.ts";
import type { OrganizationTokenList } from "../../src/resources/organization-tokens/wire.ts";
import type {
  MemberRole,
  Membership,
  NewOrganization,
  Organization,
  OrganizationChange,
  OrganizationMember,
  RoleChange,
  Team,
} from "../../src/resources/organizations/wire.ts";
import type { PersonalData } from "../../src/resources/personal-data/wire.ts";
import type {
  BegunTotp,
  Proof,
  RecoveryCodes,
  TotpCode,
  TotpState,
} from "../../src/resources/second-factor/wire.ts";
import type { SessionList } from "../../src/resources/sessions/wire.ts";
import type { PasswordChange } from "../../src/resources/sign-in/wire.ts";
import type { Linked, LinkPreview, LinkQuery } from "../../src/resources/slack/wire.ts";
import type { User } from "../../src/resources/users/wire.ts";
import type { Asked, CursorQuery, Nothing, Of } from "./shape.ts";

/** Who may come in, and where they belong. */
export interface PeopleCalls {
  "GET /api/v1/meta": { reply: Of<typeof Meta> };
  "GET /api/v1/auth/methods": {
    reply: { setupRequired: boolean; password: boolean; oidc: { name: string } | null };
  };
  "POST /api/v1/auth/login": {
    body: { email: string; password: string; code?: string };
    reply: Of<typeof User>;
  };
  "POST /api/v1/auth/logout": { reply: Nothing };
  "GET /api/v1/users/me": { reply: Of<typeof User> };
  "GET /api/v1/users/me/export": { reply: Of<typeof PersonalData> };
  "DELETE /api/v1/users/me": { body: { confirm: string }; reply: Nothing };
  "POST /api/v1/users/me/password": { body: Of<typeof PasswordChange>; reply: Nothing };
  "POST /api/v1/auth/confirm": { body: Of<typeof Proof>; reply: Nothing };
  "GET /api/v1/users/me/totp": { reply: Of<typeof TotpState> };
  "POST /api/v1/users/me/totp": { reply: Of<typeof BegunTotp> };
  "POST /api/v1/users/me/totp/confirm": { body: Of<typeof TotpCode>; reply: Of<typeof RecoveryCodes> };
  "DELETE /api/v1/users/me/totp": { body: Of<typeof Proof>; reply: Nothing };
  "GET /api/v1/users/me/invitations": { reply: { items: Of<typeof OwnInvitation>[] } };
  "POST /api/v1/users/me/invitations/{invitation_id}/accept": { reply: Of<typeof Membership> };
  "POST /api/v1/users/me/invitations/{invitation_id}/decline": { reply: Nothing };
  "GET /api/v1/organizations/tokens": { query: CursorQuery; reply: Of<typeof OrganizationTokenList> };
  "DELETE /api/v1/organizations/tokens/{token_id}": { reply: Nothing };
  "GET /api/v1/users/me/memberships": { reply: { items: Of<typeof Membership>[] } };
  "GET /api/v1/organizations/current": { reply: Of<typeof Organization> };
  "PATCH /api/v1/organizations/current": {
    body: Of<typeof OrganizationChange>;
    reply: Of<typeof Organization>;
  };
  "DELETE /api/v1/organizations/current": { body: { confirm: string }; reply: Nothing };
  "POST /api/v1/organizations": { body: Of<typeof NewOrganization>; reply: Of<typeof Organization> };
  "GET /api/v1/organizations/members": { reply: { items: Of<typeof OrganizationMember>[] } };
  "GET /api/v1/organizations/team": { reply: Of<typeof Team> };
  "PATCH /api/v1/organizations/team/members/{membership_id}/role": {
    body: Of<typeof RoleChange>;
    reply: Of<typeof MemberRole>;
  };
  "DELETE /api/v1/organizations/team/members/{membership_id}": { reply: Nothing };
  "GET /api/v1/organizations/invitations": { query: CursorQuery; reply: Of<typeof InvitationList> };
  "POST /api/v1/organizations/invitations": {
    body: Of<typeof NewInvitation>;
    reply: Of<typeof CreatedInvitation>;
  };
  "DELETE /api/v1/organizations/invitations/{invitation_id}": { reply: Nothing };
  "GET /api/v1/access-tokens": { query: CursorQuery; reply: Of<typeof AccessTokenList> };
  "POST /api/v1/access-tokens": { body: Asked<typeof NewAccessToken>; reply: Of<typeof CreatedAccessToken> };
  "DELETE /api/v1/access-tokens/{token_id}": { reply: Nothing };
  "GET /api/v1/api-keys": { query: CursorQuery; reply: Of<typeof ApiKeyList> };
  "POST /api/v1/api-keys": { body: Of<typeof NewApiKey>; reply: Of<typeof CreatedApiKey> };
  "DELETE /api/v1/api-keys/{key_id}": { reply: Nothing };
  "GET /api/v1/sessions": { query: CursorQuery; reply: Of<typeof SessionList> };
  "DELETE /api/v1/sessions": { reply: { revokedCount: number } };
  "DELETE /api/v1/sessions/{session_id}": { reply: Nothing };
  "GET /api/v1/chat-links": { query: Asked<typeof LinkQuery>; reply: Of<typeof LinkPreview> };
  "GET /api/inbound/link-callback": { query: Asked<typeof LinkQuery>; reply: Of<typeof Linked> };
}
