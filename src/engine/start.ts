import type { App } from "../context.ts";
import { beat } from "../resources/health/heartbeat.ts";
import { RUNS_TOPIC } from "../resources/runs/enqueue.ts";
import { alerter } from "./alerter.ts";
import { continuer } from "./continuer.ts";
import { drive, type Loop } from "./loop.ts";
import { rescuer } from "./rescuer.ts";
import { sweeper } from "./sweeper.ts";
import { openWorker } from "./worker.ts";

/** Retries come due without a signal; they wait at most so long. */
const WORKER_IDLE_MS = 250;
const RENEW_MS = 5_000;
const RESCUE_MS = 5_000;
const CONTINUE_MS = 500;
const ALERT_MS = 1_000;
const SWEEP_MS = 60_000;

export interface Engine {
  /** Lets nothing new start, waits `graceMs` for what is under way, and puts the rest back in line. */
  stop(graceMs: number): Promise<void>;
}

/** Starts all that happens with no request. What earlier processes left is taken up before anything else. */
export async function startEngine(app: App): Promise<Engine> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const { clock } = app;
  const worker = openWorker(app);
  const rescue = rescuer(app);
  app.signals.keep(RUNS_TOPIC);
  await rescue.tick(signal);

  const run = (loop: Loop, idleMs: number, rest?: (ms: number, signal: AbortSignal) => Promise<void>) =>
    drive(loop, {
      idleMs,
      signal,
      clock,
      rest,
      report: (error) => app.log.report(error, { loop: loop.name }),
    });
  const renew = async () => {
    await worker.renew();
    beat(app);
    return "idle" as const;
  };
  const loops = [
    run(worker, WORKER_IDLE_MS, (ms, until) => app.signals.wait(RUNS_TOPIC, ms, until)),
    run({ name: "renewer", tick: () => renew() }, RENEW_MS),
    run(rescue, RESCUE_MS),
    run(continuer(app), CONTINUE_MS),
    run(alerter(app), ALERT_MS),
    run(sweeper(app), SWEEP_MS),
  ];
  return {
    async stop(graceMs) {
      worker.drain();
      const enough = new AbortController();
      await Promise.race([worker.idle(), clock.sleep(graceMs, enough.signal)]);
      enough.abort();
      worker.stop();
      await worker.idle();
      stopping.abort();
      await Promise.all(loops);
    },
  };
}
