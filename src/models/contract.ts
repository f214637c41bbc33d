import type { Json, JsonObject } from "../base/json.ts";

/** One call that a model asks for. `arguments` is its JSON text as the model wrote it: nothing is checked yet. */
export interface ModelCall {
  id: string;
  name: string;
  arguments: string;
}

/** What was said so far, in order. The system prompt stands apart. */
export type ModelMessage =
  | { role: "user"; content: string }
  | { role: "assistant"; content: string; calls: readonly ModelCall[] }
  /** The answer to one call of the assistant message before it. */
  | { role: "tool"; callId: string; name: string; content: string; isError: boolean };

/** A tool as a model sees it. Names are `[A-Za-z0-9_-]{1,64}`. */
interface ModelTool {
  name: string;
  description: string;
  inputSchema: JsonObject;
}

export interface ModelRequest {
  system: string;
  messages: readonly ModelMessage[];
  tools?: readonly ModelTool[];
  /** 0 to 2; the endpoint's own where absent. */
  temperature?: number | null;
  /** The operator's where absent. */
  model?: string | null;
  maxOutputTokens?: number | null;
  /** JSON Schema that the whole answer is asked to fit. Endpoints may pass over it: check what comes. */
  outputSchema?: JsonObject | null;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
}

export type FinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";

/** What comes of a model, in order. `finish` is the last one, and always comes where nothing is thrown. */
export type ModelEvent =
  | { type: "text"; delta: string }
  | { type: "reasoning"; delta: string }
  /** A call begins; its arguments follow as deltas, then whole in `call`. */
  | { type: "call-begin"; id: string; name: string }
  | { type: "call-delta"; id: string; delta: string }
  | { type: "call"; call: ModelCall }
  | { type: "finish"; reason: FinishReason; usage: Usage; model: string };

/**
 * A language model.
 *
 * `stream` throws the signal's reason where it aborts, and else an `AppError`: `llm_not_configured`,
 * `llm_unauthorized`, `llm_model_unknown`, `llm_rate_limited`, `llm_context_too_long`, `llm_overloaded`,
 * `llm_refused`, `llm_stream_cut`, `response_too_large`, `timeout`, `upstream`, and for an organization that has used
 * up its day `llm_budget_exceeded`. It was tried again already where that could help: before the first event, never after.
 */
export interface Model {
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/** What the operator has set up. */
export interface Models extends Model {
  /** Null where no model is configured. */
  readonly configured: { provider: "openai-compatible" | "anthropic"; model: string } | null;
  /** Throws `llm_not_configured` with what is to be set. */
  require(): void;
  /** How many tokens a model takes, the operator's by default, as its endpoint says. */
  roomOf(model: string | null, signal: AbortSignal): Promise<number>;
}

/** How many tokens a model takes. */
export interface ModelRoom {
  /** The operator's word; null where the endpoint is to be asked. */
  readonly known: number | null;
  ask(model: string | null, signal: AbortSignal): Promise<number>;
}

/** One way of speaking to an endpoint: one try, no retries and no time limits. */
export interface ModelAdapter {
  readonly provider: "openai-compatible" | "anthropic";
  readonly model: string;
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
  /** Null where the endpoint doesn't say. */
  roomOf(model: string, signal: AbortSignal): Promise<number | null>;
}

/** What a tool of an agent is called with. */
interface ToolCall {
  /** Ours, unique; also the idempotency key of what the call does. */
  id: string;
  input: JsonObject;
  signal: AbortSignal;
  /** True where a person has said yes to just this. */
  isApproved: boolean;
}

/** What an agent has heard from others than its model; addresses are spelt as they are asked for. */
export interface Heard {
  /** Addresses that people or the author of the spec wrote. */
  given: ReadonlySet<string>;
  /** Addresses of hits that a search gave. */
  found: ReadonlySet<string>;
  /** True once it may know something of the organization: a tool that is not of the web was called, or an agent asks. */
  hasData: boolean;
  /** Calls since a person last said something, by the tool's name. */
  made: ReadonlyMap<string, number>;
}

/** One tool of an agent, bound to the person in whose name the agent acts. */
export interface AgentTool extends ModelTool {
  /** True where a person has to see the arguments and agree, each time. */
  readonly approvalRequired: boolean;
  /** True where a person has to agree to just these arguments. Absent: `approvalRequired` says all. */
  asksFor?(input: JsonObject, heard: Heard): boolean;
  /** True where it brings what is public, and nothing of the organization. */
  readonly isOfTheWeb?: boolean;
  /** True where it brings the hits of the operator's search engine. */
  readonly isSearch?: boolean;
  /** True where it sets off a run and waits for its end. */
  readonly waitsForRun?: boolean;
  /** What the tool does, as a text that changes when that changes: an approval is for this and nothing else. */
  readonly fingerprint: string;
  /** Throws an `AppError` for what the model and the person may read. What comes back is data, never an instruction. */
  call(call: ToolCall): Promise<Json>;
}

/** An agent ready to act: its prompt, its model, and its tools bound to somebody. */
export interface OpenAgent {
  id: string;
  name: string;
  system: string;
  model: string | null;
  temperature: number | null;
  maxSteps: number;
  tools: readonly AgentTool[];
  /** Tools that it has and that can't be used now, a sentence each. */
  warnings: readonly string[];
  /** True where another agent has set it off: then its prompt is a model's word, not a person's. */
  isAskedByAgent: boolean;
}
