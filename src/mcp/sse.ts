import { AppError } from "../base/errors.ts";
import { readEvents, type SseEvent } from "../base/sse.ts";
import { MAX_WIRE_BYTES } from "./limits.ts";

/** Yields the events of an MCP server. `heard` is called whenever data arrives. Throws `response_too_large`. */
export const eventsOf = (
  body: ReadableStream<Uint8Array>,
  heard: () => void,
  maxCharacters = Number.POSITIVE_INFINITY,
): AsyncGenerator<SseEvent> =>
  readEvents(body, { heard, maxEventCharacters: MAX_WIRE_BYTES, maxCharacters, tooLarge });

export const tooLarge = () =>
  new AppError(
    "response_too_large",
    `The MCP server sent more than ${MAX_WIRE_BYTES / 1024 / 1024} MiB in one response.`,
  );
