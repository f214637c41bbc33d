import { and, eq, isNull, lte, or } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { canonicalJson, storedJson } from "../../base/json.ts";
import { type Context, SYSTEM, type WriteContext } from "../../context.ts";
import type { Tokens } from "../../oauth/client.ts";
import type { SignInTerms } from "../../oauth/contract.ts";
import { record } from "../events/service.ts";
import { setBroken } from "./broken.ts";
import { openCredentials } from "./credentials.ts";
import { destinationOf, effective, takerFor } from "./input.ts";
import { entity } from "./service.ts";
import { type ConnectionRow, type ConnectionSignIn, connectionSignIns, connections } from "./table.ts";

export type StoredTokens = Pick<Tokens, "accessToken" | "refreshToken">;

/** Path of the OAuth callback, below the base URL. */
export const SIGN_IN_CALLBACK = "/api/v1/connections/oauth/callback";

/** Label for encrypting a sign-in's tokens. */
export const signInLabel = (row: { connectionId: string; organizationId: string }) =>
  `connection-sign-in:${row.connectionId}:${row.organizationId}`;

/** Label for encrypting an attempt's data. */
export const attemptLabel = ({ stateHash }: { readonly stateHash: string }) =>
  `connection-sign-in-attempt:${stateHash}`;

/** How a user signs in for a connection, and what the tokens are for. */
export interface SignInSettings {
  terms: SignInTerms;
  hash: string;
}

/** Null for a connection whose credentials need no user. Throws `definition_invalid`, `not_available`. */
export function signInSettings(ctx: Context, row: ConnectionRow): SignInSettings | null {
  const taker = takerFor(ctx, row);
  const settings = { config: effective(taker, row.config), credentials: openCredentials(ctx, row) };
  const terms = taker.provider.signIn?.(settings) ?? null;
  if (terms === null) return null;
  const { authorizeUrl, tokenUrl, clientId } = terms;
  const facts = canonicalJson([authorizeUrl, tokenUrl, clientId, destinationOf(taker, row.config)]);
  return { terms, hash: new Bun.CryptoHasher("sha256").update(facts).digest("hex") };
}

export async function findSignIn(ctx: Context, connectionId: string): Promise<ConnectionSignIn | null> {
  const [row] = await ctx.store.db
    .select()
    .from(connectionSignIns)
    .where(eq(connectionSignIns.connectionId, connectionId));
  return row ?? null;
}

/** Null if they no longer work. */
export const openTokens = (ctx: Context, row: ConnectionSignIn): StoredTokens | null =>
  row.sealedTokens === null ? null : storedJson(ctx.secrets.open(row.sealedTokens, signInLabel(row)));

/** The columns of a set of tokens. */
export function tokenColumns(
  ctx: Context,
  key: { connectionId: string; organizationId: string },
  { accessToken, refreshToken, expiresInSeconds, scope }: Tokens,
) {
  const kept: StoredTokens = { accessToken, refreshToken };
  return {
    sealedTokens: ctx.secrets.seal(JSON.stringify(kept), signInLabel(key)),
    ...(scope === null ? {} : { scope }),
    isRenewable: refreshToken !== null,
    issuedAt: timestamp(ctx.clock),
    expiresAt: expiresInSeconds === null ? null : timestamp(ctx.clock, expiresInSeconds * 1000),
    problem: null,
    leaseUntil: null,
  };
}

/** Takes the lease for renewing the tokens. Returns false if another process has it. */
export const claimRenewal = (
  ctx: Context,
  { connectionId, generation }: ConnectionSignIn,
  leaseMs: number,
): Promise<boolean> =>
  ctx.store.write(async (db) => {
    const isFree = or(
      isNull(connectionSignIns.leaseUntil),
      lte(connectionSignIns.leaseUntil, timestamp(ctx.clock)),
    );
    const claimed = await db
      .update(connectionSignIns)
      .set({ leaseUntil: timestamp(ctx.clock, leaseMs) })
      .where(and(at(connectionId, generation), isFree))
      .returning({ id: connectionSignIns.connectionId });
    return claimed.length > 0;
  });

export const releaseRenewal = (ctx: Context, { connectionId, generation }: ConnectionSignIn): Promise<void> =>
  ctx.store.write(async (db) => {
    await db.update(connectionSignIns).set({ leaseUntil: null }).where(at(connectionId, generation));
  });

const at = (connectionId: string, generation: number) =>
  and(eq(connectionSignIns.connectionId, connectionId), eq(connectionSignIns.generation, generation));

/** Stores renewed tokens, unless a user signed in again in the meantime. */
export async function keepRenewal(
  tx: WriteContext,
  before: ConnectionSignIn,
  tokens: Tokens,
  runId: string | null,
): Promise<void> {
  const { connectionId, generation } = before;
  const change = { ...tokenColumns(tx, before, tokens), generation: generation + 1 };
  const kept = await tx.db
    .update(connectionSignIns)
    .set(change)
    .where(at(connectionId, generation))
    .returning({ id: connectionSignIns.connectionId });
  if (kept.length === 0) return;
  const { expiresAt } = change;
  await record({ ...tx, actor: SYSTEM }, "connection.token_refreshed", entity(connectionId), {
    expiresAt,
    runId,
  });
}

/** Deletes tokens that no longer work, and sets what a user has to do. */
export async function endSignIn(
  tx: WriteContext,
  before: ConnectionSignIn,
  problem: string,
  runId: string | null,
): Promise<void> {
  const { connectionId, generation } = before;
  const change = { sealedTokens: null, isRenewable: false, expiresAt: null, problem, leaseUntil: null };
  const ended = await tx.db
    .update(connectionSignIns)
    .set({ ...change, generation: generation + 1 })
    .where(at(connectionId, generation))
    .returning({ id: connectionSignIns.connectionId });
  const [row] =
    ended.length === 0 ? [] : await tx.db.select().from(connections).where(eq(connections.id, connectionId));
  if (!row || row.status === "disabled") return;
  await setBroken(tx, row, new AppError("upstream", problem), { runId });
}
