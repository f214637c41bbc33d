import { eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, InvalidInput } from "../../base/errors.ts";
import { read } from "../../base/shape.ts";
import { type Actor, type App, contextFor, write } from "../../context.ts";
import { hashPassword, verifyPassword } from "../../crypto/passwords.ts";
import { version } from "../../version.ts";
import { record } from "../events/service.ts";
import { findHome } from "../organizations/team.ts";
import { openSession } from "../sessions/service.ts";
import { findMe, findUserByEmail, normalEmail } from "../users/service.ts";
import { type UserRow, users } from "../users/table.ts";
import { endEveryWayIn, type WaysIn } from "../users/ways-in.ts";
import type { Visitor } from "./setup.ts";
import { type Credentials, Password } from "./wire.ts";

/** Tries for one account, from wherever they come: whoever owns many addresses still guesses slowly. */
const ACCOUNT_RATE = { perMinute: 5, burst: 20 };

/**
 * Starts a session for whoever knows the password. Throws `rate_limited`, and `unauthenticated` with the
 * same text after the same work whether or not the user exists.
 */
export async function signIn(
  app: App,
  { email, password }: Credentials,
  { correlationId, ip, userAgent }: Visitor,
): Promise<{ user: UserRow; token: string }> {
  limitAccount(app, email);
  const user = await findUserByEmail(app.store.db, email);
  const isRight = await verifyPassword(password, user?.passwordHash ?? null);
  if (!user || !isRight) {
    app.log.write("warn", "A sign-in was refused.", { address: ip, correlationId });
    throw wrong();
  }
  const ctx = await contextOf(
    app,
    user,
    { type: "user", id: user.id, email: user.email, ip, userAgent },
    correlationId,
  );
  return write(ctx, async (tx) => {
    const { passwordHash } = await findMe(tx);
    if (passwordHash !== user.passwordHash) throw wrong(); // it was changed while this one was being verified
    const { token } = await openSession(tx, "password");
    return { user, token };
  });
}

const wrong = () => new AppError("unauthenticated", "The e-mail address or the password is not right.");

/** Throws `rate_limited` after too many tries of one account's password. */
export function limitAccount(app: App, email: string): void {
  const { retryAfterSeconds } = app.limiter.take(`account:${normalEmail(email)}`, ACCOUNT_RATE);
  if (retryAfterSeconds === 0) return;
  throw new AppError(
    "rate_limited",
    `Too many tries for this account; try again in ${retryAfterSeconds} s.`,
    {
      retryAfterSeconds,
    },
  );
}

/**
 * Sets a new password for the user with this address, by the operator's word whose it is, and ends every way in from
 * before. Throws `not_found`, `invalid` for a password that is too short or too long.
 */
export async function resetPassword(app: App, input: { email: string; password: string }): Promise<WaysIn> {
  return applyReset(app, { email: input.email, passwordHash: await hashForReset(input.password) });
}

/** Throws `invalid` for a password that is too short or too long. */
export async function hashForReset(given: string): Promise<string> {
  const { value: password, faults } = read(Password, given, ["password"]);
  if (faults.length > 0) throw new InvalidInput(faults);
  return hashPassword(password);
}

/** The same with the hash of a password that was checked. Throws `not_found`. */
export async function applyReset(
  app: App,
  { email, passwordHash }: { email: string; passwordHash: string },
): Promise<WaysIn> {
  const user = await findUserByEmail(app.store.db, email);
  if (!user) throw new AppError("not_found", `There is no user with the e-mail address ${email}.`);
  const actor: Actor = { type: "system", id: "reset-password", process: "weir reset-password", version };
  return write(await contextOf(app, user, actor, app.ids.uuid()), async (tx) => {
    const at = timestamp(tx.clock);
    await tx.db
      .update(users)
      .set({ passwordHash, addressProvenAt: user.addressProvenAt ?? at, updatedAt: at })
      .where(eq(users.id, user.id));
    if (tx.organizationId) {
      const changes = [{ field: "password", from: "***", to: "***" }];
      await record(tx, "user.updated", { type: "user", id: user.id }, { changes });
    }
    return endEveryWayIn(tx, user.id);
  });
}

/** Seen from where `user` is at home; an empty organization where that is nowhere. */
async function contextOf(app: App, user: UserRow, actor: Actor, correlationId: string) {
  const home = await findHome(app.store.db, user.id);
  const { organizationId, role } = home ?? { organizationId: "", role: "viewer" as const };
  return contextFor(app, { organizationId, role, actor, correlationId });
}
