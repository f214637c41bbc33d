import { openSetbacks } from "../base/setbacks.ts";
import type { App } from "../context.ts";
import { moveQueues } from "../flows/concurrency.ts";
import { continueDueRuns } from "../flows/continue.ts";
import { startDueSchedules } from "../flows/due.ts";
import { openFollower } from "../flows/follow.ts";
import { type Counted, watchAutomations } from "../flows/watch.ts";
import { endOverdueWaits } from "../queue/wait-deadlines.ts";
import { continueTurns, failLostTurns } from "../resources/chat/recover.ts";
import { sendDueDashboards } from "../resources/dashboard-subscriptions/due.ts";
import { dashboardMails } from "../resources/dashboard-subscriptions/mail.ts";
import { SNAPSHOTS_TOPIC } from "../resources/datasets/table.ts";
import { expireDueDecisions } from "../resources/decisions/expire.ts";
import { openPublisher } from "../resources/iceberg/publisher.ts";
import { openNoticeSender } from "../resources/notices/send.ts";
import { NOTICES_TOPIC } from "../resources/notices/table.ts";
import { keepGrants } from "../resources/openid/refresh.ts";
import { GRANTS_TOPIC } from "../resources/sessions/service.ts";
import { sendDueReplies } from "../resources/slack/replies.ts";
import type { Loop } from "./loop.ts";

/** A loop that needs nothing but the App. */
export interface LoopKind {
  readonly name: string;
  /** Pause after an idle round, in milliseconds. A signal of `wakenBy` ends it. */
  readonly restMs: number;
  readonly wakenBy?: string;
  /** Runs one round and returns how many things it did. */
  open(app: App): (signal: AbortSignal) => Promise<number>;
}

/**
 * The scheduler looks twice a second. If it hasn't for this long, the process was suspended, or its clock was set
 * forward.
 */
const SUSPENDED_MS = 60_000;

/** Resumes automation runs whose retry delay is over, and queues that have room. */
const UNTIE_EVERY_MS = 5_000;

export const LOOPS = {
  /** Resumes automation runs whose retry delay is over, and queues that have room. */
  runContinuer: {
    name: "run continuer",
    restMs: 500,
    open(app) {
      const [runs, queues] = [openSetbacks(app.clock), openSetbacks(app.clock)];
      let untiedMs = Number.NEGATIVE_INFINITY;
      return async () => {
        const isThorough = app.clock.monotonic() - untiedMs >= UNTIE_EVERY_MS;
        if (isThorough) untiedMs = app.clock.monotonic();
        return (await continueDueRuns(app, runs)) + (await moveQueues(app, queues, isThorough));
      };
    },
  },
  /** Expires decisions that nobody made in time. */
  decisionExpirer: {
    name: "decision expirer",
    restMs: 1_000,
    open(app) {
      const setbacks = openSetbacks(app.clock);
      return () => expireDueDecisions(app, setbacks);
    },
  },
  /** Ends waits for decisions and called automations that are past their deadlines. */
  waitEnder: {
    name: "wait ender",
    restMs: 1_000,
    open(app) {
      const setbacks = openSetbacks(app.clock);
      return () => endOverdueWaits(app, setbacks);
    },
  },
  /** Refreshes sessions with the identity provider, and notifies it when they end. */
  grantRefresher: {
    name: "grant refresher",
    restMs: 5_000,
    wakenBy: GRANTS_TOPIC,
    open: (app) => () => keepGrants(app),
  },
  /** Writes metadata of the lake's tables for other engines after each load. */
  tablePublisher: { name: "table publisher", restMs: 5_000, wakenBy: SNAPSHOTS_TOPIC, open: openPublisher },
  /** Sends notices: about failed automations and pending approvals. */
  noticeSender: {
    name: "notice sender",
    restMs: 1_000,
    wakenBy: NOTICES_TOPIC,
    open: (app) => openNoticeSender(app, { dashboard: dashboardMails }),
  },
  /** Queues scheduled dashboard mails. */
  dashboardScheduler: {
    name: "dashboard scheduler",
    restMs: 1_000,
    open(app) {
      const setbacks = openSetbacks(app.clock);
      return () => sendDueDashboards(app, setbacks);
    },
  },
  /** Reports the results of runs to the people in Slack who started them. */
  slackReplySender: {
    name: "Slack reply sender",
    restMs: 500,
    open: (app) => (signal) => sendDueReplies(app, signal),
  },
  /**
   * Starts scheduled runs. Times before this process, or the peers it joined, started work were missed, and so were
   * those while it was suspended.
   */
  scheduler: {
    name: "scheduler",
    restMs: 500,
    open(app) {
      const { clock } = app;
      let startedAt = clock.monotonic() - (app.peers?.coveredMs ?? 0);
      let lastAt = clock.now().getTime();
      const setbacks = openSetbacks(clock);
      return () => {
        const now = clock.now().getTime();
        if (now - lastAt > SUSPENDED_MS) startedAt = clock.monotonic();
        lastAt = now;
        return startDueSchedules(app, clock.monotonic() - startedAt, setbacks);
      };
    },
  },
  /** Starts automation runs that are triggered by events. */
  eventFollower: {
    name: "event follower",
    restMs: 250,
    open(app) {
      const trail = openFollower(app);
      return async () => ((await trail.tick()) === "more" ? 1 : 0);
    },
  },
  /** Reports automations that are overdue or produced too few rows. */
  automationWatcher: {
    name: "automation watcher",
    restMs: 1_000,
    open(app) {
      const counted: Counted = new Map();
      return async () => {
        await watchAutomations(app, counted);
        return 0;
      };
    },
  },
  /** Resumes chat turns whose approvals were decided, and ends those whose process died. */
  chatContinuer: {
    name: "chat continuer",
    restMs: 250,
    open(app) {
      let when: "boot" | "later" = "boot";
      return async () => {
        await failLostTurns(app, when);
        when = "later";
        return continueTurns(app);
      };
    },
  },
} satisfies Record<string, LoopKind>;

export function openLoop({ name, open }: LoopKind, app: App): Loop {
  const round = open(app);
  return { name, tick: async (signal) => ((await round(signal)) > 0 ? "more" : "idle") };
}
