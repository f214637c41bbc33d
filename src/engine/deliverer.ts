import type { App } from "../context.ts";
import { eventsTopic } from "../resources/events/service.ts";
import { recordAttempts } from "../resources/webhooks/attempts.ts";
import { type Attempt, sendOnce } from "../resources/webhooks/send.ts";
import { type Subscription, subscriptionReader } from "../resources/webhooks/subscriptions.ts";
import { OUTBOUND_TOPIC } from "../resources/webhooks/table.ts";
import {
  claimDeliveries,
  type LeasedDelivery,
  type Message,
  putBack,
  putBackAll,
} from "../resources/webhooks/take.ts";
import { type Advance, openTrail } from "../resources/webhooks/trail.ts";
import { openLanes } from "./lanes.ts";
import type { Loop } from "./loop.ts";
import { openShares } from "./shares.ts";

/** Maximum work of this process, in units of `weightOf`. */
const IN_HAND = 9_216;
const UNIT_BYTES = 8_192;
/** For a subscription with slow responses: about as many as can be attempted before their lease ends. */
const IN_HAND_OF_SLOW = 32;
/**
 * With less room than this, the audit log isn't followed for a moment, so that deliveries don't have to be stored
 * and read again.
 */
const ROOM_TO_FOLLOW = 1_024;
/** Maximum number of deliveries of one subscription to claim at once. */
const CLAIMED = 512;
const HELD_UP_MS = 250;
/** For when no other subscription waits. Longer than it takes to send the deliveries in hand. */
const ALL_HELD_UP_MS = 1_000;
/** Maximum number of organizations to catch up with in one round. */
const CAUGHT_UP = 8;
/** Results are saved together, this long after the first of them. */
const LINGER_MS = 15;
const MAX_RECORDED = 1_024;
/** Minimum time left on its lease for a delivery to start. */
const MARGIN_MS = 10_000;

