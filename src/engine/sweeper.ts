import type { App } from "../context.ts";
import { sweepStamps } from "../resources/inbound/stamps.ts";
import type { Loop } from "./loop.ts";
import { sweepDeadLetters, sweepDeliveries, sweepOutbound, sweepSubscriptions } from "./sweep-deliveries.ts";
import { sweepErasures } from "./sweep-erasures.ts";
import { sweepArtifacts, sweepScratch } from "./sweep-files.ts";
import { sweepHistory, sweepLake, sweepReads, sweepRemoved } from "./sweep-lake.ts";
import { sweepOrganizations } from "./sweep-organizations.ts";
import {
  sweepAuthorizationCodes,
  sweepChat,
  sweepDeviceCodes,
  sweepInvitations,
  sweepKeys,
  sweepNotices,
  sweepRefreshTokens,
  sweepSessions,
  sweepSetupToken,
} from "./sweep-rows.ts";
import { sweepActionRuns, sweepAutomationRuns, sweepResults } from "./sweep-runs.ts";
import { sweepManifests } from "./sweep-sync.ts";

/** Interval of sweeps that check everything. */
const ROUND_MS = 60 * 60 * 1000;
/** Files that a commit removed from the lake only wait for their readers. */
const REMOVED_MS = 60 * 1000;

/** Each webhook request stores a signature, which is needed for ten minutes. */
const STAMPS_MS = 5 * 60 * 1000;

/** Work in small steps, each ended by a `yield`. */
type Sweep = (app: App) => AsyncGenerator<void>;

/**
 * Deletes what is no longer needed: replaced lake files, files that no row names, and expired rows. Events are never
 * deleted: their hash chain must reach back to the first. Every step can be repeated. A failed one is logged, and
 * the others continue.
 */
export function sweeper(app: App): Loop {
  const chores = [
    chore(app, REMOVED_MS, sweepRemoved),
    chore(app, ROUND_MS, sweepHistory),
    chore(app, ROUND_MS, sweepLake),
    chore(app, ROUND_MS, sweepReads),
    chore(app, ROUND_MS, sweepArtifacts),
    chore(app, ROUND_MS, sweepScratch, "each"),
    chore(app, ROUND_MS, sweepKeys),
    chore(app, ROUND_MS, sweepSessions),
    chore(app, ROUND_MS, sweepDeviceCodes),
    chore(app, ROUND_MS, sweepAuthorizationCodes),
    chore(app, ROUND_MS, sweepRefreshTokens),
    chore(app, ROUND_MS, sweepSetupToken),
    chore(app, ROUND_MS, sweepInvitations),
    chore(app, ROUND_MS, sweepNotices),
    chore(app, ROUND_MS, sweepChat),
    chore(app, ROUND_MS, sweepAutomationRuns),
    chore(app, ROUND_MS, sweepResults),
    chore(app, ROUND_MS, sweepActionRuns),
    chore(app, ROUND_MS, sweepDeadLetters),
    chore(app, ROUND_MS, sweepDeliveries),
    chore(app, STAMPS_MS, sweepStamps),
    chore(app, ROUND_MS, sweepOutbound),
    chore(app, ROUND_MS, sweepSubscriptions),
    chore(app, ROUND_MS, sweepManifests),
    chore(app, REMOVED_MS, sweepOrganizations),
    chore(app, REMOVED_MS, sweepErasures),
  ];
  return {
    name: "sweeper",
    async tick(signal) {
      let hasMore = false;
      for (const step of chores) {
        if (signal.aborted) return "idle";
        if (await step()) hasMore = true;
      }
      return hasMore ? "more" : "idle";
    },
  };
}

/**
 * Runs one step of a sweep at each call, and starts a new sweep `everyMs` after the last one began. Returns true
 * while there is more. Of several processes on one store, only one sweeps what they share.
 */
function chore(app: App, everyMs: number, sweep: Sweep, who: "one" | "each" = "one"): () => Promise<boolean> {
  let under: AsyncGenerator<void> | null = null;
  let next = Number.NEGATIVE_INFINITY;
  return async () => {
    if (under === null) {
      if (app.clock.monotonic() < next) return false;
      if (who === "one" && app.peers?.isEldest() === false) return false;
      next = app.clock.monotonic() + everyMs;
      under = sweep(app);
    }
    try {
      if (!(await under.next()).done) return true;
    } catch (error) {
      app.log.report(error, { loop: "sweeper", at: sweep.name });
    }
    under = null;
    return false;
  };
}
