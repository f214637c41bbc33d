import { and, desc, eq, gt, inArray, lte, or } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { App, WriteContext } from "../../context.ts";
import { hashToken, makeToken } from "../../crypto/tokens.ts";
import { knownBrowsers } from "./table.ts";

/** How long a browser is known after a sign-in. */
export const BROWSER_KNOWN_MS = 180 * 24 * 60 * 60 * 1000;
/** Maximum number per account. The least recently seen one is removed first. */
const MAX_BROWSERS = 20;

/** Returns the accounts that know the browser with this cookie. */
export async function accountsOf(
  { store, clock }: Pick<App, "store" | "clock">,
  token: string | null,
): Promise<ReadonlySet<string>> {
  if (token === null) return new Set();
  const rows = await store.db
    .select({ userId: knownBrowsers.userId })
    .from(knownBrowsers)
    .where(and(eq(knownBrowsers.tokenHash, hashToken(token)), gt(knownBrowsers.expiresAt, timestamp(clock))));
  return new Set(rows.map(({ userId }) => userId));
}

/** Remembers the browser for the caller. Returns its cookie, which stays the same if another account knows it. */
export async function rememberBrowser(tx: WriteContext, cookie: string | null): Promise<string> {
  const userId = tx.actor.id;
  const token = cookie !== null && (await accountsOf(tx, cookie)).size > 0 ? cookie : makeToken("", tx.ids);
  const set = { seenAt: timestamp(tx.clock), expiresAt: timestamp(tx.clock, BROWSER_KNOWN_MS) };
  await tx.db
    .insert(knownBrowsers)
    .values({ userId, tokenHash: hashToken(token), ...set })
    .onConflictDoUpdate({ target: [knownBrowsers.userId, knownBrowsers.tokenHash], set });
  const surplus = tx.db
    .select({ tokenHash: knownBrowsers.tokenHash })
    .from(knownBrowsers)
    .where(eq(knownBrowsers.userId, userId))
    .orderBy(desc(knownBrowsers.seenAt), desc(knownBrowsers.tokenHash))
    .limit(1_000)
    .offset(MAX_BROWSERS);
  await tx.db
    .delete(knownBrowsers)
    .where(
      and(
        eq(knownBrowsers.userId, userId),
        or(lte(knownBrowsers.expiresAt, set.seenAt), inArray(knownBrowsers.tokenHash, surplus)),
      ),
    );
  return token;
}
