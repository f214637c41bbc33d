import { and, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { OAuthError } from "../../base/errors.ts";
import { type App, contextFor, write } from "../../context.ts";
import { hashToken } from "../../crypto/tokens.ts";
import { createAccessToken, revokeTokenOfOrganization } from "../access-tokens/service.ts";
import { memberships } from "../organizations/table.ts";
import type { Visitor } from "../sign-in/setup.ts";
import { users } from "../users/table.ts";
import { type AuthorizationCodeRow, authorizationCodes } from "./table.ts";

const TOKEN_DAYS = 30;

interface Grant {
  token: string;
  scope: string;
  expiresInSeconds: number;
}

/**
 * Exchanges a code for an access token, once. A code that comes a second time was read by somebody else: then the token
 * that it gave ends too. Throws `OAuthError` (`invalid_grant`).
 */
export async function redeemCode(
  app: App,
  given: { code: string; clientId: string; redirectUri: string; verifier: string },
  visitor: Visitor,
): Promise<Grant> {
  const [row] = await app.store.db
    .select()
    .from(authorizationCodes)
    .where(eq(authorizationCodes.codeHash, hashToken(given.code)));
  if (!row) throw notGranted();
  const person = await personOf(app, row);
  const ctx = contextFor(app, {
    organizationId: row.organizationId,
    role: person.role,
    actor: {
      type: "user",
      id: row.userId,
      email: person.email,
      ip: visitor.ip,
      userAgent: visitor.userAgent,
    },
    correlationId: visitor.correlationId,
  });
  const grant = await write(ctx, async (tx) => {
    const [now] = await tx.db.select().from(authorizationCodes).where(eq(authorizationCodes.id, row.id));
    if (!now || !fits(now, given)) return null;
    if (now.status === "spent") {
      if (now.tokenId !== null) await revokeTokenOfOrganization(tx, now.tokenId);
      return null;
    }
    if (now.expiresAt <= timestamp(tx.clock)) return null;
    const { row: made, token } = await createAccessToken(tx, {
      name: `MCP client: ${now.clientName}`,
      expiresInDays: TOKEN_DAYS,
      organizations: "current",
      scopes: now.scopes,
      latest: now.endsAt,
    });
    const spent = { status: "spent" as const, tokenId: made.id };
    await tx.db.update(authorizationCodes).set(spent).where(eq(authorizationCodes.id, now.id));
    const lifetimeMs = Date.parse(made.expiresAt) - Date.parse(made.createdAt);
    return { token, scope: now.scopes.join(" "), expiresInSeconds: Math.floor(lifetimeMs / 1000) };
  });
  if (grant === null) throw notGranted();
  return grant;
}

const notGranted = () =>
  new OAuthError("invalid_grant", "The code is unknown, expired, used, or was issued to another client.");

function fits(
  row: AuthorizationCodeRow,
  given: { clientId: string; redirectUri: string; verifier: string },
): boolean {
  const challenge = new Bun.CryptoHasher("sha256").update(given.verifier).digest("base64url");
  return (
    row.clientId === given.clientId && row.redirectUri === given.redirectUri && row.challenge === challenge
  );
}

async function personOf(app: App, { userId, organizationId }: AuthorizationCodeRow) {
  const [person] = await app.store.db
    .select({ role: memberships.role, email: users.email })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.userId, userId), eq(memberships.organizationId, organizationId)));
  if (!person) throw new OAuthError("invalid_grant", "The person who approved has left the organization.");
  return person;
}
