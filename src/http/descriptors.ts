import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";

/** Enough for the files and connections of running work. */
const SPARE = 64;
const CHECK_MS = 50;

/** What opens and closes the way in. */
export interface Door {
  open(): void;
  close(): void;
}

/**
 * Keeps descriptors back from connections: where the process has no other left, the door is closed, so that new
 * connections are refused, and those that were kept back are there for the work under way. It opens again when there
 * are twice as many. Returns what ends that.
 */
export function keepDescriptors(door: Door, tell: (isOpen: boolean) => void): () => void {
  let kept = take(SPARE);
  let isOpen = true;
  const check = () => {
    if (isOpen) {
      const next = take(1);
      release(next);
      if (next.length > 0) return;
      isOpen = false;
      tell(false);
      door.close();
      kept = release(kept);
      return;
    }
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

/** At most `count` descriptors of nothing; fewer where there are no more. */
function take(count: number): number[] {
  const taken: number[] = [];
  try {
    while (taken.length < count) taken.push(openSync(devNull, "r"));
  } catch (error) {
    if (!isExhausted(error)) throw error;
  }
  return taken;
}

function release(descriptors: readonly number[]): number[] {
  for (const descriptor of descriptors) closeSync(descriptor);
  return [];
}

const isExhausted = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "EMFILE" || error.code === "ENFILE");
