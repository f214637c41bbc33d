import { and, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { OpenIdProfile, OpenIdProvider } from "../../base/openid.ts";
import type { WriteContext } from "../../context.ts";
import { record } from "../events/service.ts";
import { findOpenInvitations } from "../invitations/service.ts";
import type { InvitationRow } from "../invitations/table.ts";
import { memberships } from "../organizations/table.ts";
import { findHome } from "../organizations/team.ts";
import { claim } from "../sign-in/claim.ts";
import { findUserByEmail, newUser, normalEmail } from "../users/service.ts";
import { type UserRow, users } from "../users/table.ts";
import { followGroups, grantsOf } from "./groups.ts";
import { type OpenIdIdentityRow, openidIdentities } from "./table.ts";

type Provider = Pick<OpenIdProvider, "issuer" | "name">;

/** A user, their identity at the provider, and a context for their own organization. */
interface Known {
  user: UserRow;
  identity: OpenIdIdentityRow;
  acting: WriteContext;
  /** Whether an invitation is pending. */
  isInvited: boolean;
}

/**
 * Returns the user who has signed in: by issuer and subject if they are known, otherwise by a verified address, as an
 * existing or invited user, or by a group. Memberships of the user's groups are updated. Invitations wait for the user
 * to accept.
 *
 * Throws `forbidden` for everyone else.
 */
export async function recognize(
  tx: WriteContext,
  provider: Provider,
  profile: OpenIdProfile,
): Promise<Known> {
  const email = isVouchedFor(tx, profile) ? plainEmail(profile.email) : null;
  const open = email === null ? [] : await findOpenInvitations(tx, { email });
  const linked = await findLinked(tx, provider, profile);
  const { user, identity, isNewLink } = linked
    ? { ...linked, isNewLink: false }
    : await link(tx, provider, profile, { email, open });

  await followGroups(selfOf(tx, user), user, profile);
  const joined = await organizationsOf(tx, user.id);
  const isInvited = (await findOpenInvitations(tx, { email: user.email })).some(
    ({ organizationId }) => !joined.has(organizationId),
  );
  const acting = await actingAs(tx, user);
  if (isNewLink && acting.organizationId) {
    const changes = [{ field: "identityProvider", from: null, to: provider.issuer }];
    await record(acting, "user.updated", { type: "user", id: user.id }, { changes });
  }
  return { user, identity, acting, isInvited };
}

const selfOf = (tx: WriteContext, { id, email }: UserRow): WriteContext => ({
  ...tx,
  actor: { ...tx.actor, id, email },
});

/** Returns a context of the user in their own organization. */
async function actingAs(tx: WriteContext, user: UserRow): Promise<WriteContext> {
  return { ...selfOf(tx, user), ...(await findHome(tx.db, user.id)) };
}

async function findLinked(tx: WriteContext, { issuer }: Provider, { subject }: OpenIdProfile) {
  const [found] = await tx.db
    .select({ user: users, identity: openidIdentities })
    .from(openidIdentities)
    .innerJoin(users, eq(users.id, openidIdentities.userId))
    .where(and(eq(openidIdentities.issuer, issuer), eq(openidIdentities.subject, subject)));
  return found ?? null;
}

/** Links the provider's subject to the user with the address, or to a new user who was invited. */
async function link(
  tx: WriteContext,
  provider: Provider,
  profile: OpenIdProfile,
  { email, open }: { email: string | null; open: readonly InvitationRow[] },
): Promise<{ user: UserRow; identity: OpenIdIdentityRow; isNewLink: boolean }> {
  if (email === null) throw new AppError("forbidden", whyUnverified(tx, provider, profile));
  const before = await findUserByEmail(tx.db, email);
  if (before === null && open.length === 0 && grantsOf(tx.config, profile).size === 0) {
    throw new AppError(
      "forbidden",
      `No account or invitation for ${email}. Ask an administrator for an invitation.`,
    );
  }
  if (before) {
    await refuseSecond(tx, provider, before);
    if (before.addressProvenAt === null) await claim(tx, before, null);
  }
  const user = before ?? (await insertUser(tx, email, profile));
  const identity: OpenIdIdentityRow = {
    id: tx.ids.uuid(),
    userId: user.id,
    issuer: provider.issuer,
    subject: profile.subject,
    createdAt: timestamp(tx.clock),
  };
  await tx.db.insert(openidIdentities).values(identity);
  return { user, identity, isNewLink: before !== null };
}

/** An address that the provider has since given to someone else doesn't open the previous user's account. */
async function refuseSecond(tx: WriteContext, { issuer, name }: Provider, user: UserRow): Promise<void> {
  const [other] = await tx.db
    .select({ id: openidIdentities.id })
    .from(openidIdentities)
    .where(and(eq(openidIdentities.userId, user.id), eq(openidIdentities.issuer, issuer)));
  if (!other) return;
  throw new AppError(
    "forbidden",
    `Another account of ${name} signs in as ${user.email}. Use that account, or sign in with a password.`,
  );
}

async function insertUser(tx: WriteContext, email: string, profile: OpenIdProfile): Promise<UserRow> {
  const { firstName, lastName, pictureUrl } = profile;
  const made = newUser(tx, { email, passwordHash: null, firstName, lastName });
  const user = { ...made, addressProvenAt: made.createdAt, profilePictureUrl: pictureUrl };
  await tx.db.insert(users).values(user);
  return user;
}

async function organizationsOf(tx: WriteContext, userId: string): Promise<Set<string>> {
  const rows = await tx.db
    .select({ id: memberships.organizationId })
    .from(memberships)
    .where(eq(memberships.userId, userId));
  return new Set(rows.map(({ id }) => id));
}

/** Returns what the provider says, or, if it says nothing, what the operator trusts it with. */
const isVouchedFor = ({ config }: WriteContext, { isEmailVerified }: OpenIdProfile): boolean =>
  isEmailVerified ?? config.oidcTrustEmail;

/** Null for an address that is ASCII only after lower-casing: the Kelvin sign isn't a k. */
function plainEmail(email: string | null): string | null {
  if (email === null) return null;
  const plain = email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return plain === normalEmail(email) ? plain : null;
}

function whyUnverified(tx: WriteContext, { name }: Provider, profile: OpenIdProfile): string {
  const { email, isEmailVerified } = profile;
  if (email === null) return `${name} didn't provide your email address, which is required to sign in.`;
  if (isVouchedFor(tx, profile)) return `The address ${email} contains misleading characters.`;
  if (isEmailVerified === null) {
    return `${name} doesn't report whether ${email} is verified. If its addresses can be trusted, the operator can set WEIR_OIDC_TRUST_EMAIL=true.`;
  }
  return `${name} hasn't verified ${email}. Verify it there, then sign in again.`;
}
