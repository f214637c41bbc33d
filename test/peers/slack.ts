import { startReceiver } from "../support/receiver.ts";

/**
 * Responses of a Slack incoming webhook (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks).
 */
const ANSWERS = {
  ok: [200, "ok"],
  invalid_payload: [400, "invalid_payload"],
  action_prohibited: [403, "action_prohibited"],
  no_service: [404, "no_service"],
  channel_is_archived: [410, "channel_is_archived"],
  rollup_error: [500, "rollup_error"],
  rate_limited: [429, "rate_limited"],
} as const;
export type SlackAnswer = keyof typeof ANSWERS;

interface Message {
  text: string;
  blocks: { type: string; text: { type: string; text: string } }[];
}

/**
 * Slack's side of an incoming webhook. It checks messages as Slack does, and responds with `answers` in turn, then ok.
 */
export function startSlack(answers: SlackAnswer[] = []) {
  const messages: Message[] = [];
  const receiver = startReceiver((seen) => {
    const [status, words] = ANSWERS[answers.shift() ?? (isMessage(seen) ? "ok" : "invalid_payload")];
    if (status === 200) messages.push(JSON.parse(seen.text));
    const headers = { "content-type": "text/html", ...(status === 429 ? { "retry-after": "30" } : {}) };
    return new Response(words, { status, headers });
  });
  return {
    ...receiver,
    /** A URL in the format of Slack. */
    address: `${receiver.url}/services/T0001/B0001/aSecretOfTheWebhook`,
    /** The accepted messages. */
    messages,
  };
}

/** A text, and sections with texts of at most 3,000 characters (https://docs.slack.dev/reference/block-kit/blocks/section-block). */
function isMessage({ method, headers, text }: { method: string; headers: Headers; text: string }): boolean {
  if (method !== "POST" || !headers.get("content-type")?.startsWith("application/json")) return false;
  const { text: fallback, blocks } = JSON.parse(text) as Message;
  return (
    typeof fallback === "string" &&
    fallback !== "" &&
    blocks.every(
      ({ type, text }) =>
        type === "section" &&
        ["plain_text", "mrkdwn"].includes(text.type) &&
        text.text.length > 0 &&
        text.text.length <= 3_000,
    )
  );
}
