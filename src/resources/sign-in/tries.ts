import { sourceOf } from "../../base/cidr.ts";
import { AppError } from "../../base/errors.ts";
import type { Rate } from "../../base/limit.ts";
import { type Actor, type App, type Context, contextFor, write } from "../../context.ts";
import { verifyPassword } from "../../crypto/passwords.ts";
import { version } from "../../version.ts";
import { record } from "../events/service.ts";
import { findHome } from "../organizations/team.ts";
import { takeCode } from "../second-factor/service.ts";
import { normalEmail } from "../users/service.ts";
import type { UserRow } from "../users/table.ts";
import type { Visitor } from "./setup.ts";

/** Failed attempts for one account from one source. Others can't use it up, and successful attempts don't count. */
const FAILURE_RATE: Rate = { perMinute: 5, burst: 20 };

/** Wrong codes after a right password, from all sources, so that many addresses don't allow faster guessing. */
const CODE_RATE: Rate = { perMinute: 1, burst: 10 };

/** Failed attempts recorded in an account's audit log. All of them are logged. */
const RECORDED_RATE: Rate = { perMinute: 5, burst: 5 };

/** Someone who tries to authenticate. */
export interface Trier extends Visitor {
  /** A browser that the account knows. It has its own limit. */
  browser?: string | null;
}

/**
 * Counts an attempt before it is made, so that concurrent attempts can't exceed the limit.
 * Returns a function that subtracts it again. Throws `rate_limited`.
 */
function countTry(app: App, email: string, { ip, browser }: Trier): () => void {
  const source = browser ?? sourceOf(ip ?? "");
  return take(app, `failures:${normalEmail(email)}:${source}`, FAILURE_RATE);
}

function take(app: App, key: string, rate: Rate): () => void {
  const { retryAfterSeconds } = app.limiter.take(key, rate);
  if (retryAfterSeconds > 0) {
    throw new AppError(
      "rate_limited",
      `Too many failed attempts for this account. Try again in ${retryAfterSeconds} seconds.`,
      { retryAfterSeconds },
    );
  }
  return () => app.limiter.giveBack(key);
}

/** Returns whether it is the password of `user`. Without a user, `false` after the same work. Throws `rate_limited`. */
export async function isPasswordOf(
  app: App,
  { email, user, password }: { email: string; user: UserRow | null; password: string },
  trier: Trier,
): Promise<boolean> {
  const giveBack = countTry(app, email, trier);
  const isRight = await verifyPassword(password, user?.passwordHash ?? null);
  if (isRight) giveBack();
  else if (user) recordFailure(app, user, trier, "password");
  return isRight;
}

/**
 * Returns whether it is a code of the user's app or a recovery code, which is then used up.
 * A browser that the account knows isn't blocked by wrong codes of others. Throws `rate_limited`.
 */
export async function isCodeOf(app: App, user: UserRow, code: string, trier: Trier): Promise<boolean> {
  const giveBack = countTry(app, user.email, trier);
  const giveBackCode = trier.browser ? () => undefined : take(app, `codes:${user.id}`, CODE_RATE);
  const ctx = await contextOf(app, user, actorOf(user, trier), trier.correlationId);
  const isRight = await takeCode(ctx, user.id, code);
  if (isRight) {
    giveBack();
    giveBackCode();
  } else recordFailure(app, user, trier, "code");
  return isRight;
}

/** The current user, who is signed in. */
export const trierOf = ({ actor: { ip = null, userAgent = null }, correlationId }: Context): Trier => ({
  ip,
  userAgent,
  correlationId,
});

export const actorOf = (user: UserRow, { ip, userAgent }: Trier): Actor => ({
  type: "user",
  id: user.id,
  email: user.email,
  ip,
  userAgent,
});

/** Records a failed attempt in the audit log of the user's organization, at most a few times a minute. */
function recordFailure(app: App, user: UserRow, trier: Trier, cause: "password" | "code"): void {
  if (app.limiter.take(`failures-recorded:${user.id}`, RECORDED_RATE).retryAfterSeconds > 0) return;
  const { ip = null, userAgent = null, correlationId } = trier;
  const actor: Actor = { type: "system", id: "sign-in", process: "weir serve", version };
  // Not awaited: the response time must not reveal whether an address has an account.
  contextOf(app, user, actor, correlationId)
    .then(async (ctx) => {
      if (ctx.organizationId === "") return;
      const data = { cause, address: ip, userAgent };
      await write(ctx, (tx) => record(tx, "auth.login_failed", { type: "user", id: user.id }, data));
    })
    .catch((error) => app.log.report(error, { at: "record a failed sign-in" }));
}

/** Returns a context in the user's own organization. The organization is empty if there is none. */
export async function contextOf(
  app: App,
  user: UserRow,
  actor: Actor,
  correlationId: string,
): Promise<Context> {
  const home = await findHome(app.store.db, user.id);
  const { organizationId, role } = home ?? { organizationId: "", role: "viewer" as const };
  return contextFor(app, { organizationId, role, actor, correlationId });
}
