import { and, asc, eq, isNotNull, lte, or, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject, parseJson } from "../../base/json.ts";
import { slackText } from "../../base/slack-text.ts";
import type { App, Context, WriteContext } from "../../context.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { automationRuns } from "../automations/table.ts";
import { linkIn } from "../organizations/link.ts";
import { actionRuns } from "../runs/table.ts";
import { type ReplyRow, slackReplies, type Target, targetLabel } from "./table.ts";

/** Slack accepts answers at a `response_url` for half an hour. The result of a longer run is shown only in Weir. */
const LIFETIME_MS = 29 * 60 * 1000;
const PAUSES_MS = [2_000, 10_000, 60_000, 300_000];
const TIMEOUT_MS = 10_000;
const BATCH = 20;
const MAX_TEXT_CHARACTERS = 2_900;

/** What to report: a text now, or how a run ended. */
export type News = { text: string } | { runKind: "action" | "automation"; runId: string };

/** Queues an answer. It is sent once the transaction is durable, and for a run once that has ended. */
export async function reply(tx: WriteContext, target: Target, news: News): Promise<void> {
  const id = tx.ids.uuid();
  const at = timestamp(tx.clock);
  const { organizationId } = tx;
  const row: ReplyRow = {
    id,
    organizationId,
    sealedTarget: await tx.secrets.seal(JSON.stringify(target), targetLabel({ id, organizationId })),
    runKind: "runKind" in news ? news.runKind : null,
    runId: "runId" in news ? news.runId : null,
    text: "text" in news ? news.text : null,
    attempts: 0,
    dueAt: at,
    createdAt: at,
  };
  await tx.db.insert(slackReplies).values(row);
}

const dueReplies = prepared((db: ReadDb) =>
  db
    .select({ reply: slackReplies, action: actionRuns, automation: automationRuns })
    .from(slackReplies)
    .leftJoin(actionRuns, and(eq(slackReplies.runKind, "action"), eq(actionRuns.id, slackReplies.runId)))
    .leftJoin(
      automationRuns,
      and(eq(slackReplies.runKind, "automation"), eq(automationRuns.id, slackReplies.runId)),
    )
    .where(
      and(
        lte(slackReplies.dueAt, sql.placeholder("now")),
        or(
          isNotNull(slackReplies.text),
          isNotNull(actionRuns.completedAt),
          isNotNull(automationRuns.completedAt),
          lte(slackReplies.createdAt, sql.placeholder("latest")),
        ),
      ),
    )
    .orderBy(asc(slackReplies.dueAt))
    .limit(BATCH)
    .prepare(),
);

/** Sends due answers. Returns how many. */
export async function sendDueReplies(app: App, signal: AbortSignal): Promise<number> {
  const due = await dueReplies(app.store.db).all({
    now: timestamp(app.clock),
    latest: timestamp(app.clock, -LIFETIME_MS),
  });
  for (const { reply, action, automation } of due) {
    signal.throwIfAborted();
    if (!(await take(app, reply))) continue; // Another process has it.
    const run = action ?? automation;
    const text = reply.text ?? (run?.completedAt ? endOf(app, run, reply) : null);
    await recordReply(app, reply, text === null ? "late" : await send(app, reply, text, signal));
  }
  return due.length;
}

/** How long one process has to send an answer before another one may: if it crashes, the answer is sent again. */
const LEASE_MS = 30_000;

async function take(app: App, { id, dueAt }: ReplyRow): Promise<boolean> {
  const { changes } = await app.store.write((db) =>
    db
      .update(slackReplies)
      .set({ dueAt: timestamp(app.clock, LEASE_MS) })
      .where(and(eq(slackReplies.id, id), eq(slackReplies.dueAt, dueAt))),
  );
  return changes > 0;
}

/** Returns how a run ended, in a few lines. */
function endOf(
  app: App,
  run: { id: string; status: string; result: Json; error: { message: string } | null },
  reply: ReplyRow,
): string {
  const page = reply.runKind === "action" ? "runs" : "automation-runs";
  const where = `<${linkIn(reply.organizationId, `${app.baseUrl()}/${page}/${run.id}`)}|Open the run>`;
  if (run.status !== "completed")
    return `The run ${run.status === "cancelled" ? "was cancelled" : run.status}: ${slackText(run.error?.message ?? "no reason given")}\n${where}`;
  const { text } = isObject(run.result) ? run.result : {};
  if (typeof text === "string") return slackText(text).slice(0, MAX_TEXT_CHARACTERS);
  const shown = JSON.stringify(run.result, null, 1);
  const cut = shown.length > MAX_TEXT_CHARACTERS ? `${shown.slice(0, MAX_TEXT_CHARACTERS)} …` : shown;
  return `The run completed. ${where}\n\`\`\`${slackText(cut).replaceAll("```", "'''")}\`\`\``;
}

type Sent = "sent" | "refused" | "again" | "late";

async function send(app: App, row: ReplyRow, text: string, signal: AbortSignal): Promise<Sent> {
  const target = JSON.parse(await app.secrets.open(row.sealedTarget, targetLabel(row))) as Target;
  const isDirect = "url" in target;
  const body: JsonObject = isDirect
    ? { response_type: "ephemeral", replace_original: false, text }
    : { channel: target.channel, thread_ts: target.threadTs, text };
  try {
    const response = await app.egress.fetch(
      isDirect ? target.url : `${app.config.slackApiUrl}/chat.postMessage`,
      {
        method: "POST",
        headers: {
          "content-type": "application/json; charset=utf-8",
          ...(isDirect ? {} : { authorization: `Bearer ${app.slack.botToken}` }),
        },
        body: JSON.stringify(body),
        signal,
        timeoutMs: TIMEOUT_MS,
        maxRedirects: 0,
      },
    );
    const { bytes } = await response.bytes(64 * 1024);
    if (response.status === 429 || response.status >= 500) return "again";
    if (response.status >= 300) return "refused";
    if (isDirect) return "sent";
    const answer = parseJson(new TextDecoder().decode(bytes));
    if (isObject(answer) && answer.ok === true) return "sent";
    app.log.write("warn", "Slack rejected a reply", {
      reason: isObject(answer) ? String(answer.error) : "no JSON",
    });
    return "refused";
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    app.log.write("warn", "sending a reply to Slack failed", {
      code: error.code,
      reason: error.message,
    });
    return error.retryable ? "again" : "refused";
  }
}

async function recordReply(app: App, { id, attempts }: ReplyRow, sent: Sent): Promise<void> {
  const pause = PAUSES_MS[attempts];
  await app.store.write(async (db) => {
    if (sent !== "again" || pause === undefined) {
      await db.delete(slackReplies).where(eq(slackReplies.id, id));
      return;
    }
    await db
      .update(slackReplies)
      .set({ attempts: sql`${slackReplies.attempts} + 1`, dueAt: timestamp(app.clock, pause) })
      .where(eq(slackReplies.id, id));
  });
}

/** Whether the user may do more than read. */
export const mayAct = ({ role }: Pick<Context, "role">): boolean => role !== "viewer";
