import { eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { OAuthError } from "../../base/errors.ts";
import { type App, write } from "../../context.ts";
import { hashToken } from "../../crypto/tokens.ts";
import type { Visitor } from "../sign-in/setup.ts";
import { contextOfApproval, endFamily, type Grant, grantAccess } from "./grants.ts";
import { type AuthorizationCodeRow, authorizationCodes } from "./table.ts";

/** After this time, the user must approve again, however often the client renews its token. */
const APPROVAL_MS = 90 * 24 * 60 * 60 * 1000;

/**
 * Exchanges a code for an access token and a refresh token, once.
 * A code that is used twice was stolen, so all tokens it led to are revoked. Throws `OAuthError` (`invalid_grant`).
 */
export async function redeemCode(
  app: App,
  request: { code: string; clientId: string; redirectUri: string; verifier: string },
  visitor: Visitor,
): Promise<Grant> {
  const [row] = await app.store.db
    .select()
    .from(authorizationCodes)
    .where(eq(authorizationCodes.codeHash, hashToken(request.code)));
  if (!row) throw notGranted();
  const ctx = await contextOfApproval(app, row, visitor);
  const grant = await write(ctx, async (tx) => {
    const [now] = await tx.db.select().from(authorizationCodes).where(eq(authorizationCodes.id, row.id));
    if (!now || !fits(now, request)) return null;
    if (now.status === "spent") {
      await endFamily(tx, now.id);
      return null;
    }
    if (now.expiresAt <= timestamp(tx.clock)) return null;
    const { clientId, clientName, scopes, userId, organizationId } = now;
    const last = timestamp(tx.clock, APPROVAL_MS);
    const endsAt = now.endsAt !== null && now.endsAt < last ? now.endsAt : last;
    const approval = { familyId: now.id, clientId, clientName, scopes, userId, organizationId, endsAt };
    const { tokenId, ...granted } = await grantAccess(tx, approval);
    await tx.db
      .update(authorizationCodes)
      .set({ status: "spent", tokenId })
      .where(eq(authorizationCodes.id, now.id));
    return granted;
  });
  if (grant === null) throw notGranted();
  return grant;
}

const notGranted = () =>
  new OAuthError("invalid_grant", "The code is unknown, expired, used, or was issued to another client.");

function fits(
  row: AuthorizationCodeRow,
  request: { clientId: string; redirectUri: string; verifier: string },
): boolean {
  const challenge = new Bun.CryptoHasher("sha256").update(request.verifier).digest("base64url");
  return (
    row.clientId === request.clientId &&
    row.redirectUri === request.redirectUri &&
    row.challenge === challenge
  );
}
