import type { Clock } from "../base/clock.ts";
import { openShares, type Sharer } from "./shares.ts";

/**
 * Concurrent requests to responsive subscriptions, to new ones, and to slow ones. Each group has its own slots. Bun
 * makes at most 256 requests at a time per process, so some are left for other uses.
 */
const SLOTS = { quick: 120, untried: 36, slow: 36 } as const;
type Manner = keyof typeof SLOTS;
const MANNERS = Object.keys(SLOTS) as Manner[];

/** A subscription is slow when a request to it takes longer. */
const SLOW_MS = 1_000;
const CHECK_MS = 250;

/** Concurrent requests to one subscription: a failure halves the number, a success doubles it. */
const WIDTH = { most: 64, least: 4 };

/** Number of idle subscriptions whose last result is remembered. */
const REMEMBERED = 10_000;

/** How an attempt ended, or null if there was none. */
export type Ended = "well" | "badly" | null;

/** A subscription. `isFailing` is the result of its last attempt, for use if it isn't remembered here. */
export type Receiver = Sharer & { isFailing: boolean };

/** Runs work in queues, one per subscription, round-robin by organization. A slow subscription only delays itself. */
export interface Lanes<T> {
  add(item: T): void;
  isSlow(receiver: Receiver): boolean;
  /** Queued and running deliveries. */
  all(): Iterable<T>;
  /** Starts all waiting work at once. */
  flush(): void;
  /** Resolves when nothing is queued or running. */
  idle(): Promise<void>;
}

/** State of a subscription. */
interface Known {
  manner: Manner;
  width: number;
}

interface Lane<T> extends Sharer {
  known: Known;
  waiting: T[];
  underWay: number;
  /** The queue it is in. Null if it has nothing to start or must wait. */
  queue: Manner | null;
}

interface Request<T> {
  lane: Lane<T>;
  startedMs: number;
  /** The group whose slot it uses. */
  manner: Manner;
}

