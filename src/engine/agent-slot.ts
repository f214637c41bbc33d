import type { Json } from "../base/json.ts";
import type { AgentTool, OpenAgent } from "../models/contract.ts";
import type { Link } from "../providers/contract.ts";

/**
 * An agent that takes no slot while it waits for runs that its tools have set off: with all slots taken by such
 * agents none of those runs would begin.
 */
export function withoutSlot(agent: OpenAgent, rest: NonNullable<Link["rest"]>): OpenAgent {
  const resting = (tool: AgentTool): AgentTool => ({
    ...tool,
    async call(toolCall) {
      let brought: Json = null;
      await rest(async () => {
        brought = await tool.call(toolCall);
      });
      return brought;
    },
  });
  return { ...agent, tools: agent.tools.map((tool) => (tool.waitsForRun ? resting(tool) : tool)) };
}
