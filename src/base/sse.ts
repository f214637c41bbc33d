export interface SseEvent {
  /** `message` where the stream names none. */
  event: string;
  data: string;
  /** The last id that the stream has named, by which it can be taken up again; null for none. */
  id: string | null;
  /** How long to wait before that, in milliseconds, where the stream says so. */
  retryMs: number | null;
}

interface Options {
  /** Called for whatever comes, comments too. */
  heard?: () => void;
  /** Of the data of one event, and of one line. */
  maxEventCharacters?: number;
  /** Of the whole stream. */
  maxCharacters?: number;
  /** Thrown past a limit. */
  tooLarge?: () => Error;
}

/**
 * Server-sent events of a body, as the HTML standard reads them: lines end with LF, CR or CRLF, a byte order mark,
 * comments and unknown fields are passed over, and an event without its empty line at the end is not given. An id that
 * no header can carry is passed over too.
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
  let held: string[] = []; // of a line that is not over yet; put together once, however many pieces it comes in
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
      if (endsInCr && text.startsWith("\n")) text = text.slice(1); // its line is over already
      endsInCr = text.endsWith("\r");
      held.push(text);
      heldSize += text.length;
      if (!/[\r\n]/.test(text)) {
        if (heldSize + size > maxEventCharacters) throw tooLarge();
        continue;
      }
      const lines = held.join("").split(/\r\n|\n|\r/);
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

/** Who reads has heard of the failure; there is nothing left to let go of. */
const endedAlready = () => undefined;
