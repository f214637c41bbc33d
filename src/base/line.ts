import { AppError } from "./errors.ts";

/** At most so many at once; the others wait in order. */
export interface Line {
  /** Resolves with what gives the place back. Throws `cancelled` when `signal` aborts before. */
  enter(signal?: AbortSignal): Promise<() => void>;
}

export function openLine(places: number): Line {
  let free = places;
  const waiting: (() => void)[] = [];

  const leave = () => {
    const next = waiting.shift();
    if (next) next();
    else free++;
  };

  return {
    async enter(signal) {
      if (signal?.aborted) throw reasonOf(signal);
      if (free > 0) {
        free--;
        return once(leave);
      }
      await new Promise<void>((resolve, reject) => {
        const enter = () => {
          signal?.removeEventListener("abort", giveUp);
          resolve();
        };
        const giveUp = () => {
          waiting.splice(waiting.indexOf(enter), 1);
          reject(reasonOf(signal));
        };
        waiting.push(enter);
        signal?.addEventListener("abort", giveUp, { once: true });
      });
      return once(leave);
    },
  };
}

const reasonOf = (signal: AbortSignal | undefined): AppError =>
  signal?.reason instanceof AppError ? signal.reason : new AppError("cancelled", "This was cancelled.");

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}
