import { and, eq, isNull } from "drizzle-orm";
import { AppError, InvalidInput } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject, parseJson } from "../../base/json.ts";
import { slackText } from "../../base/slack-text.ts";
import { type App, type Context, write } from "../../context.ts";
import { runAutomation } from "../../flows/start.ts";
import { enqueueRun, type Trigger } from "../../queue/enqueue.ts";
import { findActionBySlug, runAction } from "../actions/service.ts";
import { decideApproval } from "../approvals/service.ts";
import { automations } from "../automations/table.ts";
import { linkIn } from "../organizations/link.ts";
import { findCurrentOrganization } from "../organizations/service.ts";
import { findMe } from "../users/service.ts";
import { unlinkSlack } from "../users/slack-links.ts";
import { approvalsMessage } from "./approvals.ts";
import { contextOf, linkAddress, linkOf, type Sender } from "./links.ts";
import { mayAct, reply } from "./replies.ts";
import { isFirst } from "./seen.ts";
import type { Target } from "./table.ts";

/** Shown immediately, only to the sender. */
export type Answer = { response_type: "ephemeral"; text: string; blocks?: JsonObject[] };

const HELP = [
  "Commands:",
  "• `run ACTION` runs an action, by its slug",
  "• `start AUTOMATION {…}` starts an automation, with input as JSON",
  "• `ask AGENT question` asks an agent",
  "• `approvals` lists pending approvals; `approve ID` and `reject ID reason` decide",
  "• `whoami` shows the linked Weir account; `link` links a different one, and `unlink` none",
].join("\n");

const say = (text: string, blocks?: JsonObject[]): Answer => ({
  response_type: "ephemeral",
  text,
  ...(blocks ? { blocks } : {}),
});

export interface Command {
  sender: Sender;
  text: string;
  /** Slack's own ID of the request, which identifies a repeat. */
  key: string;
  /** Where the end of a run is reported. Null if nothing can be sent later. */
  target: Target | null;
  correlationId: string;
}

/** Runs a command as the linked user. Errors are returned as an answer. */
export async function obey(app: App, command: Command): Promise<Answer> {
  const [word = "", ...rest] = command.text.trim().split(/\s+/);
  const verb = word.toLowerCase();
  if (verb === "" || verb === "help") return say(HELP);
  const ctx = await contextOf(app, command.sender, command.correlationId);
  if (!ctx || verb === "link") {
    const address = await linkAddress(app, command.sender);
    return say(
      `<${address}|Link your Slack account to Weir>. The link is for you only and valid for 15 minutes.`,
    );
  }
  try {
    if (verb === "whoami") return say(slackText(`Linked to ${await accountOf(ctx)}.`));
    if (verb === "unlink") return await unlink(ctx, command.sender);
    return await act(ctx, verb, rest, command);
  } catch (error) {
    if (error instanceof InvalidInput) return say(slackText(error.faults.map(({ msg }) => msg).join(" ")));
    if (error instanceof AppError && error.code !== "internal") return say(slackText(error.message));
    throw error;
  }
}

async function accountOf(ctx: Context): Promise<string> {
  const [{ email }, { name }] = [await findMe(ctx), await findCurrentOrganization(ctx)];
  return `${email} in ${name}`;
}

async function unlink(ctx: Context, sender: Sender): Promise<Answer> {
  const account = await accountOf(ctx);
  await write(ctx, (tx) => unlinkSlack(tx, linkOf(sender)));
  return say(slackText(`No longer linked to ${account}.`));
}

async function act(ctx: Context, verb: string, words: string[], command: Command): Promise<Answer> {
  if (verb === "approvals") {
    const { text, blocks } = await approvalsMessage(ctx);
    return blocks.length === 0 ? say(text) : say(text, blocks);
  }
  if (!mayAct(ctx))
    throw new AppError("forbidden", "Requires the member role. Ask an admin to change your role.");
  const [name = "", ...rest] = words;
  const trigger: Trigger = { method: "api", sourceType: "user", sourceId: ctx.actor.id };
  const need = (what: string) => {
    if (name === "")
      throw new AppError("bad_request", `Specify which ${what}: ${verb} ${what.toUpperCase()}.`);
  };
  switch (verb) {
    case "run": {
      need("action");
      const { action } = await findActionBySlug(ctx, name);
      return start(ctx, command, action.name, async (tx) => ({
        runKind: "action",
        runId: (await runAction(tx, action.id, {}, trigger)).id,
      }));
    }
    case "start": {
      need("automation");
      const automation = await automationBySlug(ctx, name);
      const input = rest.length > 0 ? inputOf(rest.join(" ")) : undefined;
      return start(ctx, command, automation.name, async (tx) => ({
        runKind: "automation",
        runId: (await runAutomation(tx, automation.id, input, trigger)).id,
      }));
    }
    case "ask": {
      need("agent");
      if (rest.length === 0) throw new AppError("bad_request", "Missing question. Use: ask AGENT question.");
      const definition = { agent: name, prompt: rest.join(" ") };
      return start(ctx, command, name, async (tx) => ({
        runKind: "action",
        runId: (await enqueueRun(tx, { kind: "call_agent", definition, isResolved: true, trigger })).id,
      }));
    }
    case "approve":
    case "reject": {
      need("id");
      const reason = rest.length > 0 ? rest.join(" ") : undefined;
      const decided = await decideApproval(ctx, name, verb === "approve" ? "approved" : "rejected", {
        ...(reason === undefined ? {} : { rejectionReason: reason }),
      } as never);
      return say(
        `${decided.decision.decisionValue === "approved" ? "Approved" : "Rejected"}: ${slackText(decided.decision.title)}`,
      );
    }
  }
  return say(`Unknown command: ${slackText(verb)}.\n${HELP}`);
}

type Starting = (
  tx: Parameters<Parameters<typeof write>[1]>[0],
) => Promise<{ runKind: "action" | "automation"; runId: string }>;

/** Starts a run once, however often Slack sends the request, and reports its end. */
async function start(ctx: Context, { key, target }: Command, name: string, begin: Starting): Promise<Answer> {
  const run = await write(ctx, async (tx) => {
    if (!(await isFirst(tx, key))) return null;
    const begun = await begin(tx);
    if (target) await reply(tx, target, begun);
    return begun;
  });
  if (run === null) return say("Already running. Nothing new was started.");
  const page = run.runKind === "action" ? "runs" : "automation-runs";
  const link = linkIn(ctx.organizationId, `${ctx.baseUrl()}/${page}/${run.runId}`);
  return say(`Started: ${slackText(name)}. <${link}|Open the run>`);
}

async function automationBySlug(ctx: Context, slug: string) {
  const [row] = await ctx.db
    .select()
    .from(automations)
    .where(
      and(
        eq(automations.organizationId, ctx.organizationId),
        eq(automations.slug, slug),
        isNull(automations.deletedAt),
      ),
    );
  if (row) return row;
  throw new AppError("not_found", `Automation ${slug} not found.`);
}

function inputOf(text: string): Json {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new AppError("bad_request", 'The input after the automation must be JSON, such as {"day": 1}.', {
      cause,
    });
  }
}

/** Returns the pressed buttons, each with its decision. */
export const pressed = (payload: JsonObject): { verb: "approve" | "reject"; id: string }[] =>
  (Array.isArray(payload.actions) ? payload.actions : [])
    .filter(isObject)
    .flatMap(({ action_id: verb, value }) =>
      (verb === "approve" || verb === "reject") && typeof value === "string" ? [{ verb, id: value }] : [],
    );
