import { AppError } from "../base/errors.ts";

/** No event of a model is as long; what is, is no stream of events. */
const MAX_EVENT_CHARACTERS = 4 * 1024 * 1024;

export interface SseEvent {
  event: string;
  data: string;
}

/**
 * Server-sent events of a body, as the HTML standard reads them: lines end with LF, CR or CRLF, comments and unknown
 * fields are passed over, an event without its empty line at the end is not given. Throws `response_too_large` for an
 * event or a body past its limit.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  maxCharacters: number,
): AsyncGenerator<SseEvent> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  let event = "";
  let data: string[] = [];
  let size = 0;
  let total = 0;
  let ended = false;
  try {
    while (!ended) {
      const { done, value } = await reader.read();
      ended = done;
      const text = done ? decoder.decode() : decoder.decode(value, { stream: true });
      total += text.length;
      if (total > maxCharacters || rest.length > MAX_EVENT_CHARACTERS || size > MAX_EVENT_CHARACTERS)
        throw tooLarge();
      rest += text;
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) yield { event, data: data.join("\n") };
          event = "";
          data = [];
          size = 0;
          continue;
        }
        const colon = line.indexOf(":");
        const field = colon < 0 ? line : line.slice(0, colon);
        const content = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "data") {
          data.push(content);
          size += content.length;
        } else if (field === "event") event = content;
      }
    }
  } finally {
    await reader.cancel().catch(ignoreLateFailure);
  }
}

/** The reader failed or ended already; who reads has heard of it. */
const ignoreLateFailure = () => undefined;

const tooLarge = () =>
  new AppError("response_too_large", "The model's reply is larger than any reply should be; it was cut off.");
