import { closeSync, openSync, readdirSync } from "node:fs";
import { devNull } from "node:os";

/** Enough for the files and connections of running work. */
const SPARE = 64;
const CHECK_MS = 50;

/** Opens and closes the listening socket. */
export interface Door {
  open(): void;
  close(): void;
}

/**
 * Reserves descriptors for running work. When the process has no others left, the door closes:
 * new connections are refused, and the reserve is released. The door reopens when twice as many are available.
 * Returns a function that stops this.
 */
export function keepDescriptors(door: Door, tell: (isOpen: boolean) => void): () => void {
  let kept = take(SPARE);
  let isOpen = true;
  /** Most open descriptors with which twice the reserve is available. */
  let most = 0;
  const check = () => {
    if (isOpen) {
      let isOwnLimit = true;
      const next = take(1, (code) => {
        isOwnLimit = code === "EMFILE";
      });
      release(next);
      if (next.length > 0) return;
      isOpen = false;
      tell(false);
      door.close();
      kept = release(kept);
      const open = isOwnLimit ? countOpen() : null;
      most = open === null ? Number.POSITIVE_INFINITY : open - SPARE;
      return;
    }
    // to take them all, even for a moment, could fail a request of a run
    if ((countOpen() ?? 0) > most) return;
    const found = take(2 * SPARE);
    if (found.length < 2 * SPARE) return void release(found);
    kept = found.splice(0, SPARE);
    release(found);
    door.open();
    isOpen = true;
    tell(true);
  };
  const timer = setInterval(check, CHECK_MS);
  return () => {
    clearInterval(timer);
    kept = release(kept);
  };
}

/**
 * Returns the number of open descriptors of this process. Infinity if none is left to count with, null on a system
 * that doesn't list them.
 */
function countOpen(): number | null {
  try {
    return readdirSync("/dev/fd").length;
  } catch (error) {
    return isExhausted(error) ? Number.POSITIVE_INFINITY : null;
  }
}

/** Opens up to `count` descriptors of the null device, fewer if there are no more. `failed` receives the reason. */
function take(count: number, failed: (code: string) => void = () => {}): number[] {
  const taken: number[] = [];
  try {
    while (taken.length < count) taken.push(openSync(devNull, "r"));
  } catch (error) {
    if (!isExhausted(error)) throw error;
    failed(error.code);
  }
  return taken;
}

function release(descriptors: readonly number[]): number[] {
  for (const descriptor of descriptors) closeSync(descriptor);
  return [];
}

const isExhausted = (error: unknown): error is Error & { code: string } =>
  error instanceof Error && "code" in error && (error.code === "EMFILE" || error.code === "ENFILE");
