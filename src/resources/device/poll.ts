import { and, eq } from "drizzle-orm";
import { sourceOf } from "../../base/cidr.ts";
import { timestamp } from "../../base/clock.ts";
import { AppError, OAuthError } from "../../base/errors.ts";
import { ADDRESS_RATE } from "../../base/limit.ts";
import { readCliAgent } from "../../base/user-agent.ts";
import { type App, contextFor, write } from "../../context.ts";
import { hashToken } from "../../crypto/tokens.ts";
import { memberships } from "../organizations/table.ts";
import { openSession } from "../sessions/service.ts";
import type { Visitor } from "../sign-in/setup.ts";
import { users } from "../users/table.ts";
import { type DeviceCodeRow, deviceCodes } from "./table.ts";

/** Seconds that `slow_down` adds permanently (RFC 8628, section 3.5). */
const SLOWER_SECONDS = 5;
/** Timers can fire slightly early, so a client that keeps to its interval isn't told to slow down. */
const EARLY_MS = 200;

/**
 * Returns the client's access token, once, after the user has approved.
 * Otherwise throws `OAuthError`, and `rate_limited` for an address that polls too fast or for unknown codes.
 */
export async function pollForToken(
  app: App,
  { deviceCode, clientId }: { deviceCode: string; clientId: string },
  visitor: Visitor,
): Promise<{ token: string; expiresInSeconds: number }> {
  const isCrowded = countPoll(app, visitor);
  const [row] = await app.store.db
    .select()
    .from(deviceCodes)
    .where(eq(deviceCodes.deviceCodeHash, hashToken(deviceCode)));
  // The interval allows twelve polls a minute. Only other polls count against the address's limit.
  if (isCrowded !== null && !(row && isInTime(app, row))) throw isCrowded;
  if (!row || row.clientId !== clientId || row.status === "spent") throw notGranted();
  if (row.expiresAt <= timestamp(app.clock)) {
    throw new OAuthError("expired_token", "The code has expired. Request a new one.");
  }
  if (row.status === "denied") throw new OAuthError("access_denied", "The user denied the request.");
  if (row.status === "pending") throw await stillPending(app, row.id);
  return redeem(app, row, visitor);
}

const notGranted = () =>
  new OAuthError("invalid_grant", "Unknown code for this client, or its token was already issued.");

/** Returns the error for an address that has used up its polls. Null for others. */
function countPoll(app: App, { ip }: Visitor): AppError | null {
  const { retryAfterSeconds } = app.limiter.take(`poll:${sourceOf(ip ?? "unknown")}`, ADDRESS_RATE);
  if (retryAfterSeconds === 0) return null;
  return new AppError(
    "rate_limited",
    `Too many requests from this IP address. Try again in ${retryAfterSeconds} seconds.`,
    {
      retryAfterSeconds,
    },
  );
}

const isInTime = (app: App, { lastPolledAt, intervalSeconds }: DeviceCodeRow): boolean =>
  lastPolledAt === null ||
  app.clock.now().getTime() - Date.parse(lastPolledAt) >= intervalSeconds * 1000 - EARLY_MS;

/** Records the poll. One that is too early increases the interval. */
function stillPending(app: App, id: string): Promise<OAuthError> {
  return app.store.write(async (db) => {
    const [row] = await db.select().from(deviceCodes).where(eq(deviceCodes.id, id));
    if (!row) return notGranted();
    const isEarly = !isInTime(app, row);
    const intervalSeconds = row.intervalSeconds + (isEarly ? SLOWER_SECONDS : 0);
    const noted = { lastPolledAt: timestamp(app.clock), intervalSeconds };
    await db.update(deviceCodes).set(noted).where(eq(deviceCodes.id, id));
    return isEarly
      ? new OAuthError("slow_down", `Slow down: wait ${intervalSeconds} seconds between requests.`)
      : new OAuthError("authorization_pending", "Authorization pending.");
  });
}

/** Creates only one session per approval: of two simultaneous polls, the second finds the code already used. */
async function redeem(
  app: App,
  row: DeviceCodeRow,
  { correlationId, ip, userAgent }: Visitor,
): Promise<{ token: string; expiresInSeconds: number }> {
  const { userId, organizationId } = row;
  const [person] = await app.store.db
    .select({ role: memberships.role, email: users.email })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.userId, userId ?? ""), eq(memberships.organizationId, organizationId ?? "")));
  if (!person || userId === null || organizationId === null) {
    throw new OAuthError("access_denied", "The user who approved has left the organization.");
  }
  const ctx = contextFor(app, {
    organizationId,
    role: person.role,
    actor: { type: "user", id: userId, email: person.email, ip, userAgent },
    correlationId,
  });
  return write(ctx, async (tx) => {
    const spent = await tx.db
      .update(deviceCodes)
      .set({ status: "spent" })
      .where(and(eq(deviceCodes.id, row.id), eq(deviceCodes.status, "approved")))
      .returning({ id: deviceCodes.id });
    if (spent.length === 0) throw notGranted();
    const client = { clientType: "cli" as const, organizationId, ...readCliAgent(userAgent ?? null) };
    const { row: session, token } = await openSession(tx, "device", {
      ...client,
      isConfined: row.isConfined,
      endsAt: row.endsAt,
    });
    const lifetimeMs = Date.parse(session.expiresAt) - Date.parse(session.createdAt);
    return { token, expiresInSeconds: Math.floor(lifetimeMs / 1000) };
  });
}
