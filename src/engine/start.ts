import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import type { App } from "../context.ts";
import { RUNS_TOPIC } from "../queue/enqueue.ts";
import { stopTurns } from "../resources/chat/recover.ts";
import { beat } from "../resources/health/heartbeat.ts";
import { OUTBOUND_TOPIC } from "../resources/webhooks/table.ts";
import { CHECK_MS } from "../store/peers.ts";
import { backups } from "./backups.ts";
import { compactor } from "./compactor.ts";
import { openDeliverer } from "./deliverer.ts";
import { openLocks } from "./locks.ts";
import { drive, type Loop } from "./loop.ts";
import { LOOPS, type LoopKind, openLoop } from "./loops.ts";
import { LOST_TOPIC, peers } from "./peers.ts";
import { rekeyer } from "./rekeyer.ts";
import { rescuer } from "./rescuer.ts";
import { resetter } from "./resetter.ts";
import { openSealer } from "./sealer.ts";
import { sweeper } from "./sweeper.ts";
import { timekeeper } from "./timekeeper.ts";
import { openWorker } from "./worker.ts";

/** Maximum delay of retries, which come due without a signal. */
const WORKER_IDLE_MS = 250;
const RENEW_MS = 5_000;
const RESCUE_MS = 5_000;
/** Another process may write events, and attempts come due, without a signal here. */
const DELIVER_MS = 250;
const SWEEP_MS = 60_000;
const COMPACT_MS = 2_000;
const REKEY_MS = 1_000;
const RESET_MS = 500;
const KEEP_TIME_MS = 1_000;
const BACKUP_MS = 10_000;
const SEAL_MS = 1_000;
/** Time for cancelled work to stop; executors get 4 s of it. */
const LET_GO_MS = 6_000;

export interface Engine {
  /** Stops claiming runs, waits up to `graceMs` for running ones, then requeues the rest. */
  stop(graceMs: number): Promise<void>;
}

/** Starts the background loops, after recovering work left by earlier processes. */
export async function startEngine(app: App): Promise<Engine> {
  /** Stops the loops that start work. Running ticks finish. */
  const quiet = new AbortController();
  const stopping = new AbortController();
  const { signal } = stopping;
  const { clock } = app;
  const locks = openLocks();
  const worker = openWorker(app, locks);
  const deliverer = openDeliverer(app);
  const rescue = rescuer(app, worker.leasedRuns);
  const sealer = openSealer(app);
  const { chatContinuer, ...later } = LOOPS;
  const chat = openLoop(chatContinuer, app);
  const kinds: readonly LoopKind[] = Object.values(later);
  const topics = kinds.flatMap(({ wakenBy }) => wakenBy ?? []);
  for (const topic of [RUNS_TOPIC, OUTBOUND_TOPIC, LOST_TOPIC, ...topics]) app.signals.keep(topic);
  const keeper = timekeeper(app);
  for (const loop of [rescue, chat, keeper]) await begin(app, loop, signal);

  const turn = (loop: Loop, idleMs: number, until: AbortSignal, wakenBy?: string, sharers = () => 1) =>
    drive(loop, {
      idleMs,
      sharers,
      signal: until,
      cut: signal,
      clock,
      ...(wakenBy === undefined ? {} : { rest: (ms, end) => app.signals.wait(wakenBy, ms, end) }),
      report: (error) => app.log.report(error, { loop: loop.name }),
    });
  const run = (loop: Loop, idleMs: number, wakenBy?: string) => turn(loop, idleMs, quiet.signal, wakenBy);
  /** For work that any process can do: several together check no more often than one. */
  const sharers = () => app.peers?.size ?? 1;
  const share = (loop: Loop, idleMs: number, wakenBy?: string) =>
    turn(loop, idleMs, quiet.signal, wakenBy, sharers);
  const renew = async () => {
    await worker.renew();
    beat(app);
    return "idle" as const;
  };
  const loops = [
    turn(worker, WORKER_IDLE_MS, signal, RUNS_TOPIC, sharers),
    turn({ name: "renewer", tick: () => renew() }, RENEW_MS, signal),
    turn(peers(app), CHECK_MS, signal),
    run(rescue, RESCUE_MS, LOST_TOPIC),
    share(chat, chatContinuer.restMs),
    ...kinds.map((kind) => share(openLoop(kind, app), kind.restMs, kind.wakenBy)),
    share(deliverer, DELIVER_MS, OUTBOUND_TOPIC),
    run(sweeper(app), SWEEP_MS),
    run(compactor(app, locks), COMPACT_MS),
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

/** The first tick. A database that is busy with other servers must not prevent the start: the loop retries soon. */
async function begin(app: App, loop: Loop, signal: AbortSignal): Promise<void> {
  try {
    await loop.tick(signal);
  } catch (error) {
    if (!(app.store.remote && error instanceof AppError && error.retryable)) throw error;
    app.log.report(error, { loop: loop.name });
  }
}

/** Waits for `work`, at most `ms`. */
async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const enough = new AbortController();
  try {
    await Promise.race([work, clock.sleep(ms, enough.signal)]);
  } finally {
    enough.abort();
  }
}
