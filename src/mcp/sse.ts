import { AppError } from "../base/errors.ts";
import { MAX_WIRE_BYTES } from "./limits.ts";

export interface SseEvent {
  event: string;
  data: string;
  /** The last id that the stream has named, by which it can be taken up again; null for none. */
  id: string | null;
  /** How long to wait before that, where the stream says so. */
  retryMs: number | null;
}

/** What is left of an event that is longer than this is not waited for. */
const MAX_EVENT_CHARACTERS = MAX_WIRE_BYTES;

/**
 * Server-sent events as the HTML standard reads them. `heard` is called for whatever comes, comments too. A stream
 * that ends in the middle of an event does not give it. Throws `response_too_large`.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
  maxCharacters = Number.POSITIVE_INFINITY,
): AsyncGenerator<SseEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let held: string[] = []; // of a line that is not over yet; put together once, however many pieces it comes in
  let heldSize = 0;
  let total = 0;
  let event = "";
  let id: string | null = null;
  let retryMs: number | null = null;
  let data: string[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      heard();
      const text = done ? decoder.decode() : decoder.decode(value, { stream: true });
      total += text.length;
      heldSize += text.length;
      if (total > maxCharacters || heldSize + size > MAX_EVENT_CHARACTERS) throw tooLarge();
      const isOpen = !done && !/[\r\n]/.test(text) && !held.at(-1)?.endsWith("\r");
      if (text !== "") held.push(text);
      if (isOpen) continue;
      const lines = held.join("").split(/\r\n|\n|\r(?!$)/);
      const rest = lines.pop() ?? "";
      held = [rest];
      heldSize = rest.length;
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) yield { event: event || "message", data: data.join("\n"), id, retryMs };
          event = "";
          data = [];
          size = 0;
          continue;
        }
        const colon = line.indexOf(":");
        const field = colon < 0 ? line : line.slice(0, colon);
        const content = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "event") event = content;
        else if (field === "id" && /^[\x21-\x7e]{1,1000}$/.test(content)) id = content;
        else if (field === "retry" && /^\d{1,9}$/.test(content)) retryMs = Number(content);
        else if (field === "data") {
          data.push(content);
          size += content.length;
        }
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(endedAlready);
  }
}

/** Who reads has heard of the failure; there is nothing left to let go of. */
const endedAlready = () => undefined;

export const tooLarge = () =>
  new AppError(
    "response_too_large",
    `The MCP server sent more than ${MAX_WIRE_BYTES / 1024 / 1024} MiB in one answer; it was cut off.`,
  );
