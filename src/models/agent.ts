import { AppError } from "../base/errors.ts";
import type { Ids } from "../base/ids.ts";
import { isObject, type Json, type JsonObject, parseJson } from "../base/json.ts";
import { valueFaults } from "../base/json-schema.ts";
import type { UiChunk } from "./chunks.ts";
import type {
  AgentTool,
  FinishReason,
  Heard,
  Model,
  ModelCall,
  ModelMessage,
  ModelRequest,
  OpenAgent,
  Usage,
} from "./contract.ts";
import { heardBy } from "./heard.ts";
import { readable } from "./history.ts";
import { isCut } from "./limits.ts";
import { isPlain, toPlain } from "./plain.ts";

/** Maximum number of concurrent calls. */
const MAX_AT_ONCE = 4;
/** Maximum number of calls run per step. */
const MAX_CALLS_A_STEP = 16;
/** Maximum length of a result as JSON, in characters. */
const MAX_OUTPUT_CHARACTERS = 128 * 1024;
/** Maximum length of arguments that a person has to approve. */
const MAX_ASKED_CHARACTERS = 32 * 1024;

/** A call that requires a person's approval. */
export type RequestedCall = { callId: string; toolName: string; input: JsonObject; fingerprint: string };

/** A call that was run or refused; `fault` says why it has no result. */
export type ReportedCall = {
  id: string;
  tool: string;
  input: Json;
  isError: boolean;
  fault?: string;
  approval?: Approval;
};

/** The decision that approved a call, and the hash of what it covers. */
export type Approval = { decisionId: string; hash: string };

export interface AgentTask {
  model: Model;
  agent: OpenAgent;
  /** The conversation so far; messages are appended. */
  messages: ModelMessage[];
  outputSchema?: JsonObject | null;
  /** Number of earlier steps. */
  stepsBefore: number;
  ids: Ids;
  signal: AbortSignal;
  /** True if people can approve calls; otherwise calls that need approval are refused. */
  canAsk: boolean;
  tell(chunk: UiChunk): void;
  /** Called when a call has ended. */
  called(call: ReportedCall): Promise<void>;
  /** Called for unexpected errors. */
  report(error: unknown): void;
  /** Shortens the request to the model's context length. */
  fit?(request: ModelRequest): Promise<ModelRequest>;
}

export type AgentEnd = { steps: number; usage: Usage } & (
  | { status: "done"; reason: FinishReason; text: string }
  | { status: "waiting"; pending: RequestedCall[] }
);

/**
 * Runs the model and its tools in turn until the model has answered, or until calls need approval.
 *
 * Throws the model's errors, `too_many_steps`, and the signal's reason; every chunk sent before has its end.
 */
export async function runAgent(task: AgentTask): Promise<AgentEnd> {
  const usage: Usage = { inputTokens: 0, outputTokens: 0 };
  for (let steps = task.stepsBefore + 1; ; steps++) {
    const { text, reason, calls, used } = await takeStep(task, steps);
    usage.inputTokens += used.inputTokens;
    usage.outputTokens += used.outputTokens;
    if (calls.length === 0) {
      task.tell({ type: "finish-step" });
      return { status: "done", reason, text, steps, usage };
    }
    const isLast = steps >= task.agent.maxSteps;
    const pending = await answerAll(task, calls, { isLast, wasCut: isCut(reason) });
    task.tell({ type: "finish-step" });
    if (pending.length > 0) return { status: "waiting", pending, steps, usage };
    if (isLast) {
      const times = task.agent.maxSteps === 1 ? "its one step" : `its ${task.agent.maxSteps} steps`;
      throw new AppError("too_many_steps", `The agent used ${times} and found no answer.`);
    }
    task.messages.push({ role: "assistant", content: text, calls: calls.map(({ call }) => call) });
    for (const { call, answer } of calls)
      task.messages.push({
        role: "tool",
        callId: call.id,
        name: call.name,
        content: readable(call.name, answer?.output ?? null),
        isError: answer?.isError ?? true,
      });
  }
}

/** A call in progress; `answer` once there is one. */
interface OpenCall {
  call: ModelCall;
  answer?: { output: Json; isError: boolean };
}

