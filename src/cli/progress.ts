import { systemClock } from "../base/clock.ts";
import { sizeText } from "../base/size.ts";
import type { Host } from "./host.ts";

const BAR_WIDTH = 20;

export function bar(percent: number): string {
  const full = Math.round((Math.min(100, Math.max(0, percent)) / 100) * BAR_WIDTH);
  return `[${"#".repeat(full)}${"-".repeat(BAR_WIDTH - full)}]`;
}

/** More often nobody could read it. */
const SHOW_MS = 100;

/** How far work with bytes is, on one line of a terminal that people watch. */
export interface Progress {
  add(bytes: number): void;
  /** So many bytes of what was begun last are done. */
  reach(bytes: number): void;
  /** Says what is done next, from its start; `total` is null where nobody knows it. */
  begin(label: string, total: number | null): void;
  /** Takes the line away. */
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

/** The same bytes, which `progress` hears of as they pass. */
export async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  progress: Progress,
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of bytes) {
    progress.add(chunk.length);
    yield chunk;
  }
}
