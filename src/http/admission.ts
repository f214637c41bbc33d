import { AppError } from "../base/errors.ts";
import { slot } from "../base/memory.ts";
import type { App } from "../context.ts";

/** Streams outlast what let them in: credentials end, and people leave. Looked up at most this often. */
const ADMISSION_MS = 1_000;

interface Answer {
  readonly atMs: number;
  readonly isAdmitted: Promise<boolean>;
}

/** The latest answers, oldest first: many streams of one credential look it up once. */
const LATEST = slot(() => new Map<string, Answer>());

/**
 * Whether what was let in may go on, from an answer that is at most a second old. Those with the same `key` share it.
 * `isIn` looks it up, and may throw `unauthenticated` and `forbidden` instead.
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

/** Where the database is away nobody knows, and what goes on may go on until the next look. */
function withoutAnswer(error: unknown): boolean {
  const code = error instanceof AppError ? error.code : null;
  if (code === "unauthenticated" || code === "forbidden") return false;
  if (code === "unavailable") return true;
  throw error;
}
