import { and, eq, isNotNull, isNull, lt } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, invalid } from "../../base/errors.ts";
import { type App, type Context, type WriteContext, write } from "../../context.ts";
import { hashToken } from "../../crypto/tokens.ts";
import { base32, counterOf } from "../../crypto/totp.ts";
import type { ReadDb } from "../../store/store.ts";
import { record } from "../events/service.ts";
import { findMe } from "../users/service.ts";
import { recoveryCodes, secondFactors, totpLabel } from "./table.ts";

/** As RFC 4226 recommends for HMAC-SHA-1. */
const SECRET_BYTES = 20;
const RECOVERY_CODES = 10;
/** Maximum number of attempts to confirm a new app. */
const CONFIRM_RATE = { perMinute: 5, burst: 10 };

const findFactor = async (db: ReadDb, userId: string) =>
  (await db.select().from(secondFactors).where(eq(secondFactors.userId, userId)))[0] ?? null;

/** Returns whether the user needs more than the password to sign in. */
export const hasSecondFactor = async (db: ReadDb, userId: string): Promise<boolean> =>
  (await findFactor(db, userId))?.confirmedAt != null;

/** Returns whether the current user has a second factor, and the number of unused recovery codes. */
export async function findTotp(ctx: Context): Promise<{ isOn: boolean; recoveryCodesLeft: number }> {
  const userId = ctx.actor.id;
  if (!(await hasSecondFactor(ctx.db, userId))) return { isOn: false, recoveryCodesLeft: 0 };
  const unused = and(eq(recoveryCodes.userId, userId), isNull(recoveryCodes.usedAt));
  return { isOn: true, recoveryCodesLeft: await ctx.db.$count(recoveryCodes, unused) };
}

/** Generates a secret for the current user's app, replacing one not yet confirmed. Throws `invalid_state`. */
export function beginTotp(ctx: Context): Promise<{ secret: string; otpauthUrl: string }> {
  const bytes = ctx.ids.bytes(SECRET_BYTES);
  const secret = base32(bytes);
  return write(ctx, async (tx) => {
    const { id: userId, email } = await findMe(tx);
    if (await hasSecondFactor(tx.db, userId)) throw isOn();
    const sealedSecret = tx.secrets.seal(Buffer.from(bytes).toString("base64"), totpLabel({ userId }));
    const set = { sealedSecret, createdAt: timestamp(tx.clock), confirmedAt: null, lastStep: 0 };
    await tx.db
      .insert(secondFactors)
      .values({ userId, ...set })
      .onConflictDoUpdate({ target: secondFactors.userId, set });
    const query = new URLSearchParams({
      secret,
      issuer: "Weir",
      algorithm: "SHA1",
      digits: "6",
      period: "30",
    });
    return { secret, otpauthUrl: `otpauth://totp/Weir:${encodeURIComponent(email)}?${query}` };
  });
}

/**
 * Turns the second factor on with the app's first code. Returns the recovery codes. Throws `invalid` for a wrong code,
 * `invalid_state`, `rate_limited`.
 */
export async function confirmTotp(ctx: Context, code: string): Promise<string[]> {
  const { retryAfterSeconds } = ctx.limiter.take(`totp:${ctx.actor.id}`, CONFIRM_RATE);
  if (retryAfterSeconds > 0)
    throw new AppError("rate_limited", `Too many attempts. Try again in ${retryAfterSeconds} seconds.`, {
      retryAfterSeconds,
    });
  const codes = Array.from({ length: RECOVERY_CODES }, () => recoveryCode(ctx));
  await write(ctx, async (tx) => {
    const userId = tx.actor.id;
    const factor = await findFactor(tx.db, userId);
    if (!factor)
      throw new AppError(
        "invalid_state",
        "No authenticator secret yet. Create one with POST /api/v1/users/me/totp.",
      );
    if (factor.confirmedAt !== null) throw isOn();
    const step = counterOf(secretOf(tx, factor), spaceless(code), tx.clock.now().getTime());
    if (step === null) {
      throw invalid(["body", "code"], "Incorrect code. Enter the one that the app shows now", "code_wrong");
    }
    await tx.db
      .update(secondFactors)
      .set({ confirmedAt: timestamp(tx.clock), lastStep: step })
      .where(eq(secondFactors.userId, userId));
    await tx.db.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId));
    const rows = codes.map((each) => ({ userId, codeHash: hashToken(each), usedAt: null }));
    await tx.db.insert(recoveryCodes).values(rows);
    await recordSwitch(tx, userId, "off", "on");
  });
  return codes;
}

/** Accepts a valid code of the user's app, or a recovery code, once. */
export function takeCode(ctx: Context, userId: string, code: string): Promise<boolean> {
  return write(ctx, async (tx) => {
    const factor = await findFactor(tx.db, userId);
    if (factor?.confirmedAt == null) return false;
    const digits = spaceless(code).toLowerCase();
    const step = counterOf(secretOf(tx, factor), digits, tx.clock.now().getTime());
    const taken =
      step === null
        ? await tx.db
            .update(recoveryCodes)
            .set({ usedAt: timestamp(tx.clock) })
            .where(
              and(
                eq(recoveryCodes.userId, userId),
                eq(recoveryCodes.codeHash, hashToken(grouped(digits))),
                isNull(recoveryCodes.usedAt),
              ),
            )
            .returning({ userId: recoveryCodes.userId })
        : await tx.db
            .update(secondFactors)
            .set({ lastStep: step })
            .where(and(eq(secondFactors.userId, userId), lt(secondFactors.lastStep, step)))
            .returning({ userId: secondFactors.userId });
    return taken.length > 0;
  });
}

/** Turns the second factor off. Returns false if it wasn't on. */
export async function endTotp(tx: WriteContext, userId: string): Promise<boolean> {
  const ended = await tx.db
    .delete(secondFactors)
    .where(and(eq(secondFactors.userId, userId), isNotNull(secondFactors.confirmedAt)))
    .returning({ userId: secondFactors.userId });
  if (ended.length === 0) return false;
  await tx.db.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId));
  await recordSwitch(tx, userId, "on", "off");
  return true;
}

const secretOf = (
  app: Pick<App, "secrets">,
  { userId, sealedSecret }: { userId: string; sealedSecret: string },
) => Buffer.from(app.secrets.open(sealedSecret, totpLabel({ userId })), "base64");

/** 120 bits in six groups of four letters, such as `mfzw-k3tb-…`. With at least 112 bits, a fast hash is safe. */
const recoveryCode = ({ ids }: Context) => grouped(base32(ids.bytes(15)).toLowerCase());

/** People leave out hyphens, or put them elsewhere. */
const grouped = (code: string) => (code.replaceAll("-", "").match(/.{1,4}/g) ?? []).join("-");

const spaceless = (code: string) => code.replaceAll(/\s/g, "");

const isOn = () => new AppError("invalid_state", "The second factor is already on. Turn it off first.");

async function recordSwitch(tx: WriteContext, userId: string, from: string, to: string): Promise<void> {
  if (!tx.organizationId) return;
  const changes = [{ field: "secondFactor", from, to }];
  await record(tx, "user.updated", { type: "user", id: userId }, { changes });
}
