import { AppError, invalid } from "../../base/errors.ts";
import { type App, contextFor, type WriteContext, write } from "../../context.ts";
import { hashPassword, verifyPassword } from "../../crypto/passwords.ts";
import { openSession } from "../sessions/service.ts";
import { limitAccount } from "../sign-in/password.ts";
import type { Visitor } from "../sign-in/setup.ts";
import { findUserByEmail, newUser } from "../users/service.ts";
import { type UserRow, users } from "../users/table.ts";
import { findOpenInvitations, joinByInvitation } from "./service.ts";
import type { InvitationRow } from "./table.ts";
import type { Acceptance } from "./wire.ts";

/** Who joined; `token` is that of a new session, null for who was signed in already. */
interface Joined {
  user: UserRow;
  isNew: boolean;
  token: string | null;
}

/**
 * Makes whoever holds the link a member: with a password as a new user, or as the user of the address who
 * proves to be that; without one as `signedInId`. The link alone never opens an account that exists. Throws
 * `gone` with one text for every link that is worth nothing, `unauthenticated`, `forbidden`, `conflict`,
 * `rate_limited`, `invalid`.
 */
export async function acceptInvitation(
  app: App,
  input: Acceptance,
  visitor: Visitor,
  signedInId: string | null,
): Promise<Joined> {
  const invitation = await findByToken({ db: app.store.db, clock: app.clock }, input.token);
  const account = await findUserByEmail(app.store.db, invitation.email);
  const user = account
    ? await prove(app, account, input.password, signedInId)
    : await newAccount(app, invitation, input, signedInId);
  const ctx = contextFor(app, {
    organizationId: invitation.organizationId,
    role: invitation.role,
    actor: {
      type: "user",
      id: user.id,
      email: user.email,
      ip: visitor.ip,
      userAgent: visitor.userAgent,
    },
    correlationId: visitor.correlationId,
  });
  return write(ctx, async (tx) => {
    await findByToken(tx, input.token); // somebody else may have been faster
    if (account) await refuseChanged(tx, account);
    else await tx.db.insert(users).values(user);
    await joinByInvitation(tx, invitation, user.id);
    const session = input.password === undefined ? null : await openSession(tx, "password");
    return { user, isNew: account === null, token: session?.token ?? null };
  });
}

async function findByToken(ctx: Parameters<typeof findOpenInvitations>[0], token: string) {
  const [invitation] = await findOpenInvitations(ctx, { token });
  if (invitation) return invitation;
  throw new AppError(
    "gone",
    "This invitation is not good any more: it was used, withdrawn, or is older than seven days; ask for a new one.",
  );
}

/** The user of the invited address, by being signed in or by the password. */
async function prove(
  app: App,
  account: UserRow,
  password: string | undefined,
  signedInId: string | null,
): Promise<UserRow> {
  if (password === undefined) {
    if (account.id === signedInId) return account;
    if (signedInId !== null) throw meantForAnother();
    throw new AppError(
      "unauthenticated",
      "There is an account with the invited address: sign in to it first, or give its password.",
    );
  }
  limitAccount(app, account.email);
  if (await verifyPassword(password, account.passwordHash)) return account;
  throw new AppError(
    "unauthenticated",
    "There is an account with the invited address, and this is not its password.",
  );
}

async function newAccount(
  app: App,
  { email }: InvitationRow,
  { password, firstName = null, lastName = null }: Acceptance,
  signedInId: string | null,
): Promise<UserRow> {
  if (password === undefined) {
    if (signedInId !== null) throw meantForAnother();
    throw invalid(["body", "password"], "Field required", "missing");
  }
  return newUser(app, { email, passwordHash: await hashPassword(password), firstName, lastName });
}

const meantForAnother = () =>
  new AppError(
    "forbidden",
    "This invitation is for another e-mail address than yours; give a password to come in under that one.",
  );

/** Throws where the password was changed while this one was being verified. */
async function refuseChanged(tx: WriteContext, { email, passwordHash }: UserRow): Promise<void> {
  const now = await findUserByEmail(tx.db, email);
  if (now?.passwordHash === passwordHash) return;
  throw new AppError("unauthenticated", "The password of this account was changed meanwhile; try again.");
}
