import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { canonicalJson } from "../../base/json.ts";
import { slot } from "../../base/memory.ts";
import type { Link } from "../contract.ts";
import { isRefusal } from "./oauth-token.ts";

/** Response of a token endpoint. */
export interface IssuedToken {
  token: string;
  lifetimeSeconds: number;
}

/** A token isn't used in its last minute, because the request has to arrive before it expires. */
const MARGIN_SECONDS = 60;

/** Interval for reading the token from the store again, shorter than the margin. */
const RECHECK_MS = 30_000;

/** Tokens by link, so that not every request reads the store. */
const cachedTokens = new WeakMap<object, { token: string; until: number }>();

/** Pending token requests, by connection and settings. */
const UNDER_WAY = slot(() => new Map<string, Promise<string>>());

/**
 * A valid token: the stored one, or a new one from `issue`, which is then stored. Concurrent callers of one connection
 * share one request. `refused` is a token that the external system rejected; `isFresh` always requests a new one.
 */
export async function accessToken<C, K>(
  link: Link<C, K>,
  issue: () => Promise<IssuedToken>,
  options: { refused?: string; isFresh?: boolean } = {},
): Promise<string> {
  const usable = (token: string | null): token is string => token !== null && token !== options.refused;
  if (!options.isFresh) {
    const own = cachedTokens.get(link);
    if (own && usable(own.token) && link.clock.now().getTime() < own.until) return own.token;
    const kept = (await link.tokens?.read()) ?? null;
    if (usable(kept)) return hold(link, kept, RECHECK_MS);
  }
  const key = `${link.connectionId} ${Bun.hash(canonicalJson([link.config, link.credentials]))}`;
  const underway = link.memory.of(UNDER_WAY);
  for (let flight = underway.get(key); flight; flight = underway.get(key)) {
    const token = await shared(flight, link.signal);
    if (usable(token)) return hold(link, token, RECHECK_MS);
  }
  const flight = renew(link, issue).finally(() => underway.delete(key));
  underway.set(key, flight);
  return flight;
}

/** Result for the caller that requested it. Null if that caller gave up, so that another has to request it. */
async function shared(flight: Promise<string>, signal: AbortSignal): Promise<string | null> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined); // raced below; its own rejection needs no handler
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([flight, aborted.promise]);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError && error.code !== "cancelled" && error.code !== "timeout") throw error;
    return null;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

async function renew<C, K>(link: Link<C, K>, issue: () => Promise<IssuedToken>): Promise<string> {
  const { token, lifetimeSeconds } = await issue().catch(async (error: unknown) => {
    if (isRefusal(error)) await link.tokens?.refused?.(error);
    throw error;
  });
  const milliseconds = (Math.min(lifetimeSeconds, 86_400) - MARGIN_SECONDS) * 1000;
  if (milliseconds > 0) await link.tokens?.keep(token, timestamp(link.clock, milliseconds));
  return hold(link, token, milliseconds);
}

function hold(link: { clock: Link["clock"] }, token: string, milliseconds: number): string {
  cachedTokens.set(link, { token, until: link.clock.now().getTime() + milliseconds });
  return token;
}
