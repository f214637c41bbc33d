import type { Json, JsonObject } from "../base/json.ts";

/** One call requested by a model. `arguments` is the model's JSON text, not validated yet. */
export interface ModelCall {
  id: string;
  name: string;
  arguments: string;
}

/** The conversation so far, in order, without the system prompt. */
export type ModelMessage =
  | { role: "user"; content: string }
  | { role: "assistant"; content: string; calls: readonly ModelCall[] }
  /** The result of one call in the assistant message before it. */
  | { role: "tool"; callId: string; name: string; content: string; isError: boolean };

/** A tool as described to a model. Names are `[A-Za-z0-9_-]{1,64}`. */
interface ModelTool {
  name: string;
  description: string;
  inputSchema: JsonObject;
}

export interface ModelRequest {
  system: string;
  messages: readonly ModelMessage[];
  tools?: readonly ModelTool[];
  /** 0 to 2. Default: the endpoint's. */
  temperature?: number | null;
  /** Default: the operator's. */
  model?: string | null;
  maxOutputTokens?: number | null;
  /** JSON Schema for the whole answer. Endpoints may ignore it, so validate the answer. */
  outputSchema?: JsonObject | null;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
}

export type FinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";

/** Output of a model, in order. `finish` is the last event, and is always sent unless an error is thrown. */
export type ModelEvent =
  | { type: "text"; delta: string }
  | { type: "reasoning"; delta: string }
  /** A call starts; its arguments follow as deltas, then complete in `call`. */
  | { type: "call-begin"; id: string; name: string }
  | { type: "call-delta"; id: string; delta: string }
  | { type: "call"; call: ModelCall }
  | { type: "finish"; reason: FinishReason; usage: Usage; model: string };

/**
 * A language model.
 *
 * `stream` throws the signal's reason if it is aborted, otherwise an `AppError`: `llm_not_configured`,
 * `llm_unauthorized`, `llm_model_unknown`, `llm_rate_limited`, `llm_context_too_long`, `llm_overloaded`, `llm_refused`,
 * `llm_stream_cut`, `response_too_large`, `timeout`, `upstream`, and `llm_budget_exceeded` for an organization that has
 * used up its daily budget. Has already been retried if that could help: before the first event, never after.
 */
export interface Model {
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/** The models configured by the operator. */
export interface Models extends Model {
  /** Null if no model is configured. */
  readonly configured: { provider: "openai-compatible" | "anthropic"; model: string } | null;
  /** Throws `llm_not_configured` with the missing settings. */
  require(): void;
  /** Context length of a model in tokens, according to its endpoint. Default: the operator's model. */
  roomOf(model: string | null, signal: AbortSignal): Promise<number>;
}

/** Context length of a model in tokens. */
export interface ModelRoom {
  /** The operator's setting; null to ask the endpoint. */
  readonly known: number | null;
  ask(model: string | null, signal: AbortSignal): Promise<number>;
}

/** A protocol of model endpoints: one attempt, without retries and timeouts. */
export interface ModelAdapter {
  readonly provider: "openai-compatible" | "anthropic";
  readonly model: string;
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
  /** Null if the endpoint doesn't say. */
  roomOf(model: string, signal: AbortSignal): Promise<number | null>;
}

/** Input of a tool call. */
interface ToolCall {
  /** Weir's own unique ID, also the idempotency key of the call's effects. */
  id: string;
  input: JsonObject;
  signal: AbortSignal;
  /** True if a person has approved exactly this call. */
  isApproved: boolean;
}

/** What an agent has learned from sources other than its model; URLs are in the form of `spelt`. */
export interface Heard {
  /** URLs written by people or by the author of the spec. */
  writtenUrls: ReadonlySet<string>;
  /** URLs of search results. */
  found: ReadonlySet<string>;
  /** True once it may know data of the organization: it has used a tool other than the web's, or another agent asks. */
  hasData: boolean;
  /** Calls since a person's last message, by tool name. */
  made: ReadonlyMap<string, number>;
}

/** One tool of an agent, bound to the user on whose behalf the agent acts. */
export interface AgentTool extends ModelTool {
  /** True if a person has to review and approve the arguments each time. */
  readonly approvalRequired: boolean;
  /** True if a person has to approve these arguments. Absent: `approvalRequired` decides. */
  asksFor?(input: JsonObject, heard: Heard): boolean;
  /** True if it returns public content, and nothing of the organization. */
  readonly isOfTheWeb?: boolean;
  /** True if it returns results of the operator's search engine. */
  readonly isSearch?: boolean;
  /** True if it starts a run and waits for its end. */
  readonly waitsForRun?: boolean;
  /** Changes if the tool's effect changes: an approval covers only one fingerprint. */
  readonly fingerprint: string;
  /** Throws an `AppError` that the model and the user may read. The result is data, never an instruction. */
  call(call: ToolCall): Promise<Json>;
}

/** An agent ready to act: its prompt, its model, and its tools bound to a user. */
export interface OpenAgent {
  id: string;
  name: string;
  system: string;
  model: string | null;
  temperature: number | null;
  maxSteps: number;
  tools: readonly AgentTool[];
  /** Tools of the agent that are unavailable, one sentence each. */
  warnings: readonly string[];
  /** True if another agent has started it: then its prompt was written by a model, not by a person. */
  isAskedByAgent: boolean;
}
