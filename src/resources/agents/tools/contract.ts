import type { Context } from "../../../context.ts";
import type { AgentTool } from "../../../models/contract.ts";

/** The agent that tools are opened for. */
export interface ToolUser {
  /** Of its spec. */
  id: string;
  name: string;
}

/** One kind of tool that a spec may name, such as `query` or `action:SLUG`. To add one: its file, and a line in `registry.ts`. */
export interface ToolSource {
  /**
   * The tools that it stands for, bound to the person of `ctx`; `named` is what follows the colon. Throws an
   * `AppError` that says why there are none.
   */
  open(ctx: Context, named: string, agent: ToolUser): Promise<AgentTool[]>;
}
