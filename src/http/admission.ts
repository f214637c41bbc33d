import { AppError } from "../base/errors.ts";
import { slot } from "../base/memory.ts";
import type { App } from "../context.ts";

/** Streams outlast credentials and memberships. Access is checked at most this often. */
const ADMISSION_MS = 1_000;

interface Answer {
  readonly atMs: number;
  readonly isAdmitted: Promise<boolean>;
}

/** The latest results, oldest first. Streams with the same credential share one check. */
const LATEST = slot(() => new Map<string, Answer>());

/**
 * Returns a check whether a stream may continue, from a result that is at most a second old.
 * Checks with the same `key` share it. `isIn` reads it, and can throw `unauthenticated` and `forbidden` instead.
 */
export function admission(app: App, key: string, isIn: () => Promise<boolean>): () => Promise<boolean> {
  let checkedAt = app.clock.monotonic();
  return async () => {
    const nowMs = app.clock.monotonic();
    if (nowMs - checkedAt < ADMISSION_MS) return true;
    const latest = app.memory.of(LATEST);
    for (const [each, { atMs }] of latest) {
      if (nowMs - atMs < ADMISSION_MS) break;
      latest.delete(each);
    }
    const answer = latest.get(key) ?? { atMs: nowMs, isAdmitted: isIn().catch(withoutAnswer) };
    latest.set(key, answer);
    checkedAt = answer.atMs;
    return answer.isAdmitted;
  };
}

/** If the database is unavailable, streams continue until the next check. */
function withoutAnswer(error: unknown): boolean {
  const code = error instanceof AppError ? error.code : null;
  if (code === "unauthenticated" || code === "forbidden") return false;
  if (code === "unavailable") return true;
  throw error;
}
