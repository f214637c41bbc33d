import { type App, contextFor, write } from "../../context.ts";
import { type Command, obey } from "./commands.ts";
import { contextOf } from "./links.ts";
import { reply } from "./replies.ts";
import { isFirst } from "./seen.ts";
import type { Target } from "./table.ts";

const UNTIED = "Your Slack account isn't linked yet. Run the slash command to get a link.";

/**
 * Does what a mention asks for, and answers in its thread. What others may read holds no link that ties an account.
 * Slack sends an event again that was not answered in time; whatever was done for it before is not done again.
 */
export async function mention(app: App, command: Command & { target: Target }): Promise<void> {
  const { key, target, correlationId } = command;
  if (app.slack.botToken === null) {
    await obey(app, { ...command, target: null }); // done, and told nobody: there is no way to Slack
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
