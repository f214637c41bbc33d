import { and, eq, gte, inArray, lt } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { App } from "../../context.ts";
import { settings } from "../../store/settings.ts";

/** Files without a row are deleted after an hour. Work that finishes sooner needs no row. */
const HOLD_MS = 60 * 60 * 1000;
const RENEW_MS = 10 * 60 * 1000;

const HOLD_PREFIX = "lake_load:";
const keyOf = (loadId: string) => `${HOLD_PREFIX}${loadId}`;

export interface Hold extends AsyncDisposable {
  /** Throws `dataset_changed` (retryable) if the hold was interrupted, so that files may have been deleted. */
  check(): void;
}

/**
 * Protects the files of a load outside a run from deletion while it is in progress, with a row that is renewed.
 * After a crash, the row expires and its files are deleted.
 */
export function holdLoad({ clock, store, log }: App, loadId: string): Hold {
  const key = keyOf(loadId);
  const done = new AbortController();
  let until = timestamp(clock, HOLD_MS);
  let isStored = false;
  const keep = async () => {
    for (;;) {
      await clock.sleep(RENEW_MS, done.signal);
      if (done.signal.aborted) return;
      const value = timestamp(clock, HOLD_MS);
      isStored = true;
      try {
        await store.write(async (db) => {
          const row = db.insert(settings).values({ key, value });
          await row.onConflictDoUpdate({ target: settings.key, set: { value } });
        });
        until = value;
      } catch (error) {
        log.report(error, { loadId });
      }
    }
  };
  const keeping = keep();
  return {
    check() {
      if (timestamp(clock) <= until) return;
      throw new AppError(
        "dataset_changed",
        "The load was idle for too long, so its files may have been removed.",
        {
          retryable: true,
        },
      );
    },
    async [Symbol.asyncDispose]() {
      done.abort();
      await keeping;
      if (!isStored) return;
      const away = store.write(async (db) => void (await db.delete(settings).where(eq(settings.key, key))));
      await away.catch((error: unknown) => log.report(error, { loadId })); // It expires by itself.
    },
  };
}

/** Returns those of `loadIds` that have a hold. */
export async function heldLoads({ store, clock }: App, loadIds: readonly string[]): Promise<Set<string>> {
  const rows = await store.db
    .select({ key: settings.key })
    .from(settings)
    .where(and(inArray(settings.key, loadIds.map(keyOf)), gte(settings.value, timestamp(clock))));
  return new Set(rows.map(({ key }) => key.slice(HOLD_PREFIX.length)));
}

/** Deletes expired holds. */
export async function forgetHolds({ store, clock }: App): Promise<void> {
  const old = and(
    gte(settings.key, HOLD_PREFIX),
    lt(settings.key, `${HOLD_PREFIX}\uffff`),
    lt(settings.value, timestamp(clock)),
  );
  const [found] = await store.db.select({ key: settings.key }).from(settings).where(old).limit(1);
  if (found) await store.write(async (db) => void (await db.delete(settings).where(old)));
}
