import { eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { storedJson } from "../../base/json.ts";
import { within } from "../../base/within.ts";
import type { App, Context } from "../../context.ts";
import { hashToken, isWellFormed } from "../../crypto/tokens.ts";
import { redeem } from "../../oauth/client.ts";
import type { Facts } from "./begin.ts";
import { keepSignIn } from "./store.ts";
import { attemptLabel, catalogSignInAttempts } from "./table.ts";

export type Attempt = typeof catalogSignInAttempts.$inferSelect;

const WORK_MS = 20_000;

/**
 * Takes the attempt that `state` belongs to, so that it can't be used again.
 * Throws `bad_request` for an unknown or used state, `forbidden` for another user's, and `gone` after 10 minutes.
 */
export async function takeAttempt(app: App, states: readonly string[], userId: string): Promise<Attempt> {
  const again = "Start again on the page of the API.";
  const [state] = states;
  const [attempt] =
    states.length === 1 && state !== undefined && isWellFormed(state, "")
      ? await app.store.write((db) =>
          db
            .delete(catalogSignInAttempts)
            .where(eq(catalogSignInAttempts.stateHash, hashToken(state)))
            .returning(),
        )
      : [];
  if (!attempt) throw new AppError("bad_request", `Unknown sign-in, or it was already used. ${again}`);
  if (attempt.userId !== userId)
    throw new AppError("forbidden", `This sign-in was started by another user. ${again}`);
  if (attempt.expiresAt <= timestamp(app.clock))
    throw new AppError("gone", `This sign-in expired after 10 minutes. ${again}`);
  return attempt;
}

/** Redeems the authorization response and stores the tokens. Throws what `redeem` throws. */
export async function finishSignIn(ctx: Context, attempt: Attempt, answer: URLSearchParams): Promise<void> {
  const { url, sealedFacts } = attempt;
  const facts: Facts = storedJson(ctx.secrets.open(sealedFacts, attemptLabel(attempt)));
  const reach = { egress: ctx.egress, signal: within(WORK_MS, new URL(facts.server.issuer).host) };
  const checks = {
    redirectUri: facts.redirectUri,
    state: answer.get("state") ?? "",
    verifier: facts.verifier,
  };
  const tokens = await redeem(reach, facts, answer, checks);
  await keepSignIn(ctx, url, { ...facts, grantType: "authorization_code", facts, tokens });
}
