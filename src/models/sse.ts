import { AppError } from "../base/errors.ts";
import { readEvents, type SseEvent } from "../base/sse.ts";
import { MAX_REPLY_CHARACTERS } from "./limits.ts";

/** No event of a model is longer; anything longer isn't an event stream. */
const MAX_EVENT_CHARACTERS = 4 * 1024 * 1024;

/** The events of a model's reply. Throws `response_too_large` for an event or a reply that exceeds its limit. */
export const eventsOf = (body: ReadableStream<Uint8Array>): AsyncGenerator<SseEvent> =>
  readEvents(body, {
    maxEventCharacters: MAX_EVENT_CHARACTERS,
    maxCharacters: MAX_REPLY_CHARACTERS,
    tooLarge: () =>
      new AppError("response_too_large", "The model's reply is too large, so it was cancelled."),
  });
