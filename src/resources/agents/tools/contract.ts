import type { Context } from "../../../context.ts";
import type { AgentTool } from "../../../models/contract.ts";

/** The agent that tools are opened for. */
export interface ToolUser {
  /** ID of its spec. */
  id: string;
  name: string;
}

/**
 * Who receives the arguments of a tool. `inside`: only the organization and its own systems. `outside`: possibly
 * someone else, or it has an effect there, so a person must approve it once the agent has read external data.
 * `address`: the tool decides by its address argument.
 */
export type Audience = "inside" | "outside" | "address";

/** One kind of tool that a spec may name, such as `query` or `action:SLUG`. To add one: its file, and a line in `registry.ts`. */
export interface ToolSource {
  /**
   * Returns the tools for the user of `ctx`; `named` is the text after the colon.
   * Throws an `AppError` with the reason if there are none.
   */
  open(ctx: Context, named: string, agent: ToolUser): Promise<OpenedTool[]>;
}

/** A tool, with `isInside` if it sends nothing outside although its kind does. */
export type OpenedTool = AgentTool & { readonly isInside?: boolean };
