import { eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { OAuthError } from "../../base/errors.ts";
import { type App, type WriteContext, write } from "../../context.ts";
import { hashToken } from "../../crypto/tokens.ts";
import { revokeTokenOfOrganization } from "../access-tokens/service.ts";
import { accessTokens } from "../access-tokens/table.ts";
import type { Visitor } from "../sign-in/setup.ts";
import { contextOfApproval, endFamily, type Grant, grantAccess } from "./grants.ts";
import { type ClientScope, type RefreshTokenRow, refreshTokens } from "./table.ts";

/**
 * Exchanges a refresh token for a new access token and the next refresh token, once (RFC 9700, section 4.14). One that
 * is used twice was stolen, so everything from the same approval is revoked. One whose access token a user has revoked
 * is rejected. Throws `OAuthError` (`invalid_grant`, `invalid_scope`).
 */
export async function refreshAccess(
  app: App,
  request: { refreshToken: string; clientId: string; scope?: string | undefined },
  visitor: Visitor,
): Promise<Grant> {
  const [row] = await app.store.db
    .select()
    .from(refreshTokens)
    .where(eq(refreshTokens.tokenHash, hashToken(request.refreshToken)));
  if (!row || row.clientId !== request.clientId) throw notGranted();
  const scopes = scopesOf(row, request.scope);
  const ctx = await contextOfApproval(app, row, visitor);
  const grant = await write(ctx, async (tx) => {
    const [now] = await tx.db.select().from(refreshTokens).where(eq(refreshTokens.id, row.id));
    if (now?.status === "spent") await endFamily(tx, now.familyId);
    if (now?.status !== "issued" || now.expiresAt <= timestamp(tx.clock)) return null;
    if (await isRevoked(tx, now.tokenId)) return null;
    await revokeTokenOfOrganization(tx, now.tokenId);
    await tx.db.update(refreshTokens).set({ status: "spent" }).where(eq(refreshTokens.id, now.id));
    const { familyId, clientId, clientName, userId, organizationId, endsAt } = now;
    const approval = { familyId, clientId, clientName, userId, organizationId, endsAt, scopes: now.scopes };
    const { tokenId: _, ...granted } = await grantAccess(tx, approval, scopes);
    return granted;
  });
  if (grant === null) throw notGranted();
  return grant;
}

/** Limits the scopes to those that the client requests. */
function scopesOf({ scopes }: RefreshTokenRow, requestedScope: string | undefined): ClientScope[] {
  const wanted = requestedScope === undefined ? scopes : requestedScope.split(" ").filter(Boolean);
  if (wanted.some((scope) => !scopes.some((one) => one === scope)))
    throw new OAuthError("invalid_scope", `scope: The person approved ${scopes.join(" ")} only.`);
  return scopes.filter((scope) => wanted.includes(scope));
}

async function isRevoked(tx: WriteContext, tokenId: string): Promise<boolean> {
  const [token] = await tx.db
    .select({ revokedAt: accessTokens.revokedAt })
    .from(accessTokens)
    .where(eq(accessTokens.id, tokenId));
  return token === undefined || token.revokedAt !== null;
}

const notGranted = () =>
  new OAuthError(
    "invalid_grant",
    "The refresh token is unknown, expired, revoked, used, or was issued to another client.",
  );
