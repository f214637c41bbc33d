import { eq } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import type { App } from "../context.ts";
import { deleteSessions } from "../resources/personal-data/erase.ts";
import { userErasures } from "../resources/personal-data/table.ts";
import { eraseTraces } from "../resources/personal-data/traces.ts";

/** Work that was running when a user was erased has finished by then. */
const LATE_MS = 24 * 60 * 60 * 1000;

/** Resumes unfinished erasures of users, and repeats them a day later, for data that running work has written since. */
export async function* sweepErasures(app: App): AsyncGenerator<void> {
  for (const erasure of await app.store.db.select().from(userErasures)) {
    const isLate = erasure.begunAt <= timestamp(app.clock, -LATE_MS);
    if (erasure.sealedAddress === null && !isLate) continue;
    yield* eraseTraces(app, erasure);
    if (!isLate) continue;
    const { userId } = erasure;
    await app.store.write(async (db) => {
      await deleteSessions(db, userId);
      await db.delete(userErasures).where(eq(userErasures.userId, userId));
    });
  }
}
