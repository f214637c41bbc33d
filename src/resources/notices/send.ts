import { and, eq, isNotNull, isNull, lt } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { type App, contextForRun, SYSTEM, type WriteContext, write } from "../../context.ts";
import { type Translate, textsFor } from "../../mail/texts.ts";
import { automations } from "../automations/table.ts";
import { organizations } from "../organizations/table.ts";
import { users } from "../users/table.ts";
import { openQuestions } from "./approvals.ts";
import { postSlack, postToPerson, postWebhook, type Sent, sendMail } from "./channels.ts";
import { pauseMsOf } from "./put.ts";
import { isSame, recipientsOf } from "./recipients.ts";
import { NOTICES_TOPIC, type NoticeKind, type NoticeRow, notices } from "./table.ts";
import { takeNotices, takeUpNotices } from "./take.ts";
import { approvalContent, contentOf } from "./words.ts";

const REST_MS = 1_000;
/** Pauses before the second and later attempts. */
const PAUSES_SECONDS = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400];

/** A resource that sends its own notices, and is notified of the outcome. */
export interface NoticeWriter {
  send(
    app: App,
    row: NoticeRow,
    organization: { id: string; name: string },
    signal: AbortSignal,
  ): Promise<Sent>;
  /** Called in the transaction that records the outcome. */
  ended(tx: WriteContext, row: NoticeRow): Promise<void>;
}
export type NoticeWriters = Readonly<Partial<Record<NoticeKind, NoticeWriter>>>;

/** Returns one round of sending. It ends when nothing is due and nothing is in progress. */
export function openNoticeSender(
  app: App,
  writers: NoticeWriters = {},
): (signal: AbortSignal) => Promise<number> {
  const inHand = new Map<NoticeRow, Promise<void>>();
  let isFirst = true;
  return async (signal) => {
    if (isFirst) await takeUpNotices(app);
    isFirst = false;
    for (let started = 0; ; ) {
      const isOpen = !signal.aborted && !app.stopping.aborted;
      const rows = isOpen ? await takeNotices(app, [...inHand.keys()]) : [];
      for (const row of rows) {
        const work = sendNotice(app, row, writers, signal).finally(() => inHand.delete(row));
        inHand.set(row, work);
      }
      started += rows.length;
      if (!isOpen) await Promise.all(inHand.values());
      if (inHand.size === 0) return started;
      const rested = new AbortController();
      const rest = app.signals.wait(NOTICES_TOPIC, REST_MS, AbortSignal.any([signal, rested.signal]));
      await Promise.race([rest, ...inHand.values()]);
      rested.abort();
    }
  };
}

/** Attempts to send a notice, and records the outcome. */
async function sendNotice(
  app: App,
  row: NoticeRow,
  writers: NoticeWriters,
  signal: AbortSignal,
): Promise<void> {
  const { id: noticeId, kind, channel, automationId } = row;
  const facts = { noticeId, kind, channel, automationId };
  try {
    const sent = await dispatch(app, row, writers, signal).catch((error: unknown): Sent => {
      signal.throwIfAborted();
      app.log.report(error, { ...facts, at: "send a notice" });
      return { how: "again", reason: "Internal error. See the server log." };
    });
    const { message, now } = endOf(app, row, sent);
    await save(app, row, now, writers[kind]);
    const reason = "reason" in sent ? { reason: sent.reason } : {};
    const level = sent.how === "sent" || sent.how === "none" ? "info" : "warn";
    app.log.write(level, message, { ...facts, ...reason });
  } catch (error) {
    if (signal.aborted) return; // Retried after the next start.
    app.log.report(error, { ...facts, at: "write down how a notice was sent" });
  }
}

const GONE: Sent = { how: "none", reason: "Its recipient or subject no longer exists." };
const DECIDED: Sent = { how: "none", reason: "Already decided, or no longer assigned to this user." };

/** Texts in the recipient's language. English for an address without a user. */
async function textsOf(app: App, { userId }: NoticeRow): Promise<Translate> {
  if (userId === null) return textsFor(null);
  const [user] = await app.store.db.select({ locale: users.locale }).from(users).where(eq(users.id, userId));
  return textsFor(user?.locale ?? null);
}

