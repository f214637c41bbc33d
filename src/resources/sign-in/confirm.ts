import { eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, invalid } from "../../base/errors.ts";
import { type Context, write } from "../../context.ts";
import { endTotp, hasSecondFactor } from "../second-factor/service.ts";
import { sessions } from "../sessions/table.ts";
import { findMe } from "../users/service.ts";
import { isCodeOf, isPasswordOf, trierOf } from "./tries.ts";

/** Shows that a signed-in user is still there. Either field is enough. */
interface Proof {
  password?: string;
  code?: string;
}

/** Confirms the current user's session as a sign-in would. Throws as `prove` does. */
export async function confirmSession(ctx: Context, proof: Proof, sessionId: string): Promise<void> {
  await prove(ctx, proof);
  await write(ctx, async (tx) => {
    await tx.db
      .update(sessions)
      .set({ confirmedAt: timestamp(tx.clock) })
      .where(eq(sessions.id, sessionId));
  });
}

/** Turns off the current user's second factor. Throws `invalid_state` if it isn't on, and as `prove` does. */
export async function endSecondFactor(ctx: Context, proof: Proof): Promise<void> {
  const isOff = () => new AppError("invalid_state", "The second factor is not on.");
  if (!(await hasSecondFactor(ctx.db, ctx.actor.id))) throw isOff();
  await prove(ctx, proof);
  await write(ctx, async (tx) => {
    if (!(await endTotp(tx, tx.actor.id))) throw isOff();
  });
}

/**
 * Throws `unauthenticated` for a wrong password or code, `invalid_state` for a user who has neither, `invalid`,
 * `rate_limited`.
 */
async function prove(ctx: Context, { password, code }: Proof): Promise<void> {
  if ((password === undefined) === (code === undefined))
    throw invalid(["body"], "Set either password or code", "one_of");
  const user = await findMe(ctx);
  if (user.passwordHash === null && !(await hasSecondFactor(ctx.db, user.id))) {
    throw new AppError(
      "invalid_state",
      "You have no password and no second factor here. Sign in again with your identity provider.",
    );
  }
  const trier = trierOf(ctx);
  if (password !== undefined) {
    if (await isPasswordOf(ctx, { email: user.email, user, password }, trier)) return;
    throw new AppError("unauthenticated", "Incorrect password.");
  }
  if (await isCodeOf(ctx, user, code ?? "", trier)) return;
  throw new AppError("unauthenticated", "Incorrect code, or it was already used.");
}
