import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import type { Runner } from "./migrate.ts";
import { SEEN_SECONDS } from "./processes.ts";

const PAUSE_MS = 1_000;

/**
 * Waits until no process uses the database, whose tables are about to change. A dead process counts until its
 * heartbeat expires. Throws `unavailable` if one is still running.
 */
export async function waitUntilUnused({ rows }: Pick<Runner, "rows">, clock: Clock): Promise<void> {
  const hasThem = await rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'processes'");
  if (hasThem.length === 0) return;
  const alive = `SELECT host, pid, version FROM processes
    WHERE seen_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-${SEEN_SECONDS} seconds') ORDER BY started_at LIMIT 1`;
  for (let attempt = 0; ; attempt++) {
    const [one] = await rows(alive);
    if (one === undefined) return;
    if (attempt * PAUSE_MS > SEEN_SECONDS * 1_000) throw inUse(one);
    await clock.sleep(PAUSE_MS);
  }
}

const inUse = ([host, pid, version]: unknown[]) =>
  new AppError(
    "unavailable",
    `This version changes the database, which another process uses (${host}, process ${pid}, version ${version}). Stop all processes, and start this version again.`,
  );
