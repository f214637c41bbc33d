import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { isObject, parseJson } from "../../base/json.ts";
import { slackText } from "../../base/slack-text.ts";
import type { App } from "../../context.ts";
import { type LetterContent, letterOf, oneLine } from "../../mail/letter.ts";
import { type AutomationRow, secretLabel } from "../automations/table.ts";
import { NO_MAIL_SERVER } from "../automations/wire-warnings.ts";
import { postSigned } from "../webhooks/send.ts";
import { slackAddressOf } from "./slack-addresses.ts";
import type { NoticeRow } from "./table.ts";
import { bodyOf } from "./words.ts";

/**
 * Outcome of one attempt: `again` may succeed later, `final` won't, `later` wasn't attempted yet, `none` is no longer
 * needed.
 */
export type Sent =
  | { how: "sent" }
  | { how: "none"; reason: string }
  | { how: "again" | "final"; reason: string; afterSeconds?: number }
  | { how: "later"; reason: string; afterSeconds: number };

const TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_SECONDS = 15;
/** Timeout for a mail server that keeps talking and never accepts the email. */
const MAIL_MS = 40_000;

/** Rate limit for emails of one organization, … */
const MAIL_RATE = { perMinute: 30, burst: 100 };
/** … and for those to recipients outside it. */
const OUTSIDE_RATE = { perMinute: 1, burst: 20 };

/** Rate limit for approvals of one user. Beyond this, they are grouped. */
const APPROVAL_RATE = { perMinute: 1, burst: 10 };

export async function sendMail(
  app: App,
  { id, kind, organizationId, target, userId }: NoticeRow,
  content: LetterContent,
  signal: AbortSignal,
): Promise<Sent> {
  if (app.mailer === null) return { how: "final", reason: NO_MAIL_SERVER };
  const rates = [
    [`notices:${organizationId}`, MAIL_RATE],
    ...(kind === "approval.open" ? [[`notices-approvals:${userId}`, APPROVAL_RATE] as const] : []),
    ...(userId === null ? [[`notices-outside:${organizationId}`, OUTSIDE_RATE] as const] : []),
  ] as const;
  for (const [key, rate] of rates) {
    const { retryAfterSeconds } = app.limiter.take(key, rate);
    if (retryAfterSeconds > 0)
      return { how: "later", reason: "Too many emails at once.", afterSeconds: retryAfterSeconds };
  }
  const { hostname } = new URL(app.baseUrl());
  const letter = { ...letterOf(target, content), messageId: `<${id}@${hostname}>` };
  const limit = AbortSignal.timeout(MAIL_MS);
  try {
    await app.mailer.send(letter, AbortSignal.any([signal, limit]));
    return { how: "sent" };
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted) return { how: "again", reason: "The mail server didn't accept the email in time." };
    return failure(error);
  }
}

/** Sends through an incoming webhook (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks). */
export async function postSlack(
  app: App,
  row: NoticeRow,
  automation: AutomationRow,
  content: LetterContent,
  signal: AbortSignal,
): Promise<Sent> {
  const address = slackAddressOf(app, automation, row.target);
  if (address === null) return { how: "final", reason: "The automation's alerts no longer include it." };
  try {
    const reply = await app.egressFor(row.organizationId).fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json; charset=utf-8" },
      body: JSON.stringify(slackMessage(content)),
      maxRedirects: 0,
      timeoutMs: TIMEOUT_MS,
      signal,
    });
    return await slackReply(reply);
  } catch (error) {
    signal.throwIfAborted();
    return failure(error);
  }
}

/** Sent by the bot to a linked Slack user (https://docs.slack.dev/reference/methods/chat.postMessage). */
export async function postToPerson(
  app: App,
  { target }: NoticeRow,
  content: LetterContent,
  signal: AbortSignal,
): Promise<Sent> {
  try {
    const reply = await app.egress.fetch(`${app.config.slackApiUrl}/chat.postMessage`, {
      method: "POST",
      headers: {
        "content-type": "application/json; charset=utf-8",
        authorization: `Bearer ${app.slack.botToken}`,
      },
      body: JSON.stringify({ channel: target, ...slackMessage(content) }),
      maxRedirects: 0,
      timeoutMs: TIMEOUT_MS,
      signal,
    });
    if (reply.status !== 200) return await slackReply(reply);
    const { bytes } = await reply.bytes(64 * 1024);
    const answer = parseJson(new TextDecoder().decode(bytes));
    if (isObject(answer) && answer.ok === true) return { how: "sent" };
    return { how: "final", reason: `Slack answered: ${isObject(answer) ? String(answer.error) : "no JSON"}` };
  } catch (error) {
    signal.throwIfAborted();
    return failure(error);
  }
}

/** 429 and 5xx are temporary. Any other error means that the URL or message was rejected. */
async function slackReply(reply: EgressResponse): Promise<Sent> {
  const { bytes } = await reply.bytes(1024);
  if (reply.status >= 200 && reply.status <= 299) return { how: "sent" };
  const words = oneLine(new TextDecoder().decode(bytes), 200);
  const reason = `Slack answered ${reply.status}${words === "" ? "" : `: ${words}`}`;
  if (reply.status !== 429 && reply.status < 500) return { how: "final", reason };
  const seconds = Number(reply.headers.get("retry-after"));
  return { how: "again", reason, ...(seconds > 0 ? { afterSeconds: Math.min(seconds, 3600) } : {}) };
}

const MAX_SECTION_CHARACTERS = 2_900;

function slackMessage({ subject, lines, facts = [], link }: LetterContent) {
  const plain = (text: string) => slackText(oneLine(text, 1_000));
  const table = facts.map(([name, value]) => `${plain(name)}: ${plain(value)}`);
  const words = [...lines.map(plain), ...table].join("\n").slice(0, MAX_SECTION_CHARACTERS);
  const section = (type: "plain_text" | "mrkdwn", text: string) => ({
    type: "section",
    text: { type, text },
  });
  return {
    text: plain(subject),
    blocks: [section("plain_text", words), section("mrkdwn", `<${link.url}|${plain(link.label)}>`)],
  };
}

/** Signs with the automation's current secret. */
export async function postWebhook(
  app: App,
  row: NoticeRow,
  automation: AutomationRow,
  signal: AbortSignal,
): Promise<Sent> {
  if (!automation.sealedSecret) return { how: "final", reason: "The automation no longer has a secret." };
  const secrets = [app.secrets.open(automation.sealedSecret, secretLabel(automation))] as const;
  try {
    const reply = await postSigned(
      { clock: app.clock, egress: app.egressFor(row.organizationId) },
      { url: row.target, id: row.id, body: bodyOf(row), secrets },
      { timeoutMs: Math.min(app.config.webhookTimeout, MAX_TIMEOUT_SECONDS) * 1000, signal },
    );
    await reply.body.cancel();
    const isDone = reply.status >= 200 && reply.status <= 299;
    return isDone ? { how: "sent" } : { how: "again", reason: `The receiver returned ${reply.status}.` };
  } catch (error) {
    signal.throwIfAborted();
    return failure(error);
  }
}

/** An error that isn't Weir's fault may pass, unless it is marked as final. */
function failure(error: unknown): Sent {
  if (!(error instanceof AppError)) throw error;
  const isFinal = error.code === "upstream" && !error.retryable;
  return { how: isFinal ? "final" : "again", reason: error.message };
}
