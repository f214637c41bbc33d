import { invalid } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { MAX_CONTENT_CHARACTERS, type TurnInput } from "./wire.ts";

/** What a user sends. Null content requests another answer to the previous message. */
export interface ChatRequest {
  content: string | null;
  /** The client's ID of the message. */
  clientId: string | null;
  /**
   * To regenerate: a reply or the message that it answers, or null for the last one. Otherwise the message to replace.
   */
  messageId: string | null;
}

/**
 * Parses a message in any of its formats. Only the user's text is used: replies, tool results and approvals that a
 * client sends are ignored.
 */
export function readRequest(input: TurnInput): ChatRequest {
  const { content, message, messages, trigger, messageId } = input;
  const sources = [content, message, messages].filter((one) => one !== undefined);
  const isAgain = trigger === "regenerate-message";
  const named = messageId ?? null;
  if (sources.length > 1) throw invalid(["body"], "Set only one of content, message and messages");
  if (isAgain) return { content: null, clientId: null, messageId: named };
  if (content !== undefined) return { content, clientId: null, messageId: named };
  const loc =
    message === undefined ? ["body", "messages", String((messages?.length ?? 1) - 1)] : ["body", "message"];
  const last = message ?? messages?.at(-1);
  if (last === undefined) throw invalid(["body", "content"], "Field required", "missing");
  return { ...readMessage(last, loc), messageId: named };
}

function readMessage(message: JsonObject, loc: readonly string[]) {
  if (message.role !== undefined && message.role !== "user")
    throw invalid([...loc, "role"], "The last message must have the role user");
  const clientId = typeof message.id === "string" && message.id.length <= 200 ? message.id : null;
  const content =
    typeof message.content === "string" && message.parts === undefined
      ? message.content
      : partsOf(message, loc);
  if (content.trim() === "")
    throw invalid([...loc, "parts"], "This message contains no text", "string_too_short");
  if (content.length > MAX_CONTENT_CHARACTERS)
    throw invalid(
      [...loc, "parts"],
      `A message can have at most ${MAX_CONTENT_CHARACTERS} characters`,
      "string_too_long",
    );
  if (content.includes("\0") || !content.isWellFormed())
    throw invalid([...loc, "parts"], "Input should be valid Unicode text", "string_unicode");
  return { content, clientId };
}

function partsOf({ parts }: JsonObject, loc: readonly string[]): string {
  if (!Array.isArray(parts)) throw invalid([...loc, "parts"], "Field required", "missing");
  const texts = parts.map((part, at) => {
    if (isObject(part) && part.type === "text" && typeof part.text === "string") return part.text;
    throw invalid([...loc, "parts", String(at)], "Only text parts can be sent: {type: text, text}");
  });
  return texts.join("\n");
}

/** Throws `invalid` for an unknown time zone. */
export function readTimezone(header: string | null): string | null {
  if (header === null || header.trim() === "") return null;
  const name = header.trim();
  try {
    if (name.length > 100) throw new RangeError("too long");
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    throw invalid(
      ["header", "x-user-timezone"],
      "Unknown time zone. Use an IANA name such as Europe/Zurich",
      "timezone",
    );
  }
}
