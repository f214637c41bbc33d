import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { slot } from "../../base/memory.ts";
import type { HttpAccess, Link, QuotaStore } from "../contract.ts";

/** Rate limit of an API: `capacity` as a burst, `perSecond` sustained. */
export interface Quota {
  capacity: number;
  perSecond: number;
}

/** A bucket that a request draws from, with the size of a new one. `name` is unique within the connection. */
export interface Draw extends Quota {
  name: string;
  /** Default: 1. */
  cost?: number;
}

/** Rate limit in requests per minute. `name` is unique within the connection. */
export const perMinute = (name: string, rate: number | undefined): Draw[] =>
  rate === undefined ? [] : [{ name, capacity: Math.max(1, Math.floor(rate / 60)), perSecond: rate / 60 }];

/** The rate limit of every request of a connection. */
export const paceOf = ({ requestsPerMinute }: Pick<HttpAccess, "requestsPerMinute">): Draw[] =>
  perMinute("http all", requestsPerMinute);

/** The parts of a link that waiting needs. */
export type Waiter = Pick<Link, "connectionId" | "memory" | "clock" | "signal" | "waits" | "quotas" | "rest">;

interface Bucket extends Quota {
  tokens: number;
  /** Monotonic milliseconds to which `tokens` refers. */
  at: number;
  /** Monotonic milliseconds until which nothing is drawn, because the external system said so. */
  heldUntil: number;
  /** True until its size is known. Not stored. */
  isRecalled?: boolean;
}

/** Shorter waits aren't reported. */
const TOLD_MS = 1_000;
/** Longer waits give up the slot. */
const REST_MS = 5_000;
/** Maximum number of buckets. Beyond it, full ones are dropped. */
const MAX_BUCKETS = 10_000;

/** Buckets that take longer to fill are stored across restarts; a full one would get many requests refused. */
const SLOW_SECONDS = 30;

/** The level of fast buckets after a restart is learned from response headers and refusals. */
const BUCKETS = slot(() => new Map<string, Bucket>());
/** Connections whose stored buckets have been or are being read. */
const RECALLED = slot(() => new Map<string, Promise<void>>());

/** Loads the connection's buckets that an earlier process stored, once. */
function recall(link: Waiter, draws: readonly Draw[]): Promise<void> | undefined {
  if (!link.quotas || !draws.some(isSlow)) return;
  const recalled = link.memory.of(RECALLED);
  let reading = recalled.get(link.connectionId);
  if (!reading) {
    if (recalled.size >= MAX_BUCKETS) recalled.clear();
    reading = readKept(link, link.quotas);
    recalled.set(link.connectionId, reading);
    reading.catch(() => recalled.delete(link.connectionId)); // the caller gets the error; the next call reads again
  }
  return reading;
}

async function readKept(link: Waiter, quotas: QuotaStore): Promise<void> {
  const kept = await quotas.read();
  const buckets = link.memory.of(BUCKETS);
  const [now, wall] = [link.clock.monotonic(), link.clock.now().getTime()];
  for (const { name, tokens, at, heldUntil } of kept) {
    const key = `${link.connectionId} ${name}`;
    if (buckets.has(key)) continue;
    const age = Math.max(0, wall - Date.parse(at));
    const heldUntilMs = heldUntil === null ? 0 : now + Date.parse(heldUntil) - wall;
    buckets.set(key, {
      capacity: Number.MAX_VALUE,
      perSecond: 0,
      tokens,
      at: now - age,
      heldUntil: heldUntilMs,
      isRecalled: true,
    });
  }
}

const isSlow = ({ capacity, perSecond }: Quota): boolean => capacity / perSecond >= SLOW_SECONDS;

/** Stores the slow buckets that were drawn from. */
async function remember(link: Waiter, draws: readonly Draw[]): Promise<void> {
  if (!link.quotas) return;
  const now = link.clock.monotonic();
  for (const each of draws) {
    const { tokens, heldUntil, ...quota } = filled(link, each, now);
    if (!isSlow(quota)) continue;
    const wait = heldUntil - now;
    await link.quotas.keep({
      name: each.name,
      tokens,
      at: timestamp(link.clock),
      heldUntil: wait > 0 ? timestamp(link.clock, wait) : null,
    });
  }
}

/**
 * Waits until all of a connection's buckets have enough, and draws from them; all runs of the connection share them in
 * order of arrival. Throws `upstream` (retryable, with the seconds) if that would take longer than `patienceMs`, and
 * the signal's reason if it is aborted.
 */
