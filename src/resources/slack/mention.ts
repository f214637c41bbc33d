import { type App, contextFor, write } from "../../context.ts";
import { type Command, obey } from "./commands.ts";
import { contextOf } from "./links.ts";
import { reply } from "./replies.ts";
import { isFirst } from "./seen.ts";
import type { Target } from "./table.ts";

const UNTIED = "Your Slack account isn't linked yet. Run the slash command to get a link.";

/**
 * Runs the command in a mention, and answers in its thread. Others can read it, so it contains no link that connects an
 * account. Slack sends an event again if it wasn't answered in time; what was done for it isn't done again.
 */
export async function mention(app: App, command: Command & { target: Target }): Promise<void> {
  const { key, target, correlationId } = command;
  if (app.slack.botToken === null) {
    await obey(app, { ...command, target: null }); // Done, but not reported: no Slack token is configured.
    return;
  }
  const known = await contextOf(app, command.sender, correlationId);
  const isLinking = /^\s*link\b/i.test(command.text);
  const text = known && !isLinking ? (await obey(app, command)).text : UNTIED;
  const nobody = {
    organizationId: "",
    role: "viewer" as const,
    actor: { type: "system" as const, id: "slack" },
    correlationId,
  };
  await write(known ?? contextFor(app, nobody), async (tx) => {
    if (await isFirst(tx, `${key}:answer`)) await reply(tx, target, { text });
  });
}