/** Sends deliveries of subscriptions. Each is sent by one of the processes that share a store. */
export interface Deliverer extends Loop {
  /** Stops accepting new deliveries. */
  drain(): void;
  /** Resolves once no delivery is running. */
  idle(): Promise<void>;
  /** Aborts running deliveries and requeues them. Resolves once that is stored. */
  stop(): Promise<void>;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its parts share what is leased and due
export function openDeliverer(app: App): Deliverer {
  const trail = openTrail(app);
  const readSubscriptions = subscriptionReader(app.store.db);
  const stopping = new AbortController();
  const hand = openShares(IN_HAND);
  /** Subscriptions with due deliveries in the store. New deliveries queue behind those. */
  const behind = new Set<string>();
  /** Subscriptions that the last claim didn't get to. The next claim begins with them. */
  const unreached = new Set<string>();
  let subscriptions: ReadonlyMap<string, Subscription> = new Map();
  let isFirst = true;
  /** True while deliveries were left in the store for lack of room. */
  let isShort = false;
  let isDraining = false;
  let rounds = 0;
  let followedMs = Number.NEGATIVE_INFINITY;
  let listening = new Map<string, () => void>();

  const wake = () => app.signals.notify(OUTBOUND_TOPIC);
  const isSlow = (subscription: Subscription) => lanes.isSlow(subscription);
  const roomOf = (subscription: Subscription) =>
    isSlow(subscription)
      ? Math.min(hand.roomOf(subscription), IN_HAND_OF_SLOW - hand.of(subscription))
      : hand.roomOf(subscription);
  const isCrowded = (subscription: Subscription) => {
    const room = roomOf(subscription);
    return room < Math.min(ROOM_TO_FOLLOW, (room + hand.of(subscription)) / 2);
  };
  const reserve = (subscription: Subscription, bytes: number) => {
    if (roomOf(subscription) <= 0) return false;
    hand.take(subscription, weightOf(bytes));
    return true;
  };
  const hasRoom = (subscription: Subscription, { body }: Message) =>
    !behind.has(subscription.id) && reserve(subscription, body.length);
  const letGo = ({ subscription, event }: LeasedDelivery) => {
    hand.giveBack(subscription, weightOf(event.body.length));
    const isOver = hand.of(subscription) === 0 || (isShort && !isCrowded(subscription));
    if (!isOver) return;
    isShort = false;
    wake();
  };

  const ledger = openLedger(app);
  const lanes = openLanes<LeasedDelivery>(
    app.clock,
    ({ subscription }) => subscription,
    async (one) => {
      const subscription = subscriptions.get(one.subscription.id);
      const isLate = app.clock.now().getTime() > one.untilMs - app.config.webhookTimeout * 1000 - MARGIN_MS;
      // a stalled process may have lost it to another, and releases it otherwise
      const isLost = app.peers?.isLapsed() ?? false;
      let attempt: Attempt | null = null;
      try {
        if (subscription !== undefined && !isLate && !isLost && !isDraining) {
          const current = one.subscription === subscription ? one : { ...one, subscription };
          attempt = await sendOnce(app, current, stopping.signal);
        }
      } catch (error) {
        app.log.report(error, { at: "send a delivery", deliveryId: one.delivery.id });
      }
      ledger.add(attempt ?? one);
      letGo(one);
      return attempt && (attempt.error === null ? "well" : "badly");
    },
  );
  /** False for deliveries in progress: after the clock was set forward, their lease seems to be over. */
  const notInHand = () => {
    const ids = new Set<string>();
    for (const { delivery } of lanes.all()) ids.add(delivery.id);
    return ({ delivery }: LeasedDelivery) => !ids.has(delivery.id);
  };
  /** Releases room reserved for deliveries that another process claimed first. */
  const recount = () => {
    hand.clear();
    for (const { subscription, event } of lanes.all()) hand.take(subscription, weightOf(event.body.length));
  };

  async function subscriptionsNow(): Promise<readonly Subscription[]> {
    const found = await readSubscriptions();
    if (found === subscriptions) return [...found.values()];
    subscriptions = found;
    for (const ids of [behind, unreached]) for (const id of ids) if (!subscriptions.has(id)) ids.delete(id);
    const next = new Map<string, () => void>();
    for (const { organizationId } of subscriptions.values()) {
      if (next.has(organizationId)) continue;
      next.set(
        organizationId,
        listening.get(organizationId) ?? app.signals.listen(eventsTopic(organizationId), wake),
      );
    }
    for (const [organizationId, end] of listening) if (!next.has(organizationId)) end();
    listening = next;
    return [...subscriptions.values()];
  }

  /** Deliveries in the store: due retries, and those there was no room for. */
  async function claim(): Promise<boolean> {
    const open = [...subscriptions.values()].filter(
      (subscription) => roomOf(subscription) > 0 && !isCrowded(subscription),
    );
    isShort = open.length < subscriptions.size;
    const some = await claimSome(
      open.filter((subscription) => !isSlow(subscription)),
      CLAIMED,
    );
    const more = await claimSome(open.filter(isSlow), IN_HAND_OF_SLOW);
    return some || more;
  }

  async function claimSome(open: readonly Subscription[], most: number): Promise<boolean> {
    if (open.length === 0) return false;
    const roundRobin = [
      ...open.filter(({ id }) => unreached.has(id)),
      ...open.filter(({ id }) => !unreached.has(id)),
    ];
    const claimed = await claimDeliveries(app, roundRobin, most, reserve);
    for (const { id } of open) {
      if (claimed.unreached.has(id)) unreached.add(id);
      else unreached.delete(id);
      if (claimed.left.has(id)) behind.add(id);
      else if (!claimed.unreached.has(id)) behind.delete(id);
    }
    if (claimed.taken.length === 0) return false;
    const isNew = notInHand();
    for (const one of claimed.taken) if (isNew(one)) lanes.add(one);
    recount();
    return claimed.left.size + claimed.unreached.size > 0;
  }

  async function follow(): Promise<boolean> {
    const nowMs = app.clock.monotonic();
    const heldUp = [...subscriptions.values()].filter(
      (subscription) =>
        hand.of(subscription) >= ROOM_TO_FOLLOW &&
        !behind.has(subscription.id) &&
        !isSlow(subscription) &&
        isCrowded(subscription),
    ).length;
    const pauseMs = heldUp === subscriptions.size ? ALL_HELD_UP_MS : HELD_UP_MS;
    if (heldUp > 0 && nowMs - followedMs < pauseMs) return false;
    followedMs = nowMs;
    let hasMore = false;
    const takeUp = ({ taken, left, more }: Advance) => {
      for (const id of left) behind.add(id);
      for (const one of taken) lanes.add(one);
      hasMore ||= more;
    };
    for await (const step of trail.follow(subscriptionsNow, hasRoom)) takeUp(step);
    const heldSubscriptions = [...subscriptions.values()].filter(({ row }) => row.heldFrom !== null);
    const some = roundRobin(heldSubscriptions);
    for (const subscription of some) takeUp(await trail.catchUp(subscription, hasRoom));
    recount();
    return hasMore || some.length < heldSubscriptions.length;
  }

  /** One subscription for each of several organizations. */
  function roundRobin(receivers: readonly Subscription[]): Subscription[] {
    const groups = [...Map.groupBy(receivers, ({ organizationId }) => organizationId).values()];
    const round = rounds++;
    return Array.from({ length: Math.min(groups.length, CAUGHT_UP) }, (_, index) => {
      const group = groups[(round * CAUGHT_UP + index) % groups.length] ?? [];
      return group[round % group.length];
    }).filter((subscription) => subscription !== undefined);
  }

  return {
    name: "deliverer",
    async tick() {
      if (isDraining) return "idle";
      if (isFirst) {
        await putBackAll(app);
        await subscriptionsNow();
        isFirst = false;
      }
      const hasLeft = await claim();
      const hasMore = await follow();
      return hasLeft || hasMore ? "more" : "idle";
    },
    drain() {
      isDraining = true;
      lanes.flush();
    },
    async idle() {
      await lanes.idle();
      await ledger.flush();
    },
    async stop() {
      isDraining = true;
      stopping.abort();
      await lanes.idle();
      await ledger.flush();
      for (const end of listening.values()) end();
    },
  };
}

/** Long payloads count for more. */
const weightOf = (bytes: number) => 1 + Math.floor(bytes / UNIT_BYTES);

/** Saves the results of deliveries in batches: how an attempt ended, or that there was none. */
function openLedger(app: App) {
  let waiting: (Attempt | LeasedDelivery)[] = [];
  let writing: Promise<void> | null = null;
  let isUrgent = false;
  const isAttempt = (one: Attempt | LeasedDelivery): one is Attempt => "taken" in one;

  const write = async () => {
    while (waiting.length > 0) {
      if (waiting.length < MAX_RECORDED && !isUrgent) await app.clock.sleep(LINGER_MS);
      const group = waiting.slice(0, MAX_RECORDED);
      waiting = waiting.slice(MAX_RECORDED);
      try {
        await recordAttempts(app, group.filter(isAttempt));
        await putBack(
          app,
          group.filter((one) => !isAttempt(one)).map((one) => (one as LeasedDelivery).delivery.id),
        );
      } catch (error) {
        // They stay claimed, and are sent again when their lease ends.
        app.log.report(error, { at: "save deliveries" });
      }
    }
    writing = null;
  };
  return {
    add(one: Attempt | LeasedDelivery) {
      waiting.push(one);
      writing ??= write();
    },
    async flush() {
      isUrgent = true;
      await writing;
      isUrgent = false;
    },
  };
}
