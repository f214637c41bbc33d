import type { Json, JsonObject } from "../../base/json.ts";
import { slackText } from "../../base/slack-text.ts";
import type { Context } from "../../context.ts";
import { listApprovals } from "../approvals/service.ts";
import { mayDecide, question, visibleTo } from "../decisions/wire-question.ts";
import { linkIn } from "../organizations/link.ts";

const MAX_APPROVALS = 10;
/** Longer content is shown on its page only: nobody should decide here on what they can't see. */
const MAX_CONTEXT_CHARACTERS = 2_000;

/** Lists pending approvals with their context, and with buttons for users who can decide. */
export async function approvalsMessage(ctx: Context): Promise<{ text: string; blocks: JsonObject[] }> {
  const { rows, total } = await listApprovals(ctx, "pending");
  const blocks = rows.slice(0, MAX_APPROVALS).flatMap(({ decision, automationName }): JsonObject[] => {
    const { title, description, context } = question(visibleTo(ctx, decision), ctx);
    const about = context === null ? null : readable(context);
    const text = [
      `*${slackText(visible(title)).slice(0, 500)}*`,
      ...(automationName ? [slackText(automationName)] : []),
      ...(description ? [slackText(visible(description)).slice(0, 1000)] : []),
    ].join("\n");
    const isLong = (about ?? "").length > MAX_CONTEXT_CHARACTERS;
    const page = `<${linkIn(ctx.organizationId, `${ctx.baseUrl()}/approvals`)}|open it>`;
    const note = (sentence: string): JsonObject => ({
      type: "context",
      elements: [{ type: "mrkdwn", text: sentence }],
    });
    return [
      section(text),
      ...(about === null || isLong ? [] : [section(`\`\`\`${about}\`\`\``)]),
      ...(!mayDecide(ctx, decision)
        ? []
        : decision.decisionType === "form_input"
          ? [note(`Requires a form: ${page}`)]
          : isLong
            ? [note(`Too long to show here: ${page}`)]
            : [buttons(decision.id)]),
    ];
  });
  if (total === 0) return { text: "No pending approvals.", blocks };
  const more = total > MAX_APPROVALS ? ` Showing the latest ${MAX_APPROVALS}.` : "";
  return {
    text: `${total === 1 ? "1 pending approval" : `${total} pending approvals`}.${more}`,
    blocks,
  };
}

/** Replaces invisible characters that change how text looks with their code points. */
const visible = (text: string): string =>
  text.replace(/[\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\p{Variation_Selector}]/gu, (found) =>
    found
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );

const readable = (value: Json) => slackText(visible(JSON.stringify(value, null, 1))).replaceAll("```", "'''");

const section = (text: string): JsonObject => ({ type: "section", text: { type: "mrkdwn", text } });

const buttons = (id: string): JsonObject => ({
  type: "actions",
  elements: [button("approve", "Approve", id), button("reject", "Reject", id)],
});

const button = (id: string, text: string, value: string): JsonObject => ({
  type: "button",
  action_id: id,
  text: { type: "plain_text", text },
  ...(id === "approve" ? { style: "primary" } : {}),
  value,
});
