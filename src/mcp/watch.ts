import { AppError } from "../base/errors.ts";
import type { Patience } from "./limits.ts";

/** Time limits of one exchange with a server: the caller's signal, silence, and total time. */
export interface Watch {
  readonly signal: AbortSignal;
  /** Called when the server sends something. */
  heard(): void;
  /** Releases timers and listeners. */
  close(): void;
}

/** Real timers, since the network takes real time. */
export function watchOver(signal: AbortSignal, { idleMs, totalMs }: Patience, host: string): Watch {
  const controller = new AbortController();
  const late = (message: string) => () =>
    controller.abort(new AppError("timeout", message, { retryable: true }));
  const silent = late(`${host} was silent for ${idleMs / 1000} s.`);
  let idle = setTimeout(silent, idleMs);
  const total = setTimeout(late(`${host} took longer than ${totalMs / 1000} s.`), totalMs);
  const leave = () => controller.abort(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  const close = () => {
    clearTimeout(idle);
    clearTimeout(total);
    signal.removeEventListener("abort", leave);
  };
  return {
    signal: controller.signal,
    heard() {
      clearTimeout(idle);
      idle = setTimeout(silent, idleMs);
    },
    close,
  };
}
