import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import type { App } from "../context.ts";
import { RUNS_TOPIC } from "../queue/enqueue.ts";
import { stopTurns } from "../resources/chat/recover.ts";
import { beat } from "../resources/health/heartbeat.ts";
import { GRANTS_TOPIC } from "../resources/sessions/service.ts";
import { OUTBOUND_TOPIC } from "../resources/webhooks/table.ts";
import { LOOK_MS } from "../store/fellows.ts";
import { alerter } from "./alerter.ts";
import { backups } from "./backups.ts";
import { compactor } from "./compactor.ts";
import { continuer } from "./continuer.ts";
import { openDeliverer } from "./deliverer.ts";
import { expirer } from "./expirer.ts";
import { fellows, LOST_TOPIC } from "./fellows.ts";
import { follower } from "./follower.ts";
import { openLocks } from "./locks.ts";
import { drive, type Loop } from "./loop.ts";
import { refresher } from "./refresher.ts";
import { rekeyer } from "./rekeyer.ts";
import { replier } from "./replier.ts";
import { rescuer } from "./rescuer.ts";
import { resetter } from "./resetter.ts";
import { scheduler } from "./scheduler.ts";
import { openSealer } from "./sealer.ts";
import { sweeper } from "./sweeper.ts";
import { talker } from "./talker.ts";
import { timekeeper } from "./timekeeper.ts";
import { watcher } from "./watcher.ts";
import { openWorker } from "./worker.ts";

/** Retries come due without a signal; they wait at most so long. */
const WORKER_IDLE_MS = 250;
const RENEW_MS = 5_000;
const RESCUE_MS = 5_000;
const CONTINUE_MS = 500;
const EXPIRE_MS = 1_000;
const REFRESH_MS = 5_000;
const ALERT_MS = 1_000;
const REPLY_MS = 500;
const SCHEDULE_MS = 500;
const FOLLOW_MS = 250;
/** Another process may write events, and tries come due, without a signal here. */
const DELIVER_MS = 250;
const WATCH_MS = 1_000;
const SWEEP_MS = 60_000;
const COMPACT_MS = 2_000;
const TALK_MS = 250;
const REKEY_MS = 1_000;
const RESET_MS = 500;
const KEEP_TIME_MS = 1_000;
const BACKUP_MS = 10_000;
const SEAL_MS = 1_000;
/** What was told to end gets so long to let go; an executor has 4 s of them. */
const LET_GO_MS = 6_000;

export interface Engine {
  /** Lets nothing new start, waits `graceMs` for what is under way, and puts the rest back in line. */
  stop(graceMs: number): Promise<void>;
}

/** Starts all that happens with no request. What earlier processes left is taken up before anything else. */
export async function startEngine(app: App): Promise<Engine> {
  /** Ends the loops that begin something; ticks under way go on. */
  const quiet = new AbortController();
  const stopping = new AbortController();
  const { signal } = stopping;
  const { clock } = app;
  const locks = openLocks();
  const worker = openWorker(app, locks);
  const deliverer = openDeliverer(app);
  const rescue = rescuer(app);
  const sealer = openSealer(app);
  app.signals.keep(RUNS_TOPIC);
  app.signals.keep(GRANTS_TOPIC);
  app.signals.keep(OUTBOUND_TOPIC);
  app.signals.keep(LOST_TOPIC);
  const talk = talker(app);
  const keeper = timekeeper(app);
  for (const loop of [rescue, talk, keeper]) await begin(app, loop, signal);

  type Rest = (ms: number, signal: AbortSignal) => Promise<void>;
  const turn = (loop: Loop, idleMs: number, until: AbortSignal, rest?: Rest) =>
    drive(loop, {
      idleMs,
      signal: until,
      cut: signal,
      clock,
      rest,
      report: (error) => app.log.report(error, { loop: loop.name }),
    });
  const run = (loop: Loop, idleMs: number, rest?: Rest) => turn(loop, idleMs, quiet.signal, rest);
  const renew = async () => {
    await worker.renew();
    beat(app);
    return "idle" as const;
  };
  const loops = [
    turn(worker, WORKER_IDLE_MS, signal, (ms, until) => app.signals.wait(RUNS_TOPIC, ms, until)),
    turn({ name: "renewer", tick: () => renew() }, RENEW_MS, signal),
    turn(fellows(app), LOOK_MS, signal),
    run(rescue, RESCUE_MS, (ms, until) => app.signals.wait(LOST_TOPIC, ms, until)),
    run(continuer(app), CONTINUE_MS),
    run(expirer(app), EXPIRE_MS),
    run(refresher(app), REFRESH_MS, (ms, until) => app.signals.wait(GRANTS_TOPIC, ms, until)),
    run(alerter(app), ALERT_MS),
    run(replier(app), REPLY_MS),
    run(scheduler(app), SCHEDULE_MS),
    run(follower(app), FOLLOW_MS),
    run(deliverer, DELIVER_MS, (ms, until) => app.signals.wait(OUTBOUND_TOPIC, ms, until)),
    run(watcher(app), WATCH_MS),
    run(sweeper(app), SWEEP_MS),
    run(compactor(app, locks), COMPACT_MS),
    run(talk, TALK_MS),
    run(rekeyer(app), REKEY_MS),
    run(resetter(app), RESET_MS),
    run(keeper, KEEP_TIME_MS),
    run(backups(app), BACKUP_MS),
    run(sealer, SEAL_MS),
  ];
  return {
    async stop(graceMs) {
      worker.drain();
      deliverer.drain();
      quiet.abort();
      const talked = stopTurns(app, graceMs);
      await within(clock, graceMs, Promise.all([worker.idle(), deliverer.idle()]));
      worker.stop();
      await within(clock, LET_GO_MS, talked);
      await within(clock, LET_GO_MS, worker.idle());
      await worker.abandon();
      stopping.abort();
      const stopped = deliverer
        .stop()
        .catch((error: unknown) => app.log.report(error, { loop: deliverer.name }));
      await within(clock, LET_GO_MS, Promise.all([...loops, stopped]));
      const sealed = sealer.finish().catch((error: unknown) => app.log.report(error, { loop: sealer.name }));
      await within(clock, LET_GO_MS, sealed);
    },
  };
}

/** The first tick. A server that others keep busy is no reason not to start: the loop comes to it again soon. */
async function begin(app: App, loop: Loop, signal: AbortSignal): Promise<void> {
  try {
    await loop.tick(signal);
  } catch (error) {
    if (!(app.store.remote && error instanceof AppError && error.retryable)) throw error;
    app.log.report(error, { loop: loop.name });
  }
}

/** Waits for `work`, but no longer than `ms`. */
async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const enough = new AbortController();
  try {
    await Promise.race([work, clock.sleep(ms, enough.signal)]);
  } finally {
    enough.abort();
  }
}
