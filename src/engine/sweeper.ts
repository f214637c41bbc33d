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

/** What looks at everything comes so often. */
const ROUND_MS = 60 * 60 * 1000;
/** Files that a commit took out of the lake wait only for their readers. */
const REMOVED_MS = 60 * 1000;

/** Each webhook leaves a signature, of use for ten minutes. */
const STAMPS_MS = 5 * 60 * 1000;

/** Work in small steps; each `yield` is the end of one. */
type Sweep = (app: App) => AsyncGenerator<void>;

/**
 * Takes away what nobody needs any more: files that loads took the place of, files that no row names, and
 * rows past their time. Events are never taken away: their chain has to lead back to its first. Every step may be done
 * twice; one that fails is told, and the others go on.
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
 * One step of a sweep at each call, and a new sweep `everyMs` after the last one began. True while there is more. Of
 * several processes on one store, one is enough for what is not each one's own.
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
