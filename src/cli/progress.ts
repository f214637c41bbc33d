import { systemClock } from "../base/clock.ts";
import { sizeText } from "../base/size.ts";
import type { Host } from "./host.ts";

const BAR_WIDTH = 20;

export function bar(percent: number): string {
  const full = Math.round((Math.min(100, Math.max(0, percent)) / 100) * BAR_WIDTH);
  return `[${"#".repeat(full)}${"-".repeat(BAR_WIDTH - full)}]`;
}

/** More frequent updates would be unreadable. */
const SHOW_MS = 100;

/** Progress in bytes, on a status line of the terminal. */
export interface Progress {
  add(bytes: number): void;
  /** Sets how many bytes of the current phase are done. */
  reach(bytes: number): void;
  /** Starts a phase. `total` is null if unknown. */
  begin(label: string, total: number | null): void;
  /** Removes the line. */
  end(): void;
}

export function openProgress(host: Pick<Host, "status">): Progress {
  let label = "";
  let total: number | null = null;
  let done = 0;
  let shownAt = Number.NEGATIVE_INFINITY;

  function show(): void {
    shownAt = systemClock.monotonic();
    if (total === null || total === 0)
      return host.status(`${label}… ${done === 0 ? "" : sizeText(done)}`.trimEnd());
    const percent = (100 * done) / total;
    host.status(
      `${label} ${bar(percent)} ${Math.floor(Math.min(100, percent))}%  ${sizeText(done)} of ${sizeText(total)}`,
    );
  }

  function reach(bytes: number): void {
    done = bytes;
    if (systemClock.monotonic() - shownAt >= SHOW_MS) show();
  }

  return {
    reach,
    add: (bytes) => reach(done + bytes),
    begin(next, bytes) {
      [label, total, done] = [next, bytes, 0];
      show();
    },
    end: () => host.status(""),
  };
}

/** Passes the bytes on, and reports them to `progress`. */
export async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  progress: Progress,
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of bytes) {
    progress.add(chunk.length);
    yield chunk;
  }
}