/** `work` must not throw. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its parts share the lanes and whose turn it is
export function openLanes<T>(
  clock: Clock,
  receiverOf: (item: T) => Receiver,
  work: (item: T) => Promise<Ended>,
): Lanes<T> {
  const lanes = new Map<string, Lane<T>>();
  const known = new Map<string, Known>();
  const underWay = new Map<T, Request<T>>();
  const slots = ofEach((manner) => openShares(SLOTS[manner]));
  /** Subscriptions with work to start, round-robin by organization. */
  const queues = ofEach(() => new Map<string, Map<string, Lane<T>>>());
  let isLooking = false;
  let isGoing = false;
  let ended = Promise.withResolvers<void>();

  const knownOf = ({ id, isFailing }: Receiver): Known =>
    known.get(id) ?? { manner: isFailing ? "slow" : "untried", width: WIDTH.most };

  const learn = (lane: Lane<T>, now: Known) => {
    const { manner, width } = lane.known;
    if (manner === now.manner && width === now.width) return;
    lane.known = now;
    known.delete(lane.id);
    known.set(lane.id, now);
    const [oldest] = known.keys();
    if (known.size > REMEMBERED && oldest !== undefined) known.delete(oldest);
  };

  const leave = (lane: Lane<T>) => {
    if (lane.queue === null) return;
    const own = queues[lane.queue].get(lane.organizationId);
    own?.delete(lane.id);
    if (own?.size === 0) queues[lane.queue].delete(lane.organizationId);
    lane.queue = null;
  };

  /** Adds a lane to the end of its queue, unless it is already in it. */
  const enqueue = (lane: Lane<T>) => {
    const { known: now, organizationId } = lane;
    const queue = lane.waiting.length > 0 && lane.underWay < now.width ? now.manner : null;
    if (lane.queue === queue) return;
    leave(lane);
    if (queue === null) return;
    const own = queues[queue].get(organizationId) ?? new Map<string, Lane<T>>();
    queues[queue].set(organizationId, own.set(lane.id, lane));
    lane.queue = queue;
  };

  const toTheEnd = ({ queue, organizationId, id }: Lane<T>) => {
    const own = queue && queues[queue].get(organizationId);
    if (!own) return;
    const lane = own.get(id);
    if (lane && own.size > 1 && own.delete(id)) own.set(id, lane);
    if (queues[queue].size > 1 && queues[queue].delete(organizationId))
      queues[queue].set(organizationId, own);
  };

  /** The next subscription that may start work. */
  const next = (manner: Manner): Lane<T> | null => {
    const { left, roomOf } = slots[manner];
    for (const [organizationId, own] of queues[manner]) {
      if (left() <= 0) return null;
      if (roomOf({ id: "", organizationId }) <= 0) continue;
      for (const lane of own.values()) if (roomOf(lane) > 0) return lane;
    }
    return null;
  };

  const go = () => {
    for (const manner of MANNERS)
      for (let lane = next(manner); lane !== null; lane = next(manner)) begin(lane, manner);
  };

  /**
   * Runs once for all requests that end in the same turn of the event loop,
   * since starting requests together costs less.
   */
  const goSoon = () => {
    if (isGoing) return;
    isGoing = true;
    setImmediate(() => {
      isGoing = false;
      go();
    });
  };

  const begin = (lane: Lane<T>, manner: Manner) => {
    const item = lane.waiting.shift();
    if (item === undefined) return;
    const request = { lane, manner, startedMs: clock.monotonic() };
    lane.underWay++;
    underWay.set(item, request);
    slots[manner].take(lane);
    if (lane.waiting.length === 0 || lane.underWay >= lane.known.width) leave(lane);
    else toTheEnd(lane);
    checkLater();
    void work(item).then((how) => end(item, request, how));
  };

  const end = (item: T, { lane, manner, startedMs }: Request<T>, how: Ended) => {
    lane.underWay--;
    underWay.delete(item);
    slots[manner].giveBack(lane);
    if (how !== null) {
      const { width } = lane.known;
      learn(lane, {
        manner: clock.monotonic() - startedMs < SLOW_MS ? "quick" : "slow",
        width: how === "well" ? Math.min(width * 2, WIDTH.most) : Math.max(width >> 1, WIDTH.least),
      });
    }
    enqueue(lane);
    if (lane.waiting.length === 0 && lane.underWay === 0) lanes.delete(lane.id);
    goSoon();
    if (lanes.size > 0) return;
    ended.resolve();
    ended = Promise.withResolvers();
  };

  /** A hanging request makes its subscription slow, and frees its slot if a slow one is available. */
  const check = () => {
    const before = clock.monotonic() - SLOW_MS;
    for (const request of underWay.values()) {
      const { lane, manner, startedMs } = request;
      if (startedMs > before) break; // and so are all after it
      if (manner === "slow") continue;
      if (lane.known.manner !== "slow") learn(lane, { ...lane.known, manner: "slow" });
      enqueue(lane);
      if (slots.slow.left() <= 0) continue;
      slots[manner].giveBack(lane);
      slots.slow.take(lane);
      request.manner = "slow";
    }
    go();
  };

  const checkLater = () => {
    if (isLooking) return;
    isLooking = true;
    void clock.sleep(CHECK_MS).then(() => {
      isLooking = false;
      if (underWay.size === 0) return;
      check();
      checkLater();
    });
  };

  return {
    add(item) {
      const receiver = receiverOf(item);
      const { id, organizationId } = receiver;
      const lane = lanes.get(id) ?? {
        id,
        organizationId,
        known: knownOf(receiver),
        waiting: [],
        underWay: 0,
        queue: null,
      };
      lanes.set(id, lane);
      lane.waiting.push(item);
      if (lane.waiting.length > 1) return; // queued already, or woken when a running request ends
      enqueue(lane);
      go();
    },
    isSlow: (receiver) => (lanes.get(receiver.id)?.known ?? knownOf(receiver)).manner === "slow",
    *all() {
      yield* underWay.keys();
      for (const { waiting } of lanes.values()) yield* waiting;
    },
    flush() {
      for (const lane of lanes.values()) while (lane.waiting.length > 0) begin(lane, lane.known.manner);
    },
    async idle() {
      while (lanes.size > 0) await ended.promise;
    },
  };
}

const ofEach = <V>(make: (manner: Manner) => V): Record<Manner, V> => ({
  quick: make("quick"),
  untried: make("untried"),
  slow: make("slow"),
});
