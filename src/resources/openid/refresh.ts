import { and, asc, eq, lte, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { OpenIdProvider } from "../../base/openid.ts";
import { type App, contextFor, SYSTEM, write } from "../../context.ts";
import { findHome } from "../organizations/team.ts";
import { endSession, type SessionEnd } from "../sessions/service.ts";
import { type SessionRow, sessions } from "../sessions/table.ts";
import { refreshAfterMs } from "./service.ts";
import { openidIdentities, refreshLabel } from "./table.ts";

const BATCH = 10;
/** Until when one process may use it. A failed attempt is repeated after that. Longer than a provider may take. */
const LEASE_MS = 60_000;
/** After this time, an unreachable provider is no longer notified of a session's end. */
const REVOKE_WITHIN_MS = 60 * 60 * 1000;

/** Due tokens, with the provider's ID of the user. */
interface Due {
  session: SessionRow;
  issuer: string;
  subject: string;
}

/**
 * Uses due refresh tokens, and revokes those of ended sessions. Returns how many there were. A rejection ends the
 * session. An unreachable provider is tried again later. If the process ends between the provider's response and the
 * commit, the new token is lost, and the user signs in again.
 */
export async function keepGrants(app: App): Promise<number> {
  const due = await claimDue(app);
  await Promise.all(
    due.map((one) =>
      keep(app, one).catch((error: unknown) => {
        app.log.report(error, { at: "refresh a session", sessionId: one.session.id });
      }),
    ),
  );
  return due.length;
}

async function claimDue(app: App): Promise<Due[]> {
  const now = timestamp(app.clock);
  const found = await app.store.db
    .select({ session: sessions, issuer: openidIdentities.issuer, subject: openidIdentities.subject })
    .from(sessions)
    .innerJoin(openidIdentities, eq(openidIdentities.id, sessions.identityId))
    .where(and(sql`${sessions.refreshAt} is not null`, lte(sessions.refreshAt, now)))
    .orderBy(asc(sessions.refreshAt))
    .limit(BATCH);
  if (found.length === 0) return [];
  return app.store.write(async (db) => {
    const claimed: Due[] = [];
    for (const { session, ...known } of found) {
      const [row] = await db
        .update(sessions)
        .set({ refreshAt: timestamp(app.clock, LEASE_MS) })
        .where(and(eq(sessions.id, session.id), eq(sessions.refreshAt, session.refreshAt ?? "")))
        .returning();
      if (row) claimed.push({ session: row, ...known }); // Otherwise, another process has it.
    }
    return claimed;
  });
}

async function keep(app: App, { session, issuer, subject }: Due): Promise<void> {
  const provider = app.openid?.issuer === issuer ? app.openid : null;
  const sealed = session.sealedRefreshToken;
  if (sealed === null) return drop(app, session);
  const refreshToken = app.secrets.open(sealed, refreshLabel(session));
  const endedAt = session.revokedAt ?? session.expiresAt;
  if (endedAt <= timestamp(app.clock)) {
    const isTold = provider === null || (await revoke(app, provider, refreshToken, session.id));
    if (isTold || endedAt <= timestamp(app.clock, -REVOKE_WITHIN_MS)) await drop(app, session);
    return;
  }
  if (provider === null) return end(app, session, "provider_removed");

  const grant = await provider.refresh(refreshToken, subject).catch((error: unknown) => {
    app.log.write("warn", "session refresh failed; will retry", {
      sessionId: session.id,
      reason: reasonOf(error),
    });
    return undefined;
  });
  if (grant === undefined) return;
  if (grant === null) return end(app, session, "refresh_refused");
  const next = grant.refreshToken ?? refreshToken;
  const at = timestamp(app.clock);
  await app.store.write(async (db) => {
    await db
      .update(sessions)
      .set({
        sealedRefreshToken: app.secrets.seal(next, refreshLabel(session)),
        // If the session has ended in the meantime, this token is revoked.
        refreshAt: sql`case when ${sessions.revokedAt} is null then ${timestamp(app.clock, refreshAfterMs(grant))} else ${at} end`,
      })
      .where(eq(sessions.id, session.id));
  });
}

/** Returns false if another attempt may succeed. */
async function revoke(app: App, provider: OpenIdProvider, refreshToken: string, sessionId: string) {
  try {
    await provider.revoke(refreshToken);
    return true;
  } catch (error) {
    app.log.write("warn", "sign-out at the identity provider failed; will retry", {
      sessionId,
      reason: reasonOf(error),
    });
    return false;
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof Error ? reasonOf(error.cause ?? error.message) : String(error);

async function end(app: App, session: SessionRow, cause: SessionEnd): Promise<void> {
  const home = await findHome(app.store.db, session.userId);
  const { organizationId, role } = home ?? { organizationId: "", role: "viewer" as const };
  const ctx = contextFor(app, { organizationId, role, actor: SYSTEM, correlationId: app.ids.uuid() });
  await write(ctx, async (tx) => {
    const [row] = await tx.db.select().from(sessions).where(eq(sessions.id, session.id));
    if (row?.revokedAt === null) await endSession(tx, session.id, cause);
    await forget(tx.db, session.id);
  });
}

/** Nothing is left to refresh or revoke. */
const drop = (app: App, { id }: SessionRow): Promise<void> => app.store.write((db) => forget(db, id));

async function forget(db: Parameters<Parameters<App["store"]["write"]>[0]>[0], id: string): Promise<void> {
  await db.update(sessions).set({ sealedRefreshToken: null, refreshAt: null }).where(eq(sessions.id, id));
}
