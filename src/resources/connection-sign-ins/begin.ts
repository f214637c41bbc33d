import { lt } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { type Context, write } from "../../context.ts";
import { hashToken, makeToken } from "../../crypto/tokens.ts";
import { signInAddress } from "../../oauth/sign-in.ts";
import { entity, findConnection } from "../connections/service.ts";
import {
  attemptLabel,
  SIGN_IN_CALLBACK,
  type SignInSettings,
  signInSettings,
} from "../connections/sign-in-store.ts";
import { type ConnectionRow, connectionSignInAttempts } from "../connections/table.ts";
import { record } from "../events/service.ts";
import type { ConnectionSignInStarted } from "./wire.ts";

/** Time a user has at the external system. */
const ATTEMPT_MS = 10 * 60 * 1000;
/** How long after that a sign-in is reported as expired. */
const EXPIRED_FOR_MS = 60 * 60 * 1000;

/** The data stored for a sign-in until the user returns. */
export interface Facts {
  hash: string;
  redirectUri: string;
  verifier: string | null;
}

export async function findSettings(
  ctx: Context,
  id: string,
): Promise<{ row: ConnectionRow; settings: SignInSettings }> {
  const row = await findConnection(ctx, id);
  const settings = signInSettings(ctx, row);
  if (settings === null)
    throw new AppError("invalid_state", `${row.name} doesn't need a sign-in: its credentials are complete.`);
  return { row, settings };
}

/**
 * Returns the URL for the user. `sessionId` is that of the requesting browser, null for a token.
 *
 * Throws `invalid_state` also for a disabled connection, and for an API key, which isn't a user.
 */
export async function beginSignIn(
  ctx: Context,
  id: string,
  sessionId: string | null,
): Promise<ConnectionSignInStarted> {
  const { row, settings } = await findSettings(ctx, id);
  if (row.status === "disabled")
    throw new AppError("invalid_state", `${row.name} is disabled. Reactivate it first.`);
  if (ctx.actor.type !== "user")
    throw new AppError(
      "invalid_state",
      "A user must sign in. Use a session or an access token, not an API key.",
    );
  const { terms, hash } = settings;
  const state = makeToken("", ctx.ids);
  const verifier = terms.pkce ? makeToken("", ctx.ids) : null;
  const redirectUri = ctx.baseUrl() + SIGN_IN_CALLBACK;
  const authorizationUrl = await signInAddress(terms, { redirectUri, state, verifier });
  const stateHash = hashToken(state);
  const expiresAt = timestamp(ctx.clock, ATTEMPT_MS);
  const facts: Facts = { hash, redirectUri, verifier };
  await write(ctx, async (tx) => {
    const { db, organizationId } = tx;
    const forgotten = lt(connectionSignInAttempts.expiresAt, timestamp(tx.clock, -EXPIRED_FOR_MS));
    await db.delete(connectionSignInAttempts).where(forgotten);
    await db.insert(connectionSignInAttempts).values({
      ...{ stateHash, organizationId, connectionId: row.id, userId: tx.actor.id, sessionId, expiresAt },
      sealedFacts: tx.secrets.seal(JSON.stringify(facts), attemptLabel({ stateHash })),
    });
    const { host } = new URL(terms.authorizeUrl);
    await record(tx, "connection.sign_in_started", entity(row.id), { host, scopes: [...terms.scopes] });
  });
  return { authorizationUrl, expiresAt, redirectUri, scopes: [...terms.scopes] };
}