async function takeStep(task: AgentTask, step: number) {
  const { model, agent, tell, ids, signal } = task;
  const whole: ModelRequest = {
    system: agent.system,
    messages: task.messages,
    tools: agent.tools,
    model: agent.model,
    temperature: agent.temperature,
    outputSchema: task.outputSchema ?? null,
  };
  const request = (await task.fit?.(whole)) ?? whole;
  tell({ type: "start-step" });
  let open = null as { kind: "text" | "reasoning"; id: string } | null;
  const close = () => {
    if (open) tell({ type: `${open.kind}-end`, id: open.id });
    open = null;
  };
  /** By the ID from the model's endpoint; Weir's IDs are unique over all steps. */
  const begun = new Map<string, { id: string; name: string }>();
  const calls: OpenCall[] = [];
  const words = openWords();
  let parts = 0;
  let text = "";
  let reason: FinishReason = "other";
  let used: Usage = { inputTokens: 0, outputTokens: 0 };
  try {
    for await (const event of model.stream(request, signal)) {
      switch (event.type) {
        case "text":
        case "reasoning": {
          const delta = words.take(event.delta);
          if (delta === "") break;
          if (open?.kind !== event.type) {
            close();
            open = { kind: event.type, id: `${event.type.charAt(0)}${step}-${++parts}` };
            tell({ type: `${event.type}-start`, id: open.id });
          }
          if (event.type === "text") text += delta;
          tell({ type: `${event.type}-delta`, id: open.id, delta });
          break;
        }
        case "call-begin": {
          close();
          const own = { id: ids.uuid(), name: plainName(event.name) };
          begun.set(event.id, own);
          tell({ type: "tool-input-start", toolCallId: own.id, toolName: own.name, dynamic: true });
          break;
        }
        case "call": {
          const { id, name } = begun.get(event.call.id) ?? {
            id: ids.uuid(),
            name: plainName(event.call.name),
          };
          begun.delete(event.call.id);
          calls.push({ call: { id, name, arguments: event.call.arguments } });
          break;
        }
        case "finish":
          ({ reason, usage: used } = event);
      }
    }
    signal.throwIfAborted();
    close();
  } catch (error) {
    close();
    const left = [...begun.values(), ...calls.map(({ call }) => call)];
    for (const { id, name } of left)
      tell({
        type: "tool-input-error",
        toolCallId: id,
        toolName: name,
        input: {},
        errorText: "The reply ended before the call was complete.",
        dynamic: true,
      });
    throw error;
  }
  return { text, reason, calls, used };
}

/** Buffers text until it can be stored: without NUL and lone surrogates, which the next piece may complete. */
function openWords() {
  let half = "";
  return {
    take(piece: string): string {
      const whole = half + piece;
      half = /[\uD800-\uDBFF]$/.exec(whole)?.[0] ?? "";
      return whole
        .slice(0, whole.length - half.length)
        .toWellFormed()
        .replaceAll("\0", "");
    },
  };
}

/** Names are chosen by the model, and are used in messages and tags. */
const plainName = (name: string): string => name.replace(/[^\w.:-]+/g, "_").slice(0, 128) || "unnamed";

/** Runs calls, or says why not; returns those that need approval. */
async function answerAll(
  task: AgentTask,
  calls: OpenCall[],
  { isLast, wasCut }: { isLast: boolean; wasCut: boolean },
): Promise<RequestedCall[]> {
  const pending: RequestedCall[] = [];
  const ready: (() => Promise<void>)[] = [];
  const { made, ...rest } = heardBy(task.agent, task.messages);
  const heard = { ...rest, made: new Map(made) };
  for (const [at, open] of calls.entries()) {
    const { call } = open;
    const checked: Checked =
      wasCut && open === calls.at(-1) && call.arguments === ""
        ? { refusal: CUT_OFF }
        : checkCall(task, call, at, heard);
    heard.made.set(call.name, (heard.made.get(call.name) ?? 0) + 1);
    const refusal = "refusal" in checked ? checked.refusal : isLast ? outOfSteps(task) : null;
    if (refusal !== null || "refusal" in checked) {
      const input = "input" in checked && checked.input !== undefined ? checked.input : {};
      const errorText = refusal ?? "";
      const { id: toolCallId, name: toolName } = call;
      task.tell({ type: "tool-input-error", toolCallId, toolName, input, errorText, dynamic: true });
      open.answer = { output: errorText, isError: true };
      await task.called({ id: toolCallId, tool: toolName, input, isError: true, fault: errorText });
      continue;
    }
    const { tool, input, asks } = checked;
    const { id: toolCallId, name: toolName } = call;
    task.tell({ type: "tool-input-available", toolCallId, toolName, input, dynamic: true });
    if (asks) pending.push({ callId: toolCallId, toolName, input, fingerprint: tool.fingerprint });
    else
      ready.push(async () => {
        open.answer = await carryOut(task, tool, { id: toolCallId, input });
      });
  }
  await inTurn(ready);
  return pending;
}

