import { eq } from "drizzle-orm";
import { timestamp, timestampAfter } from "../../base/clock.ts";
import { AppError, InvalidInput } from "../../base/errors.ts";
import { read } from "../../base/shape.ts";
import { type Actor, type App, type Context, type WriteContext, write } from "../../context.ts";
import { hashPassword } from "../../crypto/passwords.ts";
import { hashToken } from "../../crypto/tokens.ts";
import { version } from "../../version.ts";
import { record } from "../events/service.ts";
import { endTotp, hasSecondFactor } from "../second-factor/service.ts";
import { openSession } from "../sessions/service.ts";
import { findMe, findUserByEmail } from "../users/service.ts";
import { type UserRow, users } from "../users/table.ts";
import { endEveryWayIn, type WaysIn } from "../users/ways-in.ts";
import { accountsOf, rememberBrowser } from "./browsers.ts";
import type { Visitor } from "./setup.ts";
import { actorOf, contextOf, isCodeOf, isPasswordOf, trierOf } from "./tries.ts";
import { type Credentials, Password } from "./wire.ts";

/**
 * Starts a session for a user with the right password and, if it is on, second factor. `cookie` is that of a browser
 * that may be known; `browser` identifies it from now on. Throws `rate_limited`, `second_factor_required`,
 * and `unauthenticated` with the same text and after the same work whether or not the user exists.
 */
export async function signIn(
  app: App,
  { email, password, code }: Credentials,
  visitor: Visitor,
  cookie: string | null,
): Promise<{ user: UserRow; token: string; browser: string }> {
  const user = await findUserByEmail(app.store.db, email);
  const isKnown = cookie !== null && user !== null && (await accountsOf(app, cookie)).has(user.id);
  const trier = { ...visitor, browser: isKnown ? hashToken(cookie) : null };
  const isRight = await isPasswordOf(app, { email, user, password }, trier);
  if (!user || !isRight) throw wrong();
  if (await hasSecondFactor(app.store.db, user.id)) {
    if (code === undefined) throw codeMissing();
    if (!(await isCodeOf(app, user, code, trier))) throw codeWrong();
  }
  const ctx = await contextOf(app, user, actorOf(user, trier), visitor.correlationId);
  return write(ctx, async (tx) => {
    const { passwordHash } = await findMe(tx);
    if (passwordHash !== user.passwordHash) throw wrong(); // It was changed while this one was being verified.
    const { token } = await openSession(tx, "password");
    return { user, token, browser: await rememberBrowser(tx, cookie) };
  });
}

const codeMissing = () =>
  new AppError("second_factor_required", "Enter a code from your authenticator app, or a recovery code.");

const codeWrong = () => new AppError("unauthenticated", "Incorrect code, or it was already used.");

const wrong = () => new AppError("unauthenticated", "Incorrect email or password.");

/**
 * Changes the current user's password.
 * Ends all of their sessions except `keptId`, and all device codes; with `endTokens`, access tokens and Slack links too.
 * Throws `unauthenticated` for a wrong current password, `invalid_state` for a user without a password, `rate_limited`.
 */
export async function changePassword(
  ctx: Context,
  input: { currentPassword: string; newPassword: string; endTokens: boolean },
  keptId: string | null,
): Promise<void> {
  const user = await findMe(ctx);
  if (user.passwordHash === null) {
    throw new AppError(
      "invalid_state",
      "You sign in with your identity provider. Change your password there.",
    );
  }
  const attempt = { email: user.email, user, password: input.currentPassword };
  const isRight = await isPasswordOf(ctx, attempt, trierOf(ctx));
  const refused = () => new AppError("unauthenticated", "Incorrect current password.");
  if (!isRight) throw refused();
  const passwordHash = await hashPassword(input.newPassword);
  await write(ctx, async (tx) => {
    if ((await findMe(tx)).passwordHash !== user.passwordHash) throw refused();
    await setPassword(tx, user, { passwordHash });
    await endEveryWayIn(tx, user.id, { keptId, keepTokens: !input.endTokens });
  });
}

async function setPassword(
  tx: WriteContext,
  user: UserRow,
  change: Partial<Pick<UserRow, "passwordHash" | "addressProvenAt">>,
): Promise<void> {
  await tx.db
    .update(users)
    .set({ ...change, updatedAt: timestampAfter(tx.clock, user.updatedAt) })
    .where(eq(users.id, user.id));
  if (!tx.organizationId) return;
  const changes = [{ field: "password", from: "***", to: "***" }];
  await record(tx, "user.updated", { type: "user", id: user.id }, { changes });
}

/**
 * Sets a new password for the user with this address, whose identity the operator vouches for, and ends all previous
 * access. The second factor stays, unless `endSecondFactor` is set or the address was never proven.
 * Throws `not_found`, `invalid` for a password that is too short or too long.
 */
export async function resetPassword(
  app: App,
  {
    email,
    password,
    endSecondFactor = false,
  }: { email: string; password: string; endSecondFactor?: boolean },
): Promise<Reset> {
  return applyReset(app, { email, passwordHash: await hashForReset(password), endSecondFactor });
}

interface Reset extends WaysIn {
  secondFactor: "none" | "kept" | "ended";
}

/** Throws `invalid` for a password that is too short, too long or too common. */
export async function hashForReset(input: string): Promise<string> {
  const { value: password, faults } = read(Password, input, ["password"]);
  if (faults.length > 0) throw new InvalidInput(faults);
  return hashPassword(password);
}

/** Resets a password to one that was checked, given as its hash. Throws `not_found`. */
export async function applyReset(
  app: App,
  { email, passwordHash, endSecondFactor }: { email: string; passwordHash: string; endSecondFactor: boolean },
): Promise<Reset> {
  const user = await findUserByEmail(app.store.db, email);
  if (!user) throw new AppError("not_found", `No user with the email address ${email}.`);
  const actor: Actor = { type: "system", id: "reset-password", process: "weir reset-password", version };
  return write(await contextOf(app, user, actor, app.ids.uuid()), async (tx) => {
    const addressProvenAt = user.addressProvenAt ?? timestamp(tx.clock);
    await setPassword(tx, user, { passwordHash, addressProvenAt });
    const isOn = await hasSecondFactor(tx.db, user.id);
    const isTheirs = user.addressProvenAt !== null; // Otherwise, someone else may have turned it on.
    const isEnded = (endSecondFactor || !isTheirs) && (await endTotp(tx, user.id));
    const secondFactor = isEnded ? "ended" : isOn ? "kept" : "none";
    return { ...(await endEveryWayIn(tx, user.id)), secondFactor };
  });
}
