import { AppError } from "../../base/errors.ts";
import { slot } from "../../base/memory.ts";
import { within } from "../../base/within.ts";
import { type Context, write } from "../../context.ts";
import type { SignInTokens } from "../../oauth/contract.ts";
import { renewSignIn } from "../../oauth/sign-in.ts";
import {
  claimRenewal,
  endSignIn,
  findSignIn,
  keepRenewal,
  openTokens,
  releaseRenewal,
  type SignInSettings,
  signInSettings,
} from "./sign-in-store.ts";
import type { ConnectionRow, ConnectionSignIn } from "./table.ts";

/**
 * A token that expires sooner is refreshed before it is used.
 * A short-lived one is refreshed in the last third of its life.
 */
const AHEAD_MS = 60_000;
/** A token is read again after this time. */
const RECHECK_MS = 10_000;
/** A rejection this soon after a renewal is about the previous token. */
const SETTLING_MS = 5_000;
/** Longer than a token endpoint may take. If the process with the lease dies, others wait this long. */
const LEASE_MS = 30_000;
const WORK_MS = 20_000;
const POLL_MS = 200;

/** Refreshes in progress in this process, by connection and set of tokens. */
const UNDER_WAY = slot(() => new Map<string, Promise<void>>());

interface Held {
  token: string;
  /** In milliseconds. 0 if it was already stored. */
  renewedAt: number;
  /** Until when the token isn't read again. */
  until: number;
}

/** Returns the token of the user who signed in for `row`. Undefined if its credentials need no user. */
export function signInTokensOf(
  ctx: Context,
  row: ConnectionRow,
  { runId, signal }: { runId: string | null; signal: AbortSignal },
): SignInTokens | undefined {
  const settings = signInSettings(ctx, row);
  if (settings === null) return undefined;
  let current: Held | null = null;
  const now = () => ctx.clock.now().getTime();
  const hold = (kept: ConnectionSignIn, token: string, isNew: boolean): string => {
    const ends = now() + remainingMs(ctx, kept) - aheadMs(kept) / 2;
    const renewedAt = isNew ? now() : (current?.renewedAt ?? 0);
    current = { token, renewedAt, until: Math.min(now() + RECHECK_MS, ends) };
    return token;
  };
  return {
    async token({ refused, isRefused = false } = {}) {
      const isSettling = current !== null && now() - current.renewedAt < SETTLING_MS;
      const bad = refused ?? (isRefused && !isSettling ? current?.token : undefined);
      if (current && current.token !== bad && now() < current.until) return current.token;
      for (let isNew = false; ; isNew = true) {
        signal.throwIfAborted();
        const kept = await findSignIn(ctx, row.id);
        const tokens = kept?.settingsHash === settings.hash ? openTokens(ctx, kept) : null;
        if (kept === null || tokens === null) throw signInNeeded(row, kept, settings);
        // Some systems refresh a token by extending it: another refresh would return the same one.
        if (isNew) return hold(kept, tokens.accessToken, true);
        const isGood = tokens.accessToken !== bad;
        if (isGood && !isEnding(ctx, kept)) return hold(kept, tokens.accessToken, false);
        if (isGood && tokens.refreshToken === null && hasTime(ctx, kept)) return tokens.accessToken;
        await renew(ctx, { row, kept, settings, refreshToken: tokens.refreshToken, runId, signal });
      }
    },
  };
}

const remainingMs = (ctx: Context, { expiresAt }: ConnectionSignIn): number =>
  expiresAt === null ? Infinity : Date.parse(expiresAt) - ctx.clock.now().getTime();

const aheadMs = ({ issuedAt, expiresAt }: ConnectionSignIn): number =>
  expiresAt === null ? 0 : Math.min(AHEAD_MS, (Date.parse(expiresAt) - Date.parse(issuedAt)) / 3);

const isEnding = (ctx: Context, kept: ConnectionSignIn) => remainingMs(ctx, kept) < aheadMs(kept);
const hasTime = (ctx: Context, kept: ConnectionSignIn) => remainingMs(ctx, kept) > 0;

/** Returns why a connection can't be used until a user signs in. */
function signInNeeded(row: ConnectionRow, kept: ConnectionSignIn | null, { hash }: SignInSettings): AppError {
  const problem =
    kept === null
      ? `Sign in to ${row.name} first.`
      : kept.settingsHash !== hash
        ? `Sign in again: the settings of ${row.name} changed after the sign-in.`
        : (kept.problem ?? `Sign in again: the sign-in of ${row.name} has expired.`);
  return new AppError("upstream", problem, { details: { refusal: "sign_in", connectionId: row.id } });
}

interface Renewal {
  row: ConnectionRow;
  kept: ConnectionSignIn;
  settings: SignInSettings;
  refreshToken: string | null;
  runId: string | null;
  signal: AbortSignal;
}

/** Refreshes the tokens once for all concurrent callers in all processes, or ends the sign-in. */
async function renew(ctx: Context, { signal, ...work }: Renewal): Promise<void> {
  const key = `${work.kept.connectionId} ${work.kept.generation}`;
  const underWay = ctx.memory.of(UNDER_WAY);
  let flight = underWay.get(key);
  if (!flight) {
    flight = renewOnce(ctx, work).finally(() => underWay.delete(key));
    underWay.set(key, flight);
  }
  await unlessAborted(flight, signal);
}

async function unlessAborted(flight: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined); // Awaited in the race below; this only prevents an unhandled rejection.
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([flight, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

async function renewOnce(
  ctx: Context,
  { row, kept, settings, refreshToken, runId }: Omit<Renewal, "signal">,
): Promise<void> {
  const { terms } = settings;
  const { host } = new URL(terms.tokenUrl);
  if (refreshToken === null) {
    const problem = `Sign in again: the token of ${row.name} has expired, and ${host} issued no refresh token.`;
    return write(ctx, (tx) => endSignIn(tx, kept, problem, runId));
  }
  let isCut = kept.leaseUntil !== null;
  while (!(await claimRenewal(ctx, kept, LEASE_MS))) {
    const now = await findSignIn(ctx, kept.connectionId);
    if (now?.generation !== kept.generation) return;
    isCut = now.leaseUntil !== null;
    await ctx.clock.sleep(POLL_MS); // Another process is refreshing them.
  }
  const reach = { egress: ctx.egress, signal: within(WORK_MS, host) };
  const renewed = await renewSignIn(reach, terms, refreshToken).catch(async (error: unknown) => {
    await releaseRenewal(ctx, kept);
    throw error;
  });
  if (!("refused" in renewed)) return write(ctx, (tx) => keepRenewal(tx, kept, renewed, runId));
  const why = isCut ? "; an earlier renewal was interrupted" : "";
  const problem = `Sign in again: ${host} no longer renews the sign-in of ${row.name} (${renewed.refused}${why}).`;
  await write(ctx, (tx) => endSignIn(tx, kept, problem, runId));
}
