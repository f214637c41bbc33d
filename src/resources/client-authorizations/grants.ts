import { and, eq, ne } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { OAuthError } from "../../base/errors.ts";
import { type App, type Context, contextFor, type WriteContext } from "../../context.ts";
import { hashToken, makeToken } from "../../crypto/tokens.ts";
import { createAccessToken, revokeTokenOfOrganization } from "../access-tokens/service.ts";
import { memberships } from "../organizations/table.ts";
import type { Visitor } from "../sign-in/setup.ts";
import { users } from "../users/table.ts";
import { type ClientScope, refreshTokens } from "./table.ts";

const ACCESS_DAYS = 1;
/** Counted from the last refresh. */
const REFRESH_MS = 30 * 24 * 60 * 60 * 1000;

export interface Grant {
  token: string;
  refreshToken: string;
  scope: string;
  expiresInSeconds: number;
}

/** The user whose access a client has, and the organization. */
export interface Approval {
  /** Shared by all refresh tokens of one chain: the ID of the code that it began with. */
  familyId: string;
  clientId: string;
  clientName: string;
  scopes: ClientScope[];
  userId: string;
  organizationId: string;
  /** When everything in the family expires. */
  endsAt: string;
}

/**
 * Returns a context of the user who approved, as far as they still have access. Throws `OAuthError` (`invalid_grant`).
 */
export async function contextOfApproval(
  app: App,
  { userId, organizationId }: Pick<Approval, "userId" | "organizationId">,
  visitor: Visitor,
): Promise<Context> {
  const [person] = await app.store.db
    .select({ role: memberships.role, email: users.email })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.userId, userId), eq(memberships.organizationId, organizationId)));
  if (!person) throw new OAuthError("invalid_grant", "The person who approved has left the organization.");
  const { ip, userAgent, correlationId } = visitor;
  const actor = { type: "user", id: userId, email: person.email, ip, userAgent } as const;
  return contextFor(app, { organizationId, role: person.role, actor, correlationId });
}

/** Creates an access token with these scopes, and the refresh token for the next one. */
export async function grantAccess(
  tx: WriteContext,
  approval: Approval,
  scopes: readonly ClientScope[] = approval.scopes,
): Promise<Grant & { tokenId: string }> {
  const { row, token } = await createAccessToken(tx, {
    name: `MCP client: ${approval.clientName}`,
    expiresInDays: ACCESS_DAYS,
    organizations: "current",
    scopes,
    latest: approval.endsAt,
  });
  const refreshToken = makeToken("", tx.ids);
  const idleUntil = timestamp(tx.clock, REFRESH_MS);
  const { endsAt } = approval;
  await tx.db.insert(refreshTokens).values({
    ...approval,
    id: tx.ids.uuid(),
    tokenHash: hashToken(refreshToken),
    status: "issued",
    tokenId: row.id,
    expiresAt: [endsAt, idleUntil].sort()[0] ?? endsAt,
  });
  const lifetimeMs = Date.parse(row.expiresAt) - Date.parse(row.createdAt);
  return {
    tokenId: row.id,
    token,
    refreshToken,
    scope: scopes.join(" "),
    expiresInSeconds: Math.floor(lifetimeMs / 1000),
  };
}

/** Revokes everything that a code led to: its refresh tokens, and the remaining access tokens. */
export async function endFamily(tx: WriteContext, familyId: string): Promise<void> {
  const rows = await tx.db.select().from(refreshTokens).where(eq(refreshTokens.familyId, familyId));
  for (const { tokenId } of rows) await revokeTokenOfOrganization(tx, tokenId);
  await tx.db
    .update(refreshTokens)
    .set({ status: "ended" })
    .where(and(eq(refreshTokens.familyId, familyId), ne(refreshTokens.status, "ended")));
}