/** Sends it if its recipient should still be notified. */
async function dispatch(
  app: App,
  row: NoticeRow,
  writers: NoticeWriters,
  signal: AbortSignal,
): Promise<Sent> {
  const [organization] = await app.store.db
    .select({ id: organizations.id, name: organizations.name })
    .from(organizations)
    .where(and(eq(organizations.id, row.organizationId), isNull(organizations.removedAt)));
  const [automation] = await app.store.db
    .select()
    .from(automations)
    .where(and(eq(automations.id, row.automationId ?? ""), isNull(automations.deletedAt)));
  if (!organization) return GONE;
  const writer = writers[row.kind];
  if (writer) return writer.send(app, row, organization, signal);
  if (row.kind === "approval.open") {
    const questions = await openQuestions(app, row);
    const about = { count: row.count, organization, automation: automation?.name ?? null };
    const content = approvalContent(questions, about, app.baseUrl(), await textsOf(app, row));
    if (questions.length === 0) return DECIDED;
    return row.channel === "mail"
      ? sendMail(app, row, content, signal)
      : postToPerson(app, row, content, signal);
  }
  if (!automation) return GONE;
  if (row.kind === "webhook.failing" || row.kind === "automation.stale")
    return postWebhook(app, row, automation, signal);
  const recipients = await recipientsOf(app.store.db, automation);
  if (!recipients.some((one) => isSame(one, row))) return GONE;
  const content = contentOf(row, organization, app.baseUrl(), await textsOf(app, row));
  if (row.channel === "mail") return sendMail(app, row, content, signal);
  if (row.channel === "slack") return postSlack(app, row, automation, content, signal);
  return postWebhook(app, row, automation, signal);
}

function endOf(app: App, row: NoticeRow, sent: Sent): { message: string; now: Partial<NoticeRow> } {
  const attempts = row.attempts + 1;
  if (sent.how === "sent") {
    const sentAt = timestamp(app.clock);
    return { message: "notice sent", now: { attempts, dueAt: null, sentAt, error: null } };
  }
  const error = sent.reason;
  if (sent.how === "later")
    return {
      message: "notice waits",
      now: { dueAt: timestamp(app.clock, sent.afterSeconds * 1000), error },
    };
  if (sent.how === "none") return { message: "notice dropped", now: { dueAt: null, error } };
  const pause = PAUSES_SECONDS[row.attempts];
  if (sent.how === "final" || pause === undefined)
    return { message: "notice given up", now: { attempts, dueAt: null, error } };
  const seconds = Math.max(pause, sent.afterSeconds ?? 0);
  const dueAt = timestamp(app.clock, seconds * 1000);
  return { message: "notice will be retried", now: { attempts, dueAt, error } };
}

/** Does nothing if the lease was lost. The next notice of the same thing is sent an hour after the last one. */
async function save(
  app: App,
  row: NoticeRow,
  now: Partial<NoticeRow>,
  writer: NoticeWriter | undefined,
): Promise<void> {
  const isMine = and(
    eq(notices.id, row.id),
    eq(notices.attempts, row.attempts),
    eq(notices.takenBy, app.bootId),
  );
  if (writer) {
    const { organizationId } = row;
    const who = { organizationId, actor: { ...SYSTEM }, correlationId: app.ids.uuid() };
    await write(contextForRun(app, who), async (tx) => {
      const [saved] = await tx.db.update(notices).set(now).where(isMine).returning();
      if (saved?.dueAt === null) await writer.ended(tx, saved);
    });
    return;
  }
  await app.store.write(async (db) => {
    await db.update(notices).set(now).where(isMine);
    if (!now.sentAt) return;
    const dueAt = timestamp(app.clock, pauseMsOf(row.kind));
    const isNext = and(eq(notices.thing, row.thing), isNotNull(notices.dueAt), lt(notices.dueAt, dueAt));
    await db.update(notices).set({ dueAt }).where(isNext);
  });
}
