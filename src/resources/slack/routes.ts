import { AppError } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { anything, UUID } from "../../base/shape.ts";
import type { App } from "../../context.ts";
import { readBytes } from "../../http/body.ts";
import { requireFreshSignIn } from "../../http/fresh.ts";
import { openOperation, operation, Reply, type Visit } from "../../http/operation.ts";
import { isSameOrigin } from "../../http/origin.ts";
import { requireAllScopes } from "../access-tokens/scopes.ts";
import { obey, pressed } from "./commands.ts";
import { findLinkToken, tieByToken } from "./links.ts";
import { mention } from "./mention.ts";
import { checkSlack, formOf, objectOf } from "./request.ts";
import type { Target } from "./table.ts";
import { Linked, LinkPreview, LinkQuery } from "./wire.ts";

const tag = "Slack";

async function slackBody(app: App, visit: Visit): Promise<Uint8Array> {
  const body = await readBytes(app, visit);
  checkSlack(app, visit.request.headers, body);
  return body;
}

const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");
/** Identifies repeated requests that have no ID from Slack. */
const hashOf = (bytes: Uint8Array): string => Bun.SHA256.hash(bytes, "hex");
const part = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
const errors = [401, 413, 415, 429] as const;
/** Subtypes of messages that a user wrote. Others are about another message: it was edited or deleted, for example. */
const WRITTEN: ReadonlySet<string> = new Set(["file_share", "me_message", "thread_broadcast"]);

export const slackOperations = [
  operation({
    method: "GET",
    path: "/api/inbound/link-callback",
    audience: "any",
    personal: true,
    tag,
    summary: "Link a Slack account",
    description:
      "The token is in the link that Slack shows to users whose account isn't linked yet. A browser that opens the link first shows the Slack user; the accounts are linked when the user confirms. A token needs all scopes.",
    query: LinkQuery,
    response: Linked,
    errors: [401, 403, 410],
    async handle({ app, ctx, query, identity, visit }) {
      if (identity.carrier === "cookie") {
        // Otherwise, anyone could send around a link and act as the user who opens it.
        if (visit.request.headers.get("sec-fetch-mode") === "navigate") {
          return new Reply(303, null, { location: `/link?token=${encodeURIComponent(query.token)}` });
        }
        if (!isSameOrigin(app, visit))
          throw new AppError("csrf", "Open the link in a browser, and agree there.");
        requireFreshSignIn(app, identity);
      }
      requireAllScopes(ctx);
      const { teamId, slackUserId } = await tieByToken(ctx, query.token);
      return { linked: true, provider: "slack", teamId, chatUserId: slackUserId };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/chat-links",
    audience: "any",
    personal: true,
    tag,
    summary: "Get a Slack link request",
    description: "Shows the Slack user to be linked, before you confirm.",
    query: LinkQuery,
    response: LinkPreview,
    errors: [410],
    async handle({ ctx, query }) {
      const { teamName, slackUserName, expiresAt } = await findLinkToken(ctx, query.token);
      return { provider: "slack", teamName, userName: slackUserName, expiresAt };
    },
  }),
  openOperation({
    method: "POST",
    path: "/api/inbound/slack/commands",
    audience: "signature",
    tag,
    summary: "Receive a Slack slash command",
    description: "Responds within 3 seconds. The result of a run that it starts is sent to `response_url`.",
    consumes: "application/x-www-form-urlencoded",
    response: anything(),
    example: { response_type: "ephemeral", text: "No pending approvals." },
    errors,
    async handle({ app, visit }) {
      const bytes = await slackBody(app, visit);
      const form = formOf(bytes);
      const { team_id = "", team_domain = "", user_id = "", user_name = "", response_url, trigger_id } = form;
      return obey(app, {
        sender: { teamId: team_id, teamName: team_domain, userId: user_id, userName: user_name },
        text: form.text ?? "",
        key: `command:${team_id}:${trigger_id ?? hashOf(bytes)}`,
        target: response_url ? { url: response_url } : null,
        correlationId: visit.correlationId,
      });
    },
  }),
  openOperation({
    method: "POST",
    path: "/api/inbound/slack/interactions",
    audience: "signature",
    tag,
    summary: "Receive a Slack button click",
    description: "Approves or rejects an approval.",
    consumes: "application/x-www-form-urlencoded",
    response: anything(),
    example: null,
    errors: [...errors, 422],
    async handle({ app, visit }) {
      const payload = objectOf(formOf(await slackBody(app, visit)).payload ?? "null");
      const [user, team] = [part(payload.user), part(payload.team)];
      const url = text(payload.response_url);
      const sender = {
        teamId: text(team.id),
        teamName: text(team.domain),
        userId: text(user.id),
        userName: text(user.username) || text(user.name),
      };
      const answers = [];
      for (const { verb, id } of pressed(payload)) {
        if (!UUID.test(id)) continue;
        const key = `interaction:${text(payload.trigger_id) || visit.correlationId}:${id}`;
        const target: Target | null = url === "" ? null : { url };
        answers.push(
          await obey(app, { sender, text: `${verb} ${id}`, key, target, correlationId: visit.correlationId }),
        );
      }
      return answers.length === 0
        ? null
        : { ...answers[0], replace_original: false, text: answers.map((answer) => answer.text).join("\n") };
    },
  }),
  openOperation({
    method: "POST",
    path: "/api/inbound/slack/events",
    audience: "signature",
    tag,
    summary: "Receive a Slack event",
    description:
      "A mention, or the URL check. A mention is executed, and answered in its thread if WEIR_SLACK_BOT_TOKEN is set. A repeated event starts nothing.",
    consumes: "application/json",
    response: anything(),
    example: null,
    bodyExample: {
      type: "event_callback",
      team_id: "T1",
      event_id: "Ev1",
      event: { type: "app_mention", user: "U1", text: "<@UWEIR> help", channel: "C1", ts: "17.1" },
    },
    errors: [...errors, 422],
    async handle({ app, visit }) {
      const bytes = await slackBody(app, visit);
      const body = objectOf(new TextDecoder().decode(bytes));
      if (body.type === "url_verification") return { challenge: text(body.challenge) };
      const event = part(body.event);
      const isMention =
        event.type === "app_mention" || (event.type === "message" && event.channel_type === "im");
      const isWritten = event.subtype === undefined || WRITTEN.has(text(event.subtype));
      if (!isMention || event.bot_id !== undefined || !isWritten) return null;
      await answerMention(app, visit, { body, event, hash: hashOf(bytes) });
      return null;
    },
  }),
];

async function answerMention(
  app: App,
  visit: Visit,
  { body, event, hash }: { body: JsonObject; event: JsonObject; hash: string },
): Promise<void> {
  const sender = {
    teamId: text(body.team_id),
    teamName: text(body.team_id),
    userId: text(event.user),
    userName: text(event.user),
  };
  const target = { channel: text(event.channel), threadTs: text(event.thread_ts) || text(event.ts) };
  await mention(app, {
    sender,
    text: text(event.text).replace(/^\s*<@[A-Z0-9]+>\s*/, ""),
    key: `event:${text(body.event_id) || hash}`,
    target,
    correlationId: visit.correlationId,
  });
}