const CUT_OFF = "Not called: the reply was cut off before the arguments.";
const outOfSteps = ({ agent }: AgentTask) =>
  `Not called: the agent has used all of its steps (${agent.maxSteps}).`;

type Checked = { tool: AgentTool; input: JsonObject; asks: boolean } | { refusal: string; input?: Json };

/** Checks a call: it must name a tool of the agent, have valid arguments, and be approvable if it needs approval. */
function checkCall(task: AgentTask, call: ModelCall, at: number, heard: Heard): Checked {
  const { tools } = task.agent;
  const tool = tools.find(({ name }) => name === call.name);
  if (!tool) {
    const known = tools.length === 0 ? "it has none" : `it has ${tools.map(({ name }) => name).join(", ")}`;
    return { refusal: `The agent has no tool ${call.name}; ${known}.`, input: call.arguments };
  }
  if (at >= MAX_CALLS_A_STEP)
    return { refusal: `At most ${MAX_CALLS_A_STEP} calls can run at once.`, input: call.arguments };
  let input: Json;
  try {
    input = parseJson(call.arguments === "" ? "{}" : call.arguments);
  } catch (error) {
    const why = error instanceof AppError ? error.message.replace(/^body: /, "") : "This is not JSON";
    return { refusal: `The arguments can't be read: ${why}`, input: call.arguments };
  }
  if (!isObject(input)) return { refusal: "The arguments must be an object.", input };
  if (!isPlain(input))
    return { refusal: "The arguments have a reserved key, such as __proto__.", input: call.arguments };
  const faults = valueFaults(tool.inputSchema, input).slice(0, 10);
  if (faults.length > 0) {
    const messages = faults.map(
      ({ path, message }) => `${path.length > 0 ? `${path.join(".")}: ` : ""}${message}`,
    );
    return { refusal: `The arguments do not fit: ${messages.join("; ")}`, input };
  }
  const asks = tool.approvalRequired || tool.asksFor?.(input, heard) === true;
  if (!asks) return { tool, input, asks };
  if (!task.canAsk) return { refusal: "This tool requires approval, which isn't possible in a run.", input };
  if (JSON.stringify(input).length > MAX_ASKED_CHARACTERS)
    return { refusal: "The arguments are too long for a person to approve.", input };
  return { tool, input, asks };
}

async function inTurn(work: readonly (() => Promise<void>)[]): Promise<void> {
  const left = [...work];
  const lane = async () => {
    for (let next = left.shift(); next; next = left.shift()) await next();
  };
  const lanes = Array.from({ length: Math.min(MAX_AT_ONCE, left.length) }, lane);
  const failed = (await Promise.allSettled(lanes)).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason; // once no call is in progress
}

/** Calls a tool, and reports its result or its failure. Throws only if the whole task ends. */
export async function carryOut(
  task: Pick<AgentTask, "signal" | "tell" | "called" | "report">,
  tool: AgentTool,
  { id, input, approval }: { id: string; input: JsonObject; approval?: Approval },
): Promise<{ output: Json; isError: boolean }> {
  const { signal, tell } = task;
  let output: Json;
  let isError = false;
  try {
    signal.throwIfAborted();
    output = capped(toPlain(await tool.call({ id, input, signal, isApproved: approval !== undefined })));
    signal.throwIfAborted();
  } catch (error) {
    isError = true;
    output = signal.aborted
      ? "The call was ended before its result arrived. It may have been done."
      : messageOf(task, error);
  }
  if (isError) tell({ type: "tool-output-error", toolCallId: id, errorText: String(output), dynamic: true });
  else tell({ type: "tool-output-available", toolCallId: id, output, dynamic: true });
  await task.called({
    id,
    tool: tool.name,
    input,
    isError,
    ...(isError ? { fault: String(output) } : {}),
    ...(approval ? { approval } : {}),
  });
  signal.throwIfAborted();
  return { output, isError };
}

function messageOf(task: Pick<AgentTask, "report">, error: unknown): string {
  if (error instanceof AppError && error.code !== "internal") return error.message;
  task.report(error);
  return "The tool failed unexpectedly.";
}

/** The result, or if it is too large the start of its text. */
function capped(output: Json): Json {
  const text = JSON.stringify(output);
  if (text.length <= MAX_OUTPUT_CHARACTERS) return output;
  return { truncated: true, characters: text.length, beginning: text.slice(0, MAX_OUTPUT_CHARACTERS / 2) };
}
