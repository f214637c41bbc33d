import { canonicalJson } from "../../base/json.ts";
import type { App, Context } from "../../context.ts";
import type { SqlValue } from "../../sql/contract.ts";
import type { DashboardData } from "./wire.ts";

/** Data of a panel. */
export type Answer = Omit<DashboardData["panels"][string], "error">;

interface Kept {
  /** In progress, if two requests come at the same time. */
  answer: Promise<Answer>;
  /** Monotonic time of the result. Null while it is in progress. */
  at: number | null;
  bytes: number;
}

/** Maximum size of results in one process. Beyond it, the oldest are discarded. */
const MAX_BYTES = 64 * 1024 ** 2;
const MAX_KEPT_BYTES = 4 * 1024 ** 2;

const caches = new WeakMap<App["store"], Map<string, Kept>>();

/**
 * Returns an organization's result: one in progress or younger than `keptMs`, otherwise that of `ask`. Failures aren't
 * kept.
 */
export async function shared(
  ctx: Context,
  question: { sql: string; parameters: Readonly<Record<string, SqlValue>> },
  keptMs: number,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const cache = caches.get(ctx.store) ?? new Map<string, Kept>();
  caches.set(ctx.store, cache);
  const key = Bun.SHA256.hash(canonicalJson([ctx.organizationId, question.sql, question.parameters]), "hex");
  const known = cache.get(key);
  if (known && (known.at === null || ctx.clock.monotonic() - known.at < keptMs)) return known.answer;
  const kept: Kept = { answer: ask(), at: null, bytes: 0 };
  cache.set(key, kept);
  try {
    const answer = await kept.answer;
    kept.at = ctx.clock.monotonic();
    kept.bytes = keptMs === 0 ? Number.POSITIVE_INFINITY : JSON.stringify(answer.rows).length;
    if (kept.bytes > MAX_KEPT_BYTES) drop(cache, key, kept);
    else makeRoom(cache);
    return answer;
  } catch (error) {
    drop(cache, key, kept);
    throw error;
  }
}

function drop(cache: Map<string, Kept>, key: string, kept: Kept): void {
  if (cache.get(key) === kept) cache.delete(key);
}

function makeRoom(cache: Map<string, Kept>): void {
  let bytes = [...cache.values()].reduce((sum, kept) => sum + kept.bytes, 0);
  for (const [key, kept] of cache) {
    if (bytes <= MAX_BYTES) return;
    if (kept.at === null) continue;
    cache.delete(key);
    bytes -= kept.bytes;
  }
}
