import type { Json } from "../base/json.ts";
import type { ToolPart, UiMessage, UiPart } from "./chunks.ts";
import { textOf } from "./chunks.ts";
import type { ModelMessage } from "./contract.ts";

/** Maximum length of one result sent to a model, in characters. */
const MAX_READ_CHARACTERS = 40_000;
/** Approximate maximum length of the history sent to a model, in characters; the end is kept. */
const MAX_HISTORY_CHARACTERS = 400_000;

/** The tag around all tool results, so that a model can distinguish them from messages of people. */
export const DATA_TAG = "tool_output";

/** A tool result for a model: marked as data, truncated if it is long. */
export function readable(toolName: string, output: Json): string {
  const text = typeof output === "string" ? output : JSON.stringify(output);
  const cut = text.length > MAX_READ_CHARACTERS;
  const shown = text
    .slice(0, MAX_READ_CHARACTERS)
    .replaceAll(new RegExp(`<(?=/?\\s*${DATA_TAG})`, "gi"), "&lt;"); // no result can close the tag
  const note = cut
    ? `\n(cut: ${text.length} characters, of which these are the first ${MAX_READ_CHARACTERS})`
    : "";
  return `<${DATA_TAG} tool="${toolName.replace(/[^\w.-]/g, "_")}">\n${shown}${note}\n</${DATA_TAG}>`;
}

/** The result that `readable` shows; null if it isn't JSON or was truncated. */
export function outputIn(content: string): Json {
  try {
    return JSON.parse(content.split("\n").slice(1, -1).join("\n"));
  } catch {
    return null; // text, or the start of a long result
  }
}

/** The result of a call, from its part of the message. */
function answerOf(part: ToolPart): { content: string; isError: boolean } {
  switch (part.state) {
    case "output-available":
      return { content: readable(part.toolName, part.output ?? null), isError: false };
    case "output-error":
      return { content: readable(part.toolName, part.errorText ?? "The call failed."), isError: true };
    case "output-denied": {
      const why = part.approval?.reason;
      const reasonText = why === undefined ? "." : `: ${readable(part.toolName, why)}`;
      return { content: `A person did not allow this call${reasonText} Do not try it again.`, isError: true };
    }
    default:
      return { content: "This call has no result.", isError: true };
  }
}

/** Converts a stored message to messages for a model. */
export function messagesOf(message: Pick<UiMessage, "role" | "parts">): ModelMessage[] {
  if (message.role === "user") return [{ role: "user", content: textOf(message) }];
  const out: ModelMessage[] = [];
  for (const parts of stepsOf(message.parts)) {
    const calls = parts.filter((part) => part.type === "dynamic-tool");
    const content = textOf({ parts });
    if (content === "" && calls.length === 0) continue;
    out.push({
      role: "assistant",
      content,
      calls: calls.map(({ toolCallId, toolName, input }) => ({
        id: toolCallId,
        name: toolName,
        arguments: JSON.stringify(typeof input === "object" && input !== null ? input : {}),
      })),
    });
    for (const call of calls)
      out.push({ role: "tool", callId: call.toolCallId, name: call.toolName, ...answerOf(call) });
  }
  return out;
}

function stepsOf(parts: readonly UiPart[]): UiPart[][] {
  const steps: UiPart[][] = [[]];
  for (const part of parts) {
    if (part.type === "step-start") steps.push([]);
    else steps.at(-1)?.push(part);
  }
  return steps;
}

/** Converts a conversation to messages for a model: the last ones that fit, starting with one of a person. */
export function historyOf(messages: readonly Pick<UiMessage, "role" | "parts">[]): ModelMessage[] {
  const heard: ModelMessage[][] = [];
  let size = 0;
  for (const message of [...messages].reverse()) {
    const own = messagesOf(message);
    size += own.reduce((sum, { content }) => sum + content.length, 0);
    if (heard.length > 0 && size > MAX_HISTORY_CHARACTERS) break;
    heard.unshift(own);
  }
  const all = heard.flat();
  const first = all.findIndex(({ role }) => role === "user");
  return first < 0 ? all : all.slice(first);
}
