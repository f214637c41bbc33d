import type { Json, JsonObject } from "../base/json.ts";
import type { FinishReason } from "./contract.ts";

/**
 * The chunks of the AI SDK's UI message stream that Weir sends, and the message that a client builds from them.
 * Source: `uiMessageChunkSchema` and `processUIMessageStream` of the package `ai`, 7.0.173.
 */
export type UiChunk =
  | { type: "start"; messageId: string; messageMetadata: JsonObject }
  | { type: "start-step" }
  | { type: "finish-step" }
  | { type: "text-start"; id: string }
  | { type: "text-delta"; id: string; delta: string }
  | { type: "text-end"; id: string }
  | { type: "reasoning-start"; id: string }
  | { type: "reasoning-delta"; id: string; delta: string }
  | { type: "reasoning-end"; id: string }
  | { type: "tool-input-start"; toolCallId: string; toolName: string; dynamic: true }
  | { type: "tool-input-available"; toolCallId: string; toolName: string; input: Json; dynamic: true }
  | {
      type: "tool-input-error";
      toolCallId: string;
      toolName: string;
      input: Json;
      errorText: string;
      dynamic: true;
    }
  | { type: "tool-approval-request"; approvalId: string; toolCallId: string }
  | { type: "tool-approval-response"; approvalId: string; approved: boolean; reason?: string }
  | { type: "tool-output-available"; toolCallId: string; output: Json; dynamic: true }
  | { type: "tool-output-error"; toolCallId: string; errorText: string; dynamic: true }
  | { type: "tool-output-denied"; toolCallId: string }
  | { type: "error"; errorText: string }
  | { type: "abort"; reason: string }
  | { type: "finish"; finishReason: FinishReason; messageMetadata: JsonObject };

type TextPart = { type: "text"; text: string; state: "streaming" | "done" };
type ReasoningPart = { type: "reasoning"; id: string; text: string; state: "streaming" | "done" };
export type ToolPart = {
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
  input?: Json;
  output?: Json;
  errorText?: string;
  approval?: { id: string; approved?: boolean; reason?: string };
};
export type UiPart = { type: "step-start" } | TextPart | ReasoningPart | ToolPart;

/** A message in the format of the AI SDK's clients, which is also stored. */
export type UiMessage = {
  id: string;
  role: "user" | "assistant";
  metadata: JsonObject;
  parts: UiPart[];
};

export const toolParts = ({ parts }: Pick<UiMessage, "parts">): ToolPart[] =>
  parts.filter((part) => part.type === "dynamic-tool");

/** All text of a message, with its parts joined. */
export const textOf = ({ parts }: Pick<UiMessage, "parts">): string =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("");

/** Applies the chunk to `message` as a client does. Chunks that only mark an end change nothing. */
export function applyChunk(message: UiMessage, chunk: UiChunk): void {
  const { parts } = message;
  switch (chunk.type) {
    case "start":
      message.id = chunk.messageId;
      message.metadata = { ...message.metadata, ...chunk.messageMetadata };
      return;
    case "finish":
      message.metadata = { ...message.metadata, ...chunk.messageMetadata };
      return;
    case "start-step":
      parts.push({ type: "step-start" });
      return;
    case "text-start":
      parts.push({ type: "text", text: "", state: "streaming" });
      return;
    case "reasoning-start":
      parts.push({ type: "reasoning", id: chunk.id, text: "", state: "streaming" });
      return;
    case "text-delta":
    case "reasoning-delta":
      openPart(parts, chunk.type === "text-delta" ? "text" : "reasoning").text += chunk.delta;
      return;
    case "text-end":
    case "reasoning-end":
      openPart(parts, chunk.type === "text-end" ? "text" : "reasoning").state = "done";
      return;
    case "tool-input-start":
      parts.push({
        type: "dynamic-tool",
        toolName: chunk.toolName,
        toolCallId: chunk.toolCallId,
        state: "input-streaming",
      });
      return;
    case "tool-input-available":
    case "tool-input-error": {
      let part = toolParts(message).find(({ toolCallId }) => toolCallId === chunk.toolCallId);
      if (!part) {
        const { toolName, toolCallId } = chunk;
        part = { type: "dynamic-tool", toolName, toolCallId, state: "input-streaming" };
        parts.push(part);
      }
      part.input = chunk.input;
      part.state = chunk.type === "tool-input-error" ? "output-error" : "input-available";
      if (chunk.type === "tool-input-error") part.errorText = chunk.errorText;
      return;
    }
    case "tool-approval-request": {
      const part = toolPart(message, chunk.toolCallId);
      part.state = "approval-requested";
      part.approval = { id: chunk.approvalId };
      return;
    }
    case "tool-approval-response": {
      const part = toolParts(message).find(({ approval }) => approval?.id === chunk.approvalId);
      if (!part) throw new Error(`No call waits for the approval ${chunk.approvalId}.`);
      const { approved, reason } = chunk;
      part.state = "approval-responded";
      part.approval = { id: chunk.approvalId, approved, ...(reason === undefined ? {} : { reason }) };
      return;
    }
    case "tool-output-available": {
      const part = toolPart(message, chunk.toolCallId);
      part.state = "output-available";
      part.output = chunk.output;
      return;
    }
    case "tool-output-error": {
      const part = toolPart(message, chunk.toolCallId);
      part.state = "output-error";
      part.errorText = chunk.errorText;
      return;
    }
    case "tool-output-denied":
      toolPart(message, chunk.toolCallId).state = "output-denied";
      return;
    default:
      return;
  }
}

