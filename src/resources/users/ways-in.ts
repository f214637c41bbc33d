import { and, eq } from "drizzle-orm";
import type { WriteContext } from "../../context.ts";
import { revokeAllAccessTokens } from "../access-tokens/service.ts";
import { authorizationCodes } from "../client-authorizations/table.ts";
import { deviceCodes } from "../device/table.ts";
import { passwordResets } from "../password-reset/table.ts";
import { revokeSessions } from "../sessions/service.ts";
import { slackLinks } from "../slack/table.ts";
import { unlinkSlack } from "./slack-links.ts";

/** Number of each. */
export interface WaysIn {
  sessions: number;
  tokens: number;
  codes: number;
  slackLinks: number;
}

/**
 * Ends all sessions, access tokens, Slack links, approved device codes, unused client codes and emailed links of a
 * user, in every organization. Keeps the session `keptId`, and with `keepTokens` the access tokens and Slack links.
 */
export async function endEveryWayIn(
  tx: WriteContext,
  userId: string,
  { keptId = null, keepTokens = false }: { keptId?: string | null; keepTokens?: boolean } = {},
): Promise<WaysIn> {
  const tokens = keepTokens ? 0 : await revokeAllAccessTokens(tx, userId);
  const codes = await tx.db
    .update(deviceCodes)
    .set({ status: "denied" })
    .where(and(eq(deviceCodes.userId, userId), eq(deviceCodes.status, "approved")))
    .returning({ id: deviceCodes.id });
  await tx.db
    .delete(authorizationCodes)
    .where(and(eq(authorizationCodes.userId, userId), eq(authorizationCodes.status, "issued")));
  await tx.db.delete(passwordResets).where(eq(passwordResets.userId, userId));
  return {
    sessions: await revokeSessions(tx, { userId, keptId }),
    tokens,
    codes: codes.length,
    slackLinks: keepTokens ? 0 : await unlinkSlack(tx, eq(slackLinks.userId, userId)),
  };
}

/** Ends a user's access that is limited to the context's organization. */
export async function endWaysIntoOrganization(tx: WriteContext, userId: string): Promise<void> {
  await revokeAllAccessTokens(tx, userId, tx.organizationId);
  await revokeSessions(tx, { userId, keptId: null, organizationId: tx.organizationId });
  await tx.db
    .update(deviceCodes)
    .set({ status: "denied" })
    .where(
      and(
        eq(deviceCodes.userId, userId),
        eq(deviceCodes.organizationId, tx.organizationId),
        eq(deviceCodes.status, "approved"),
      ),
    );
  const isHere = eq(slackLinks.organizationId, tx.organizationId);
  await unlinkSlack(tx, and(isHere, eq(slackLinks.userId, userId)));
}
