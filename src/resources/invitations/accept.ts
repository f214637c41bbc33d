import { AppError, invalid } from "../../base/errors.ts";
import { type App, contextFor, write } from "../../context.ts";
import { hashPassword } from "../../crypto/passwords.ts";
import { hashToken } from "../../crypto/tokens.ts";
import { openSession } from "../sessions/service.ts";
import { claim } from "../sign-in/claim.ts";
import { signIn } from "../sign-in/password.ts";
import type { Visitor } from "../sign-in/setup.ts";
import { findUserByEmail, newUser } from "../users/service.ts";
import { type UserRow, users } from "../users/table.ts";
import { findOpenInvitations, joinByInvitation } from "./service.ts";
import type { InvitationRow } from "./table.ts";
import type { Acceptance } from "./wire.ts";

/** Who joined. `token` is that of a new session, null if the user was already signed in. */
interface Joined {
  user: UserRow;
  isNew: boolean;
  token: string | null;
}

/** What the holder of a link may do with the account of its address. */
interface Way {
  /** Not stored yet if there is no account. */
  user: UserRow;
  /** `claim` gives the account to the holder, with this password. */
  how: "make" | "claim" | "join";
  passwordHash: string | null;
  /** Token of a session that was opened on the way. Null if none was. */
  token: string | null;
}

/**
 * Makes the holder of the link a member. Without an account for the address, creates one with the given password.
 * Otherwise, the account's own sign-in is required: its session as `signedInId`, or its password. An emailed link
 * proves the address: an account whose address was never verified then gets the given password, and its sessions and
 * tokens end.
 *
 * Throws `gone` with the same message for every link that doesn't work, `unauthenticated`, `forbidden`, `conflict`,
 * `rate_limited`, `invalid`.
 */
export async function acceptInvitation(
  app: App,
  input: Acceptance,
  visitor: Visitor,
  signedInId: string | null,
): Promise<Joined> {
  const invitation = await findByToken({ db: app.store.db, clock: app.clock }, input.token);
  const isMailed = invitation.mailTokenHash === hashToken(input.token);
  const account = await findUserByEmail(app.store.db, invitation.email);
  const way = await wayOf(app, { invitation, isMailed, account, input, visitor, signedInId });
  const ctx = contextFor(app, {
    organizationId: invitation.organizationId,
    role: invitation.role,
    actor: {
      type: "user",
      id: way.user.id,
      email: way.user.email,
      ip: visitor.ip,
      userAgent: visitor.userAgent,
    },
    correlationId: visitor.correlationId,
  });
  return write(ctx, async (tx) => {
    await findByToken(tx, input.token); // Another request may have been faster.
    let user = way.user;
    if (way.how === "make") await tx.db.insert(users).values(user);
    if (way.how === "claim") {
      const now = await findUserByEmail(tx.db, user.email);
      if (!now || now.addressProvenAt !== null) throw elsewhere(app, user.email);
      ({ user } = await claim(tx, { ...now, ...namesOf(input, now) }, way.passwordHash));
    }
    await joinByInvitation(tx, invitation, user.id);
    if (way.how === "join") return { user, isNew: false, token: way.token };
    const { token } = await openSession(tx, "password");
    return { user, isNew: way.how === "make", token };
  });
}

async function findByToken(ctx: Parameters<typeof findOpenInvitations>[0], token: string) {
  const [invitation] = await findOpenInvitations(ctx, { token });
  if (invitation) return invitation;
  throw new AppError(
    "gone",
    "This invitation is invalid: it was used, revoked, or is older than 7 days. Ask for a new one.",
  );
}

interface Holder {
  invitation: InvitationRow;
  isMailed: boolean;
  account: UserRow | null;
  input: Acceptance;
  visitor: Visitor;
  signedInId: string | null;
}

async function wayOf(app: App, holder: Holder): Promise<Way> {
  const { account, input, isMailed, invitation, signedInId } = holder;
  const { password } = input;
  if (account && (!isMailed || account.addressProvenAt !== null)) {
    return { user: account, how: "join", passwordHash: null, token: await prove(app, account, holder) };
  }
  if (password === undefined) {
    if (signedInId !== null && signedInId !== account?.id) throw meantForAnother();
    throw invalid(["body", "password"], "Field required", "missing");
  }
  const passwordHash = await hashPassword(password);
  if (account) return { user: account, how: "claim", passwordHash, token: null };
  const { firstName = null, lastName = null } = input;
  const made = newUser(app, { email: invitation.email, passwordHash, firstName, lastName });
  const user = { ...made, addressProvenAt: isMailed ? made.createdAt : null };
  return { user, how: "make", passwordHash, token: null };
}

/** Signs in to the account. Returns the token of the session opened with the password, null without one. */
async function prove(
  app: App,
  account: UserRow,
  { input: { password }, visitor, signedInId }: Holder,
): Promise<string | null> {
  if (password === undefined) {
    if (account.id === signedInId) return null;
    throw signedInId === null ? elsewhere(app, account.email) : meantForAnother();
  }
  const credentials = { email: account.email, password };
  const signedIn = await signIn(app, credentials, visitor, null).catch((error: unknown) => {
    const code = error instanceof AppError ? error.code : null;
    if (code === "second_factor_required") throw secondFactorFirst(account.email);
    if (code !== "unauthenticated") throw error;
    throw elsewhere(app, account.email, "This is not the password of the account. ");
  });
  return signedIn.token;
}

/** The given names replace those of the account. */
const namesOf = ({ firstName, lastName }: Acceptance, before: UserRow) => ({
  firstName: firstName ?? before.firstName,
  lastName: lastName ?? before.lastName,
});

const elsewhere = ({ mailer }: App, email: string, before = "") =>
  new AppError(
    "unauthenticated",
    `${before}There is an account with the address ${email} already: sign in to it and open this link again, or give its password here. ${
      mailer
        ? "If you don't know the password, choose “Forgot your password?” at sign-in."
        : `If you don't know the password, ask the operator to run weir reset-password ${email}.`
    }`,
  );

const secondFactorFirst = (email: string) =>
  new AppError(
    "unauthenticated",
    `The account with the address ${email} has a second factor. Sign in to it, then open this link again.`,
  );

const meantForAnother = () =>
  new AppError(
    "forbidden",
    "This invitation is for a different email address. Set a password to create that account.",
  );
