import { and, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { App } from "../../context.ts";
import { automations, secretLabel } from "../automations/table.ts";
import { postSigned } from "../webhooks/send.ts";
import { NOTICES_TOPIC, type NoticeRow, notices } from "./table.ts";
import { takeNotices, takeUpNotices } from "./take.ts";

const REST_MS = 1_000;
const MAX_TIMEOUT_SECONDS = 15;
/** Pauses before the second and the later tries. */
const PAUSES_SECONDS = [5, 30, 120, 600];

/** How one try ended. */
type Sent = { status: string } | { reason: string };

/** Gives back one round of sending: it ends when nothing is due and nothing is in hand. */
export function openNoticeSender(app: App): (signal: AbortSignal) => Promise<number> {
  const inHand = new Map<NoticeRow, Promise<void>>();
  let isFirst = true;
  return async (signal) => {
    if (isFirst) await takeUpNotices(app);
    isFirst = false;
    for (let started = 0; ; ) {
      const isOpen = !signal.aborted && !app.stopping.aborted;
      const taken = isOpen ? await takeNotices(app, [...inHand.keys()]) : [];
      for (const row of taken)
        inHand.set(
          row,
          sendNotice(app, row, signal).finally(() => inHand.delete(row)),
        );
      started += taken.length;
      if (!isOpen) await Promise.all(inHand.values());
      if (inHand.size === 0) return started;
      const rested = new AbortController();
      const rest = app.signals.wait(NOTICES_TOPIC, REST_MS, AbortSignal.any([signal, rested.signal]));
      await Promise.race([rest, ...inHand.values()]);
      rested.abort();
    }
  };
}

/** Sends a notice once, and writes down how that ended. */
async function sendNotice(app: App, row: NoticeRow, signal: AbortSignal): Promise<void> {
  const { id, kind, automationId, channel } = row;
  const attempts = row.attempts + 1;
  const facts = { noticeId: id, kind, channel, automationId, attempts };
  try {
    const sent = await post(app, row, signal);
    const pause = PAUSES_SECONDS[attempts - 1];
    const isAgain = "reason" in sent && pause !== undefined;
    await end(app, row, {
      attempts,
      dueAt: isAgain ? timestamp(app.clock, pause * 1000) : null,
      sentAt: "reason" in sent ? null : timestamp(app.clock),
      error: "reason" in sent ? sent.reason : null,
    });
    const message = isAgain
      ? "notice waits for another try"
      : "reason" in sent
        ? "notice given up"
        : "notice sent";
    app.log.write("reason" in sent ? "warn" : "info", message, { ...facts, ...sent });
  } catch (error) {
    if (signal.aborted) return; // its lease runs out, or the next start takes it up
    app.log.report(error, { ...facts, at: "send a notice" });
  }
}

/** Nothing where the lease was lost. */
async function end(app: App, row: NoticeRow, now: Partial<NoticeRow>): Promise<void> {
  const mine = and(
    eq(notices.id, row.id),
    eq(notices.attempts, row.attempts),
    eq(notices.takenBy, app.bootId),
  );
  await app.store.write(async (db) => void (await db.update(notices).set(now).where(mine)));
}

/** Posts it, signed with the automation's secret of this moment. */
async function post(app: App, row: NoticeRow, signal: AbortSignal): Promise<Sent> {
  const { id, automationId, organizationId, target: url } = row;
  const [automation] = await app.store.db
    .select()
    .from(automations)
    .where(eq(automations.id, automationId ?? ""));
  if (!automation?.sealedSecret) return { reason: "the automation or its secret is gone" };
  const secrets = [app.secrets.open(automation.sealedSecret, secretLabel(automation))] as const;
  try {
    const reply = await postSigned(
      { clock: app.clock, egress: app.egressFor(organizationId) },
      { url, id, body: bodyOf(row), secrets },
      { timeoutMs: Math.min(app.config.webhookTimeout, MAX_TIMEOUT_SECONDS) * 1000, signal },
    );
    await reply.body.cancel();
    const isDone = reply.status >= 200 && reply.status <= 299;
    return isDone ? { status: String(reply.status) } : { reason: `the receiver answered ${reply.status}` };
  } catch (error) {
    signal.throwIfAborted();
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

/** The same at each try. */
const bodyOf = ({ id, kind, createdAt, organizationId, facts }: NoticeRow): string =>
  JSON.stringify({ id, type: kind, timestamp: createdAt, organizationId, ...facts });
