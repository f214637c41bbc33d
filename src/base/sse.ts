export interface SseEvent {
  /** `message` if the stream doesn't name one. */
  event: string;
  data: string;
  /** The last ID of the stream, for resuming it. Null for none. */
  id: string | null;
  /** Delay in milliseconds before resuming, if the stream says so. */
  retryMs: number | null;
}

interface Options {
  /** Called whenever data arrives, including comments. */
  heard?: () => void;
  /** Maximum length of an event's data, and of a line. */
  maxEventCharacters?: number;
  /** Maximum length of the whole stream. */
  maxCharacters?: number;
  /** Returns the error for exceeded limits. */
  tooLarge?: () => Error;
}

/**
 * Parses server-sent events as the HTML standard does: lines end with LF, CR or CRLF.
 * Ignores a byte order mark, comments, unknown fields, an unterminated last event, and IDs that no header can contain.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  {
    heard = () => undefined,
    maxEventCharacters = Number.POSITIVE_INFINITY,
    maxCharacters = Number.POSITIVE_INFINITY,
    tooLarge = () => new Error("The event stream is too large."),
  }: Options = {},
): AsyncGenerator<SseEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let pieces: string[] = []; // chunks of an unfinished line, joined only once
  let heldSize = 0;
  let total = 0;
  let endsInCr = false;
  let event = "";
  let id: string | null = null;
  let retryMs: number | null = null;
  let data: string[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      let text = decoder.decode(value, { stream: true });
      if (text === "") continue;
      total += text.length;
      if (total > maxCharacters) throw tooLarge();
      if (endsInCr && text.startsWith("\n")) text = text.slice(1); // the line has already ended
      endsInCr = text.endsWith("\r");
      pieces.push(text);
      heldSize += text.length;
      if (!/[\r\n]/.test(text)) {
        if (heldSize + size > maxEventCharacters) throw tooLarge();
        continue;
      }
      const lines = pieces.join("").split(/\r\n|\n|\r/);
      const rest = lines.pop() ?? "";
      pieces = [rest];
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
        else if (field === "id" && /^[\x21-\x7e]{0,1000}$/.test(content)) id = content || null;
        else if (field === "retry" && /^\d{1,9}$/.test(content)) retryMs = Number(content);
        else if (field === "data") {
          data.push(content);
          size += content.length;
          if (size > maxEventCharacters) throw tooLarge();
        }
      }
    }
  } finally {
    await reader.cancel().catch(endedAlready);
  }
}

/** The reader already got the error, and there is nothing to release. */
const endedAlready = () => undefined;
