import { t } from "../../texts/text.ts";
/** A tool call in a message. */
export interface ToolPart {
  type: "dynamic-tool";
  toolName: string;
  toolCallId: string;
  state:
    | "input-streaming"
    | "input-available"
    | "approval-requested"
    | "approval-responded"
    | "output-available"
    | "output-error"
    | "output-denied";
  input?: unknown;
  output?: unknown;
  errorText?: string;
  approval?: { id: string; approved?: boolean; reason?: string };
}

interface TextPart {
  type: "text" | "reasoning";
  text: string;
  state?: "streaming" | "done";
}

export type Part = TextPart | ToolPart | { type: "step-start" };

/** A message in the AI SDK's format. */
export interface UiMessage {
  id: string;
  role: "user" | "assistant";
  metadata?: Record<string, unknown>;
  parts: Part[];
}

/** A chunk of the AI SDK's UI message stream. Its fields depend on its type. */
interface Chunk {
  type: string;
  messageId?: string;
  messageMetadata?: Record<string, unknown>;
  delta?: string;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  output?: unknown;
  errorText?: string;
  approvalId?: string;
  approved?: boolean;
  reason?: string;
}

export const isTool = (part: Part): part is ToolPart => part.type === "dynamic-tool";
const isText = (part: Part): part is TextPart => part.type === "text" || part.type === "reasoning";

/** All text of a message. */
export const textOf = ({ parts }: Pick<UiMessage, "parts">): string =>
  parts.map((part) => (part.type === "text" && "text" in part ? part.text : "")).join("");

/** Applies a chunk to `message`. Returns the text of an error chunk. Chunks of unknown types change nothing. */
export function apply(message: UiMessage, chunk: Chunk): string | null {
  const { parts } = message;
  const [kind, type] = [chunk.type.replace(/-\w+$/, ""), chunk.type];
  switch (type) {
    case "start":
      message.id = chunk.messageId ?? message.id;
      message.metadata = { ...message.metadata, ...chunk.messageMetadata };
      break;
    case "finish":
    case "message-metadata":
      message.metadata = { ...message.metadata, ...chunk.messageMetadata };
      break;
    case "start-step":
      parts.push({ type: "step-start" });
      break;
    case "text-start":
    case "reasoning-start":
      parts.push({ type: kind as "text" | "reasoning", text: "", state: "streaming" });
      break;
    case "text-delta":
    case "reasoning-delta": {
      const part = parts.findLast((each) => each.type === kind);
      if (part && isText(part)) part.text += chunk.delta ?? "";
      break;
    }
    case "text-end":
    case "reasoning-end": {
      const part = parts.findLast((each) => each.type === kind);
      if (part && isText(part)) part.state = "done";
      break;
    }
    case "error":
      return chunk.errorText ?? t("The answer failed.");
    default:
      if (type.startsWith("tool-")) applyTool(parts, chunk);
  }
  return null;
}

function applyTool(parts: Part[], chunk: Chunk): void {
  const { toolCallId = "", toolName = "", approvalId = "" } = chunk;
  const tools = parts.filter(isTool);
  const known = tools.find((part) => part.toolCallId === toolCallId || part.approval?.id === approvalId);
  if (chunk.type === "tool-approval-response" && known) {
    const { approved = false, reason } = chunk;
    known.state = "approval-responded";
    known.approval = { id: approvalId, approved, ...(reason === undefined ? {} : { reason }) };
    return;
  }
  if (!known && !chunk.type.startsWith("tool-input")) return;
  const part: ToolPart = known ?? { type: "dynamic-tool", toolName, toolCallId, state: "input-streaming" };
  if (!known) parts.push(part);
  switch (chunk.type) {
    case "tool-input-available":
      part.input = chunk.input;
      part.state = "input-available";
      break;
    case "tool-input-error":
      part.input = chunk.input;
      part.state = "output-error";
      part.errorText = chunk.errorText ?? "";
      break;
    case "tool-approval-request":
      part.state = "approval-requested";
      part.approval = { id: approvalId };
      break;
    case "tool-output-available":
      part.state = "output-available";
      part.output = chunk.output;
      break;
    case "tool-output-error":
      part.state = "output-error";
      part.errorText = chunk.errorText ?? "";
      break;
    case "tool-output-denied":
      part.state = "output-denied";
  }
}
