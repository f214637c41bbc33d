import { and, eq, gt, lt } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { type App, contextFor, write } from "../../context.ts";
import { hashPassword } from "../../crypto/passwords.ts";
import { hashToken, makeToken } from "../../crypto/tokens.ts";
import { letterOf } from "../../mail/letter.ts";
import { textsFor } from "../../mail/texts.ts";
import { mail } from "../mail/service.ts";
import { claim } from "../sign-in/claim.ts";
import type { Visitor } from "../sign-in/setup.ts";
import { findUserByEmail, normalEmail } from "../users/service.ts";
import { users } from "../users/table.ts";
import { passwordResets } from "./table.ts";
import type { PasswordReset } from "./wire.ts";

const RESET_MS = 60 * 60 * 1000;
/** Limits emails to one address, so that nobody can flood a mailbox. */
const LINK_RATE = { perMinute: 1, burst: 3 };

/** Emails a link that sets a new password, if there is an account with the address. */
export async function sendReset(app: App, email: string, correlationId: string): Promise<void> {
  const user = await findUserByEmail(app.store.db, email);
  if (!user) {
    app.log.write("info", "A password reset was requested for an address that no account has.", {
      correlationId,
    });
    return;
  }
  const token = makeToken("", app.ids);
  const row = {
    tokenHash: hashToken(token),
    userId: user.id,
    createdAt: timestamp(app.clock),
    expiresAt: timestamp(app.clock, RESET_MS),
  };
  await app.store.write(async (db) => {
    await db.delete(passwordResets).where(lt(passwordResets.expiresAt, row.createdAt));
    await db.insert(passwordResets).values(row);
  });
  const translate = textsFor(user.locale);
  const letter = letterOf(user.email, {
    subject: translate("New password for Weir"),
    lines: [translate("Hello,"), translate("someone asked for a new password for your account on Weir.")],
    link: { label: translate("Choose a new password"), url: `${app.baseUrl()}/reset?token=${token}` },
    foot: [
      translate(
        "The link is valid for one hour and can be used once. A new password signs you out everywhere and ends your access tokens. If you didn't ask for it, ignore this email: nothing changes.",
      ),
    ],
  });
  await mail(app, letter, { key: `reset:${normalEmail(email)}`, correlationId, rate: LINK_RATE });
}

/**
 * Sets a new password with an emailed link, which proves the address, and ends all sessions and tokens. Throws `gone`
 * with the same message for every link that doesn't work.
 */
export async function resetByLink(
  app: App,
  { token, password }: PasswordReset,
  { correlationId, ip, userAgent }: Visitor,
): Promise<void> {
  const isThis = and(
    eq(passwordResets.tokenHash, hashToken(token)),
    gt(passwordResets.expiresAt, timestamp(app.clock)),
  );
  const [known] = await app.store.db.select().from(passwordResets).where(isThis);
  if (!known) throw gone();
  const passwordHash = await hashPassword(password);
  const ctx = contextFor(app, {
    organizationId: "",
    role: "viewer",
    actor: { type: "user", id: known.userId, ip, userAgent },
    correlationId,
  });
  await write(ctx, async (tx) => {
    const [link] = await tx.db.delete(passwordResets).where(isThis).returning();
    const [user] = link ? await tx.db.select().from(users).where(eq(users.id, link.userId)) : [];
    if (!user) throw gone();
    await claim(tx, user, passwordHash);
  });
}

const gone = () =>
  new AppError("gone", "This link is invalid: it was used, or is older than an hour. Ask for a new one.");
