import { AppError } from "./errors.ts";

/** A limit on concurrent work. Waiting entrants take turns by organization, in order within each. */
export interface Semaphore {
  /**
   * Resolves with a function that frees the slots. Throws `cancelled` or the signal's own reason if `signal` aborts
   * before, and `rate_limited` if too many of the organization are waiting.
   */
  enter(signal?: AbortSignal, entrant?: Partial<Entrant>): Promise<() => void>;
}

interface Entrant {
  /** Empty for the server's own work. */
  organizationId: string;
  /** Number of slots it takes. Default: 1. Never more than there are. */
  amount: number;
}

export interface SemaphoreOptions {
  /** Maximum number of slots per organization. A single larger entrant is allowed. Default: all. */
  mostOfOne?: number;
  /** Maximum number of waiting entrants per organization. Default: no limit. */
  mostWaiting?: number;
  /** What waits, for the error message, such as "SQL statements". */
  noun?: string;
}

interface Waiting {
  amount: number;
  enter(): void;
}

/** Maximum number of waiting entrants per organization for a fair semaphore. */
const MAX_WAITING_ENTRANTS = 32;
/** `Retry-After` of a rejected entrant. */
const RETRY_AFTER_SECONDS = 5;

/** Returns half of the slots, at least one, so that one organization leaves room for others. */
const halfOf = (slots: number): number => Math.max(1, Math.floor(slots / 2));

/**
 * A semaphore for child processes. Each can use the full memory and time of one, so an organization gets half of them.
 */
export const openFairSemaphore = (
  slots: number,
  noun: string,
  mostWaiting = MAX_WAITING_ENTRANTS,
): Semaphore => openSemaphore(slots, { mostOfOne: halfOf(slots), mostWaiting, noun });

export function openSemaphore(slots: number, options: SemaphoreOptions = {}): Semaphore {
  const { mostOfOne = slots, mostWaiting = Number.POSITIVE_INFINITY, noun = "requests" } = options;
  let free = slots;
  const heldSlots = new Map<string, number>();
  /** The organization whose turn it is comes first. */
  const queues = new Map<string, Waiting[]>();

  const hasShare = (organizationId: string, amount: number) => {
    const own = heldSlots.get(organizationId) ?? 0;
    return own === 0 || own + amount <= mostOfOne;
  };

  const take = (organizationId: string, amount: number) => {
    free -= amount;
    heldSlots.set(organizationId, (heldSlots.get(organizationId) ?? 0) + amount);
  };

  /** An entrant too large for the free slots waits for them, and isn't overtaken. */
  const letIn = () => {
    for (;;) {
      const next = [...queues].find(([id, [first]]) => first !== undefined && hasShare(id, first.amount));
      const [organizationId, queue] = next ?? [];
      const first = queue?.[0];
      if (organizationId === undefined || !queue || !first || first.amount > free) return;
      queue.shift();
      queues.delete(organizationId);
      if (queue.length > 0) queues.set(organizationId, queue);
      take(organizationId, first.amount);
      first.enter();
    }
  };

  const leave = (organizationId: string, amount: number) => {
    free += amount;
    const left = (heldSlots.get(organizationId) ?? 0) - amount;
    if (left > 0) heldSlots.set(organizationId, left);
    else heldSlots.delete(organizationId);
    letIn();
  };

  return {
    async enter(signal, { organizationId = "", amount: wanted = 1 } = {}) {
      if (signal?.aborted) throw reasonOf(signal);
      const amount = Math.min(wanted, slots);
      const queue = queues.get(organizationId) ?? [];
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      let isIn = false;
      const waiting = {
        amount,
        enter() {
          isIn = true;
          signal?.removeEventListener("abort", giveUp);
          resolve();
        },
      };
      const quit = () => {
        queue.splice(queue.indexOf(waiting), 1);
        if (queue.length === 0) queues.delete(organizationId);
      };
      const giveUp = () => {
        quit();
        reject(reasonOf(signal));
        letIn();
      };
      queue.push(waiting);
      queues.set(organizationId, queue);
      letIn();
      if (!isIn && queue.length > mostWaiting) {
        quit();
        throw tooMany(noun, mostWaiting);
      }
      if (!isIn) signal?.addEventListener("abort", giveUp, { once: true });
      await promise;
      return once(() => leave(organizationId, amount));
    },
  };
}

const tooMany = (noun: string, most: number) =>
  new AppError(
    "rate_limited",
    `${most} ${noun} of this organization are already waiting. Try again in ${RETRY_AFTER_SECONDS} seconds.`,
    { retryable: true, retryAfterSeconds: RETRY_AFTER_SECONDS },
  );

const reasonOf = (signal: AbortSignal | undefined): AppError =>
  signal?.reason instanceof AppError ? signal.reason : new AppError("cancelled", "Cancelled.");

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}
