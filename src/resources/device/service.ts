import { eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { type App, type Context, write } from "../../context.ts";
import { hashToken, makeToken } from "../../crypto/tokens.ts";
import { requireAllScopes } from "../access-tokens/scopes.ts";
import { record } from "../events/service.ts";
import { hasUsers, type Visitor } from "../sign-in/setup.ts";
import { makeUserCode, readUserCode, showUserCode } from "./codes.ts";
import { type DeviceCodeRow, deviceCodes } from "./table.ts";

/** How long a code is valid, and how often a client can poll; in seconds. */
export const CODE_SECONDS = 900;
export const INTERVAL_SECONDS = 5;

/** Limit per user across all addresses, so that guessing codes stays slow for users with many addresses. */
const PERSON_RATE = { perMinute: 10, burst: 20 };

/** Creates two codes for a client that wants to sign in, valid for 15 minutes. Only their hashes are stored. */
export async function requestCodes(
  app: App,
  clientId: string,
  { ip, userAgent }: Visitor,
): Promise<{ deviceCode: string; userCode: string }> {
  if (!(await hasUsers(app.store)))
    throw new AppError("forbidden", "Weir isn't set up yet, so devices can't be authorized.");
  const deviceCode = makeToken("", app.ids);
  const userCode = makeUserCode(app.ids);
  const row: DeviceCodeRow = {
    id: app.ids.uuid(),
    deviceCodeHash: hashToken(deviceCode),
    userCodeHash: hashToken(userCode),
    clientId,
    ipAddress: ip ?? null,
    userAgent: userAgent ?? null,
    status: "pending",
    intervalSeconds: INTERVAL_SECONDS,
    lastPolledAt: null,
    userId: null,
    organizationId: null,
    isConfined: false,
    endsAt: null,
    createdAt: timestamp(app.clock),
    expiresAt: timestamp(app.clock, CODE_SECONDS * 1000),
  };
  await app.store.write(async (db) => void (await db.insert(deviceCodes).values(row)));
  return { deviceCode, userCode: showUserCode(userCode) };
}

/**
 * Returns the client that waits for the typed code, and the formatted code.
 * Throws `not_found`, `gone` after 15 minutes, `invalid_state` if it was decided, `rate_limited`.
 */
export async function findWaiting(
  ctx: Context,
  typed: string,
): Promise<{ row: DeviceCodeRow; code: string }> {
  const { retryAfterSeconds } = ctx.limiter.take(`device:${ctx.actor.id}`, PERSON_RATE);
  if (retryAfterSeconds > 0) {
    throw new AppError("rate_limited", `Too many attempts. Try again in ${retryAfterSeconds} seconds.`, {
      retryAfterSeconds,
    });
  }
  const code = readUserCode(typed);
  const [row] = code
    ? await ctx.db
        .select()
        .from(deviceCodes)
        .where(eq(deviceCodes.userCodeHash, hashToken(code)))
    : [];
  if (!code || !row) {
    throw new AppError("not_found", "Unknown code. Check it and try again.");
  }
  if (row.expiresAt <= timestamp(ctx.clock)) {
    throw new AppError("gone", "This code has expired. Start the sign-in on the device again.");
  }
  if (row.status !== "pending") {
    throw new AppError("invalid_state", "This code was already used. Start the sign-in on the device again.");
  }
  return { row, code: showUserCode(code) };
}

/**
 * Approves or denies the client that waits with `userCode`, for the current user and the request's organization.
 * Its session ends by `latest`. Throws as `findWaiting` does, and `forbidden` for a user without an organization.
 */
export function decide(
  ctx: Context,
  { userCode, approve, latest }: { userCode: string; approve: boolean; latest: string | null },
): Promise<void> {
  return write(ctx, async (tx) => {
    const { row } = await findWaiting(tx, userCode);
    if (approve) requireAllScopes(tx);
    if (approve && !tx.organizationId) {
      throw new AppError(
        "forbidden",
        "Devices are authorized for an organization, and you aren't a member of any.",
      );
    }
    const decided = approve
      ? {
          status: "approved" as const,
          userId: tx.actor.id,
          organizationId: tx.organizationId,
          isConfined: tx.isConfined === true,
          endsAt: latest,
        }
      : { status: "denied" as const, userId: tx.actor.id };
    await tx.db.update(deviceCodes).set(decided).where(eq(deviceCodes.id, row.id));
    if (!tx.organizationId) return;
    const data = { clientId: row.clientId, ipAddress: row.ipAddress };
    await record(
      tx,
      approve ? "auth.device_approved" : "auth.device_denied",
      { type: "device_code", id: row.id },
      data,
    );
  });
}