/** Only one part of a kind is open at a time, and it is the last one. */
function openPart(parts: UiPart[], type: "text" | "reasoning"): TextPart | ReasoningPart {
  const part = parts.findLast((one) => one.type === type);
  if (part?.type !== "text" && part?.type !== "reasoning") throw new Error(`No ${type} part is open.`);
  return part;
}

function toolPart(message: UiMessage, id: string): ToolPart {
  const part = toolParts(message).find(({ toolCallId }) => toolCallId === id);
  if (!part) throw new Error(`There is no call ${id}.`);
  return part;
}

/** The chunks that reproduce a message, for clients that join late. Its open parts remain open. */
export function chunksOf({ id, metadata, parts }: UiMessage): UiChunk[] {
  const chunks: UiChunk[] = [{ type: "start", messageId: id, messageMetadata: metadata }];
  let texts = 0;
  for (const [at, part] of parts.entries()) {
    switch (part.type) {
      case "step-start":
        if (at > 0) chunks.push({ type: "finish-step" });
        chunks.push({ type: "start-step" });
        break;
      case "text":
      case "reasoning": {
        const name = part.type === "text" ? `t${++texts}` : part.id;
        chunks.push({ type: `${part.type}-start`, id: name });
        if (part.text !== "") chunks.push({ type: `${part.type}-delta`, id: name, delta: part.text });
        if (part.state === "done") chunks.push({ type: `${part.type}-end`, id: name });
        break;
      }
      case "dynamic-tool":
        chunks.push(...chunksOfTool(part));
    }
  }
  return chunks;
}

function chunksOfTool(part: ToolPart): UiChunk[] {
  const { toolCallId, toolName, state, input = null, output = null, errorText = "", approval } = part;
  const dynamic = true as const;
  const chunks: UiChunk[] = [{ type: "tool-input-start", toolCallId, toolName, dynamic }];
  if (state === "input-streaming") return chunks;
  chunks.push({ type: "tool-input-available", toolCallId, toolName, input, dynamic });
  if (approval) {
    chunks.push({ type: "tool-approval-request", approvalId: approval.id, toolCallId });
    const { id: approvalId, approved, reason } = approval;
    if (approved !== undefined) {
      const reasonField = reason === undefined ? {} : { reason };
      chunks.push({ type: "tool-approval-response", approvalId, approved, ...reasonField });
    }
  }
  return [...chunks, ...endOfTool(state, toolCallId, output, errorText)];
}

function endOfTool(state: ToolPart["state"], toolCallId: string, output: Json, errorText: string): UiChunk[] {
  const dynamic = true as const;
  switch (state) {
    case "output-available":
      return [{ type: "tool-output-available", toolCallId, output, dynamic }];
    case "output-error":
      return [{ type: "tool-output-error", toolCallId, errorText, dynamic }];
    case "output-denied":
      return [{ type: "tool-output-denied", toolCallId }];
    default:
      return [];
  }
}
