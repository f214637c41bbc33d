import type { Json } from "../base/json.ts";
import type { AgentTool, OpenAgent } from "../models/contract.ts";
import type { Link } from "../providers/contract.ts";

/**
 * An agent holds no slot while it waits for runs that its tools started.
 * If such agents took all slots, none of those runs could start.
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
