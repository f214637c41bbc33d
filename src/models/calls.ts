import { AppError } from "../base/errors.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import { parseLossless } from "../base/json-numbers.ts";
import type { ModelCall, ModelEvent } from "./contract.ts";
import { MAX_ARGUMENT_CHARACTERS, MAX_CALLS } from "./limits.ts";

/** A part of a call in an endpoint's stream. */
interface Piece {
  /** Identifies the call within its reply. */
  key: string;
  id: string;
  name: string;
  delta: string;
  /** All of its arguments, if no deltas follow. */
  whole?: string;
}

/** Assembles the calls of one reply, each with an ID of its own. Throws `response_too_large` for too many or too long ones. */
export function openCalls() {
  const calls = new Map<string, ModelCall & { whole: string; given: string }>();
  let last: string | null = null;
  return {
    *take({ key, id, name, delta, whole = "" }: Piece): Generator<ModelEvent> {
      let at = key;
      const known = calls.get(key);
      // Some servers give all calls the number 0: a different ID is a different call.
      if (known && id !== "" && known.given !== id && name !== "") at = `${key}:${id}`;
      else if (known === undefined && name === "" && last !== null) at = last;
      let call = calls.get(at);
      if (!call) {
        if (calls.size >= MAX_CALLS)
          throw new AppError(
            "response_too_large",
            `The model requested more than ${MAX_CALLS} calls at once.`,
          );
        const isFree = id !== "" && [...calls.values()].every((other) => other.id !== id);
        call = { id: isFree ? id : `${id || "call"}-${calls.size}`, given: id, name, arguments: "", whole };
        calls.set(at, call);
        yield { type: "call-begin", id: call.id, name: call.name };
      }
      last = at;
      if (delta === "") return;
      call.arguments += delta;
      if (call.arguments.length > MAX_ARGUMENT_CHARACTERS)
        throw new AppError(
          "response_too_large",
          `The model wrote arguments that are too long for ${call.name}.`,
        );
      yield { type: "call-delta", id: call.id, delta };
    },
    all: (): ModelCall[] =>
      [...calls.values()].map(({ whole, given: _, ...call }) => ({
        ...call,
        arguments: call.arguments || whole,
      })),
  };
}

/** Parses the arguments written by a model; null if they aren't a JSON object. */
export function argumentsIn(text: string): JsonObject | null {
  try {
    const value: unknown = parseLossless(text);
    return isObject(value) ? value : null;
  } catch {
    return null; // empty, or not JSON
  }
}
