import { and, eq, gt, isNull, or } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { type App, type Context, contextFor, type WriteContext } from "../../context.ts";
import { hashToken, isWellFormed, makeToken } from "../../crypto/tokens.ts";
import { version } from "../../version.ts";
import { organizations } from "../organizations/table.ts";
import { type DashboardRow, dashboards, shareLabel } from "./table.ts";

const PREFIX = "d_";

/** Returns a new token as stored: its hash to find it, and its ciphertext to show it again. */
export function newShare(tx: WriteContext, id: string) {
  const token = makeToken(PREFIX, tx.ids);
  const label = shareLabel({ id, organizationId: tx.organizationId });
  return { shareHash: hashToken(token), sealedShareToken: tx.secrets.seal(token, label) };
}

/** Returns the URL of the link. Null if there is none. */
export const shareUrlOf = (app: App, row: DashboardRow): string | null =>
  row.sealedShareToken === null
    ? null
    : `${app.baseUrl()}/d/${app.secrets.open(row.sealedShareToken, shareLabel(row))}`;

/**
 * Returns the dashboard of a link, and a context that reads its organization's data for the viewer. Throws `not_found`,
 * with the same message for every cause.
 */
export async function findShared(
  app: App,
  token: string,
  { address, correlationId }: { address: string; correlationId: string },
): Promise<{ ctx: Context; dashboard: DashboardRow }> {
  const [found] = isWellFormed(token, PREFIX)
    ? await app.store.db
        .select({ dashboard: dashboards })
        .from(dashboards)
        .innerJoin(organizations, eq(organizations.id, dashboards.organizationId))
        .where(
          and(
            eq(dashboards.shareHash, hashToken(token)),
            isNull(organizations.removedAt),
            or(isNull(dashboards.shareExpiresAt), gt(dashboards.shareExpiresAt, timestamp(app.clock))),
          ),
        )
    : [];
  if (!found) throw new AppError("not_found", "This link doesn't exist, has expired or was revoked.");
  const { organizationId } = found.dashboard;
  const actor = { type: "system", id: "dashboard", process: "weir", version, ip: address } as const;
  const ctx = contextFor(app, { organizationId, role: "viewer", actor, correlationId });
  return { ctx, dashboard: found.dashboard };
}
