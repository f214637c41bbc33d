import { eq } from "drizzle-orm";
import { withBase } from "../../base/base-path.ts";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { OpenIdGrant } from "../../base/openid.ts";
import { basePathOf } from "../../config.ts";
import { type App, contextFor, type WriteContext, write } from "../../context.ts";
import { openSession } from "../sessions/service.ts";
import { sessions } from "../sessions/table.ts";
import type { Visitor } from "../sign-in/setup.ts";
import { providerOf, takeAttempt } from "./attempts.ts";
import { recognize } from "./people.ts";
import { refreshLabel } from "./table.ts";

/**
 * Completes a sign-in with the provider's response: returns a new session, and where to go, which is the page of
 * pending invitations if there are any.
 *
 * Throws what `takeAttempt`, the provider's `exchange` and `recognize` throw.
 */
export async function finishSignIn(
  app: App,
  { answer, browser }: { answer: URLSearchParams; browser: string | null },
  { correlationId, ip, userAgent }: Visitor,
): Promise<{ token: string; returnTo: string }> {
  const provider = providerOf(app);
  const { checks, returnTo } = await takeAttempt(app, { state: answer.get("state") ?? undefined, browser });
  const where = { correlationId, address: ip };
  const { profile, grant } = await provider.exchange(answer, checks).catch((error: unknown) => {
    reportFailure(app, error, where);
    throw error;
  });
  const nobodyYet = contextFor(app, {
    organizationId: "",
    role: "viewer",
    actor: { type: "user", id: "", ip, userAgent },
    correlationId,
  });
  const { token, isInvited } = await write(nobodyYet, async (tx) => {
    const { identity, acting, isInvited } = await recognize(tx, provider, profile);
    const { row, token } = await openSession(acting, "oidc", { identityId: identity.id });
    await keepGrant(tx, row.id, grant);
    return { token, isInvited };
  }).catch(async (error: unknown) => {
    reportFailure(app, error, where);
    if (grant.refreshToken !== null) {
      await provider
        .revoke(grant.refreshToken)
        .catch((failure: unknown) => reportFailure(app, failure, where));
    }
    throw error;
  });
  const page = withBase(basePathOf(app.config), "/invitations");
  const asks = `${page}?return_to=${encodeURIComponent(returnTo)}`;
  return { token, returnTo: isInvited ? asks : returnTo };
}

/** Logs what the provider or a user did wrong, for the operator. The public message says less. */
export function reportFailure(app: App, error: unknown, fields: Readonly<Record<string, unknown>>): void {
  if (!(error instanceof AppError)) return;
  const reason = error.cause instanceof Error ? error.cause.message : error.message;
  app.log.write("warn", "single sign-on failed", {
    ...fields,
    code: error.code,
    reason,
  });
}

/** A refresh begins at most this long before the access token expires. */
const AHEAD_SECONDS = 60;
/** Minimum pause, for a provider whose tokens are valid for only seconds. */
const MIN_REFRESH_SECONDS = 10;

/** When the refresh is due: a minute before the access token expires, or after three quarters of a short-lived one. */
export const refreshAfterMs = ({ expiresInSeconds }: OpenIdGrant): number =>
  Math.max(MIN_REFRESH_SECONDS, expiresInSeconds - Math.min(AHEAD_SECONDS, expiresInSeconds / 4)) * 1000;

async function keepGrant(tx: WriteContext, sessionId: string, grant: OpenIdGrant): Promise<void> {
  if (grant.refreshToken === null) return;
  await tx.db
    .update(sessions)
    .set({
      sealedRefreshToken: tx.secrets.seal(grant.refreshToken, refreshLabel({ id: sessionId })),
      refreshAt: timestamp(tx.clock, refreshAfterMs(grant)),
    })
    .where(eq(sessions.id, sessionId));
}
