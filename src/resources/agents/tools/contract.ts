import type { Context } from "../../../context.ts";
import type { AgentTool } from "../../../models/contract.ts";

/** The agent that tools are opened for. */
export interface ToolUser {
  /** Of its spec. */
  id: string;
  name: string;
}

/**
 * Who hears what a tool is called with. `inside`: nobody but the organization and its own systems. `outside`: somebody
 * else may, or it has an effect there, so that a person agrees first once the agent has heard data. `address`: the tool
 * itself judges by the address that it is given.
 */
export type Audience = "inside" | "outside" | "address";

/** One kind of tool that a spec may name, such as `query` or `action:SLUG`. To add one: its file, and a line in `registry.ts`. */
export interface ToolSource {
  /**
   * The tools that it stands for, bound to the person of `ctx`; `named` is what follows the colon. Throws an
   * `AppError` that says why there are none.
   */
  open(ctx: Context, named: string, agent: ToolUser): Promise<OpenedTool[]>;
}

/** A tool, and whether it alone of its kind is heard by nobody outside. */
export type OpenedTool = AgentTool & { readonly isInside?: boolean };
