import { AppError } from "./errors.ts";

/** A limit on what goes on at once. Those who wait take turns by organization, in order within each. */
export interface Semaphore {
  /**
   * Resolves with what gives the slots back. Throws `cancelled`, or the signal's own reason, when `signal` aborts
   * before, and `rate_limited` when too many of the organization wait already.
   */
  enter(signal?: AbortSignal, entrant?: Partial<Entrant>): Promise<() => void>;
}

interface Entrant {
  /** Empty for work of the server's own. */
  organizationId: string;
  /** How many slots it takes; 1 by default, and never more than there are. */
  amount: number;
}

export interface SemaphoreOptions {
  /** The most slots that one organization holds at once, though one entrant may be larger; all by default. */
  mostOfOne?: number;
  /** The most entrants of one organization that wait; no limit by default. */
  mostWaiting?: number;
  /** What waits, as the sentence of a refusal names it, such as "SQL statements". */
  noun?: string;
}

interface Waiting {
  amount: number;
  enter(): void;
}

/** So many entrants of one organization wait for a fair semaphore. */
const MAX_WAITING_ENTRANTS = 32;
/** A refused entrant is asked to come back after so many seconds. */
const RETRY_AFTER_SECONDS = 5;

/** Half of the slots, so that one organization leaves room for the others; at least one. */
const halfOf = (slots: number): number => Math.max(1, Math.floor(slots / 2));

/** A semaphore for children: each may use all the memory and time that one has, so that half is for one organization. */
export const openFairSemaphore = (
  slots: number,
  noun: string,
  mostWaiting = MAX_WAITING_ENTRANTS,
): Semaphore => openSemaphore(slots, { mostOfOne: halfOf(slots), mostWaiting, noun });

export function openSemaphore(slots: number, options: SemaphoreOptions = {}): Semaphore {
  const { mostOfOne = slots, mostWaiting = Number.POSITIVE_INFINITY, noun = "requests" } = options;
  let free = slots;
  const held = new Map<string, number>();
  /** The organization whose turn it is stands first. */
  const queues = new Map<string, Waiting[]>();

  const hasShare = (organizationId: string, amount: number) => {
    const own = held.get(organizationId) ?? 0;
    return own === 0 || own + amount <= mostOfOne;
  };

  const take = (organizationId: string, amount: number) => {
    free -= amount;
    held.set(organizationId, (held.get(organizationId) ?? 0) + amount);
  };

  /** One that is too large for what is free waits for it, and nobody passes it. */
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
    const left = (held.get(organizationId) ?? 0) - amount;
    if (left > 0) held.set(organizationId, left);
    else held.delete(organizationId);
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
