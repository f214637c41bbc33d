import type { App } from "../context.ts";
import { eventsTopic } from "../resources/events/service.ts";
import { type Hook, readHooks } from "../resources/webhooks/hooks.ts";
import { type Outcome, sendOnce } from "../resources/webhooks/send.ts";
import { settle } from "../resources/webhooks/settle.ts";
import { OUTBOUND_TOPIC } from "../resources/webhooks/table.ts";
import { claimDeliveries, openTrail, putBack, putBackAll, type Taken } from "../resources/webhooks/take.ts";
import { openLanes } from "./lanes.ts";
import type { Loop } from "./loop.ts";

/** Deliveries of one subscription that this process has in hand at most: enough to send while more are made durable. */
const TAKEN_PER_HOOK = 3_072;
/** With room for fewer, the trail is not followed for a moment, so that its deliveries need not be stored twice. */
const ROOM_TO_FOLLOW = 1_024;
const HELD_UP_MS = 250;
/** What has ended is written down together, this long after the first of it. */
const LINGER_MS = 15;
const SETTLED_AT_ONCE = 1_024;
/** A delivery whose time is almost over is not begun any more. */
const MARGIN_MS = 10_000;

/** Sends what subscriptions wait for. One process of several that share a store sends each delivery. */
export interface Deliverer extends Loop {
  /** Takes nothing new from now on. */
  drain(): void;
  /** Resolves once nothing is under way. */
  idle(): Promise<void>;
  /** Ends what is under way and puts it back; resolves once that is stored. */
  stop(): Promise<void>;
}

export function openDeliverer(app: App): Deliverer {
  const trail = openTrail(app);
  const stopping = new AbortController();
  const taken = new Map<string, number>();
  /** Subscriptions with deliveries in the store that are due: what is new stands behind those. */
  let behind = new Set<string>();
  let hooks = new Map<string, Hook>();
  let isFirst = true;
  let isDraining = false;
  let followedMs = Number.NEGATIVE_INFINITY;
  let listening = new Map<string, () => void>();

  const wake = () => app.signals.notify(OUTBOUND_TOPIC);
  const roomOf = ({ id }: Hook) => TAKEN_PER_HOOK - (taken.get(id) ?? 0);
  const hasRoom = (hook: Hook) => {
    if (behind.has(hook.id) || roomOf(hook) <= 0) return false;
    taken.set(hook.id, (taken.get(hook.id) ?? 0) + 1);
    return true;
  };
  const letGo = ({ hook }: Taken) => {
    const left = (taken.get(hook.id) ?? 1) - 1;
    if (left > 0) taken.set(hook.id, left);
    else taken.delete(hook.id);
    if (left === TAKEN_PER_HOOK - ROOM_TO_FOLLOW || left === 0) wake();
  };

  const ledger = openLedger(app);
  const lanes = openLanes<Taken>(app.clock, async (one) => {
    const hook = hooks.get(one.hook.id);
    const isLate = app.clock.now().getTime() > one.untilMs - app.config.webhookTimeout * 1000 - MARGIN_MS;
    // a process that stood still may have lost it to another, and gives it back if it has not
    const isLost = app.fellows?.isLapsed() ?? false;
    const outcome =
      hook === undefined || isLate || isLost || isDraining
        ? null
        : await sendOnce(app, { ...one, hook }, stopping.signal).catch((error: unknown) => {
            app.log.report(error, { at: "send a delivery", deliveryId: one.delivery.id });
            return null;
          });
    ledger.add(outcome ?? one);
    letGo(one);
  });
  const begin = (all: readonly Taken[]) => {
    for (const one of all) lanes.add(one.hook.host, one);
  };
  /** False for what is in hand already: where the clock was set forward, its time seems to be over. */
  const notInHand = () => {
    const ids = new Set<string>();
    for (const { delivery } of lanes.all()) ids.add(delivery.id);
    return ({ delivery }: Taken) => !ids.has(delivery.id);
  };
  /** Room that was held for what another process or a test was faster with. */
  const recount = () => {
    taken.clear();
    for (const { hook } of lanes.all()) taken.set(hook.id, (taken.get(hook.id) ?? 0) + 1);
  };

  async function look(): Promise<readonly Hook[]> {
    const found = await readHooks(app.store.db);
    hooks = new Map(found.map((hook) => [hook.id, hook]));
    const next = new Map<string, () => void>();
    for (const { organizationId } of found) {
      if (next.has(organizationId)) continue;
      next.set(
        organizationId,
        listening.get(organizationId) ?? app.signals.listen(eventsTopic(organizationId), wake),
      );
    }
    for (const [organizationId, end] of listening) if (!next.has(organizationId)) end();
    listening = next;
    return found;
  }

  /** Deliveries that stand in the store: tries that are due again, and what there was no room for. */
  async function claim(): Promise<boolean> {
    const open = [...hooks.values()].filter((hook) => roomOf(hook) >= ROOM_TO_FOLLOW);
    if (open.length === 0) return false;
    const claimed = await claimDeliveries(app, open);
    const looked = new Set(open.map(({ id }) => id));
    behind = new Set([...[...behind].filter((id) => !looked.has(id)), ...claimed.left]);
    const fresh = claimed.taken.length > 0 ? claimed.taken.filter(notInHand()) : [];
    for (const { hook } of fresh) taken.set(hook.id, (taken.get(hook.id) ?? 0) + 1);
    begin(fresh);
    return claimed.left.size > 0;
  }

  async function follow(): Promise<boolean> {
    const nowMs = app.clock.monotonic();
    const isCrowded = [...hooks.values()].some(
      (hook) => !behind.has(hook.id) && roomOf(hook) < ROOM_TO_FOLLOW,
    );
    if (isCrowded && nowMs - followedMs < HELD_UP_MS) return false;
    followedMs = nowMs;
    const steps = [await trail.follow(look, hasRoom)];
    for (const hook of hooks.values()) {
      if (hook.row.heldFrom !== null) steps.push(await trail.catchUp(hook, hasRoom));
    }
    for (const step of steps) {
      for (const id of step.left) behind.add(id);
      begin(step.taken);
    }
    recount();
    return steps.some(({ more }) => more);
  }

  return {
    name: "deliverer",
    async tick() {
      if (isDraining) return "idle";
      if (isFirst) {
        await putBackAll(app);
        await look();
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

/** Writes down in groups what came of deliveries: how a try ended, or that there was none. */
function openLedger(app: App) {
  let waiting: (Outcome | Taken)[] = [];
  let writing: Promise<void> | null = null;
  let isUrgent = false;
  const isOutcome = (one: Outcome | Taken): one is Outcome => "taken" in one;

  const write = async () => {
    while (waiting.length > 0) {
      if (waiting.length < SETTLED_AT_ONCE && !isUrgent) await app.clock.sleep(LINGER_MS);
      const group = waiting.slice(0, SETTLED_AT_ONCE);
      waiting = waiting.slice(SETTLED_AT_ONCE);
      try {
        await settle(app, group.filter(isOutcome));
        await putBack(
          app,
          group.filter((one) => !isOutcome(one)).map((one) => (one as Taken).delivery.id),
        );
      } catch (error) {
        // They stay taken, and are sent again once their time is over.
        app.log.report(error, { at: "write down deliveries" });
      }
    }
    writing = null;
  };
  return {
    add(one: Outcome | Taken) {
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
