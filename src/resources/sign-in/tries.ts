import { sourceOf } from "../../base/cidr.ts";
import { AppError } from "../../base/errors.ts";
import type { Rate } from "../../base/limit.ts";
import { type Actor, type App, type Context, contextFor, write } from "../../context.ts";
import { verifyPassword } from "../../crypto/passwords.ts";
import { version } from "../../version.ts";
import { record } from "../events/service.ts";
import { findHome } from "../organizations/team.ts";
import { normalEmail } from "../users/service.ts";
import type { UserRow } from "../users/table.ts";
import type { Visitor } from "./setup.ts";

/** Failed tries with one account from one source. Others can't use it up, and what is right does not count. */
const FAILURE_RATE: Rate = { perMinute: 5, burst: 20 };

/** Failed tries that one account's trail tells of; all of them are in the log. */
const RECORDED_RATE: Rate = { perMinute: 5, burst: 5 };

/** Who tries to prove to be somebody. */
export interface Trier extends Visitor {
  /** Of a browser that the account knows: it has tries of its own. */
  browser?: string | null;
}

/**
 * Counts a try before it is made, so that many at once are no way around; gives back what takes it off the count.
 * Throws `rate_limited`.
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
      `Too many failed tries for this account; try again in ${retryAfterSeconds} s.`,
      { retryAfterSeconds },
    );
  }
  return () => app.limiter.giveBack(key);
}

/** Whether it is the password of `user`; `false` after the same work where there is no user. Throws `rate_limited`. */
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

/** Tells the trail of the account's home about a failed try, a few times a minute at most. */
function recordFailure(app: App, user: UserRow, trier: Trier, cause: "password" | "code"): void {
  if (app.limiter.take(`failures-recorded:${user.id}`, RECORDED_RATE).retryAfterSeconds > 0) return;
  const { ip = null, userAgent = null, correlationId } = trier;
  const actor: Actor = { type: "system", id: "sign-in", process: "weir serve", version };
  // not waited for: an address that has an account must not answer later than one that has none
  contextOf(app, user, actor, correlationId)
    .then(async (ctx) => {
      if (ctx.organizationId === "") return;
      const data = { cause, address: ip, userAgent };
      await write(ctx, (tx) => record(tx, "auth.login_failed", { type: "user", id: user.id }, data));
    })
    .catch((error) => app.log.report(error, { at: "record a failed sign-in" }));
}

/** Seen from where `user` is at home; an empty organization where that is nowhere. */
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