export async function draw(
  link: Waiter,
  system: string,
  draws: readonly Draw[],
  patienceMs: number,
): Promise<void> {
  await recall(link, draws);
  const now = link.clock.monotonic();
  const taken = draws.map((each) => ({ bucket: filled(link, each, now), cost: each.cost ?? 1 }));
  const giveBack = () => {
    for (const { bucket, cost } of taken) bucket.tokens += cost;
  };
  let waitMs = 0;
  for (const { bucket, cost } of taken) {
    bucket.tokens -= cost;
    waitMs = Math.max(waitMs, (-bucket.tokens / bucket.perSecond) * 1000, bucket.heldUntil - now);
  }
  if (waitMs <= 0) return remember(link, draws);
  if (waitMs > patienceMs) {
    giveBack();
    throw throttled(system, waitMs);
  }
  try {
    await remember(link, draws);
    await pause(link, waitMs);
  } catch (error) {
    giveBack();
    throw error;
  }
}

/** Sets a bucket's level and size to what the API reports. */
export function setTokens(link: Waiter, name: string, quota: Quota, tokens: number): void {
  const bucket = filled(link, { ...quota, name }, link.clock.monotonic());
  Object.assign(bucket, quota, { tokens });
}

/** Sets a bucket's rate and size to what the API reports, and keeps its level. */
export function setQuota(link: Waiter, name: string, quota: Quota): void {
  Object.assign(filled(link, { ...quota, name }, link.clock.monotonic()), quota);
}

/** Blocks a bucket for this long. */
export function hold(link: Waiter, draws: readonly Draw[], ms: number): void {
  const now = link.clock.monotonic();
  for (const each of draws) {
    const bucket = filled(link, each, now);
    bucket.heldUntil = Math.max(bucket.heldUntil, now + ms);
  }
}

/** Sleeps, and reports a long wait. Throws the signal's reason if it is aborted. */
export async function pause(link: Waiter, ms: number): Promise<void> {
  link.signal.throwIfAborted();
  const isTold = ms >= TOLD_MS;
  if (isTold) link.waits?.(timestamp(link.clock, ms));
  await rest(link, ms);
  if (isTold) link.waits?.(null);
}

/** Sleeps, and gives up the slot for a long wait. Throws the signal's reason if it is aborted. */
export async function rest(link: Pick<Waiter, "clock" | "signal" | "rest">, ms: number): Promise<void> {
  link.signal.throwIfAborted();
  const sleep = () => link.clock.sleep(ms, link.signal);
  await (ms >= REST_MS && link.rest ? link.rest(sleep) : sleep());
  link.signal.throwIfAborted();
}

export const throttled = (system: string, waitMs: number): AppError => {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new AppError("upstream", `The rate limit of ${system} is reached. Try again in ${seconds} s.`, {
    retryable: true,
    retryAfterSeconds: seconds,
  });
};

/**
 * Milliseconds in a `Retry-After` header, which has seconds or an HTTP date; null if there is none. At least one
 * second: a current date would cause an immediate retry.
 */
export function retryAfterMs(headers: Headers, link: Pick<Link, "clock">): number | null {
  const text = headers.get("retry-after")?.trim() ?? "";
  if (text === "") return null;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.max(1_000, Number(text) * 1000);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(1_000, at - link.clock.now().getTime());
}

function filled(link: Waiter, { name, capacity, perSecond }: Draw, now: number): Bucket {
  const key = `${link.connectionId} ${name}`;
  const buckets = link.memory.of(BUCKETS);
  let bucket = buckets.get(key);
  if (!bucket) {
    if (buckets.size >= MAX_BUCKETS) forgetFull(buckets, now);
    bucket = { capacity, perSecond, tokens: capacity, at: now, heldUntil: 0 };
    buckets.set(key, bucket);
  }
  if (bucket.isRecalled) Object.assign(bucket, { capacity, perSecond, isRecalled: false });
  const came = (Math.max(0, now - bucket.at) / 1000) * bucket.perSecond;
  bucket.tokens = Math.min(bucket.capacity, bucket.tokens + came);
  bucket.at = now;
  return bucket;
}

function forgetFull(buckets: Map<string, Bucket>, now: number): void {
  for (const [key, { tokens, at, perSecond, capacity, heldUntil }] of buckets) {
    if (heldUntil <= now && tokens + ((now - at) / 1000) * perSecond >= capacity) buckets.delete(key);
  }
}
