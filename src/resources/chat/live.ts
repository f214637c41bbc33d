import type { Context } from "../../context.ts";
import { applyChunk, chunksOf, type UiChunk, type UiMessage } from "../../models/chunks.ts";

/** Why a turn's signal aborts. */
export class TurnEnded extends Error {
  override readonly name = "TurnEnded";
  readonly why: "cancelled" | "stopped" | "lost" | "late";
  constructor(why: TurnEnded["why"]) {
    super(why);
    this.why = why;
  }
}

/**
 * A turn in progress in this process: its message, and its stream from the start for any number of readers. A chunk is
 * part of the message immediately, and of the stream once it is published. The end is published once it is stored.
 */
export interface LiveTurn {
  readonly turnId: string;
  readonly threadId: string;
  readonly message: UiMessage;
  readonly control: AbortController;
  /** Adds a chunk to the message and, unless it is held back, to the stream. */
  tell(chunk: UiChunk, isHeld?: boolean): void;
  /** Publishes what was held back, or a failure instead, and ends the stream. */
  end(failure?: string): void;
  /** Yields the stream from its start, in available pieces, until it ends or `signal` aborts. */
  follow(signal: AbortSignal): AsyncGenerator<string>;
  /** Who requested the cancellation, and what they saw. */
  cancelRequest: { ctx: Context; partialText: string | null } | null;
  /** What was done to fit the thread into the model's context, one sentence each. */
  readonly notes: Set<string>;
  /** Whether it has changed since it was last stored. */
  isDirty: boolean;
  /** Resolves when the turn has ended here, and rejects if that couldn't be stored. */
  done: Promise<void>;
}

const byStore = new WeakMap<object, Map<string, LiveTurn>>();

/** Turns in progress in this process, by thread. */
export function liveTurns({ store }: Pick<Context, "store">): Map<string, LiveTurn> {
  const known = byStore.get(store) ?? new Map<string, LiveTurn>();
  byStore.set(store, known);
  return known;
}

export const frameOf = (chunk: UiChunk): string => `data: ${JSON.stringify(chunk)}\n\n`;
export const LAST_FRAME = "data: [DONE]\n\n";

/** Continues an existing message: its content is the beginning of the stream. */
export function openLive(
  { turnId, threadId }: { turnId: string; threadId: string },
  message: UiMessage,
): LiveTurn {
  const frames: string[] = message.parts.length > 0 ? chunksOf(message).map(frameOf) : [];
  const heldFrames: string[] = [];
  const waiting = new Set<() => void>();
  let hasEnded = false;
  const wake = () => {
    for (const one of [...waiting]) one();
  };
  const live: LiveTurn = {
    turnId,
    threadId,
    message,
    control: new AbortController(),
    cancelRequest: null,
    notes: new Set(),
    isDirty: false,
    done: Promise.resolve(),
    tell(chunk, isHeld = false) {
      if (hasEnded) return;
      applyChunk(message, chunk);
      live.isDirty = true;
      (isHeld ? heldFrames : frames).push(frameOf(chunk));
      if (!isHeld) wake();
    },
    end(failure) {
      if (hasEnded) return;
      hasEnded = true;
      const last: UiChunk[] = [
        { type: "error", errorText: failure ?? "" },
        { type: "finish", finishReason: "error", messageMetadata: {} },
      ];
      frames.push(...(failure === undefined ? heldFrames : last.map(frameOf)), LAST_FRAME);
      wake();
    },
    async *follow(signal) {
      for (let at = 0; !signal.aborted; ) {
        if (at < frames.length) {
          const piece = at === frames.length - 1 ? (frames[at] ?? "") : frames.slice(at).join("");
          at = frames.length;
          yield piece;
          continue;
        }
        if (hasEnded) return;
        await new Promise<void>((resolve) => {
          const go = () => {
            signal.removeEventListener("abort", go);
            waiting.delete(go);
            resolve();
          };
          waiting.add(go);
          signal.addEventListener("abort", go, { once: true });
        });
      }
    },
  };
  return live;
}
