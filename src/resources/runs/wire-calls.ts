import { isObject, type Json, type JsonObject } from "../../base/json.ts";

/** What a chat asks about a tool call: the tool, its arguments, and the hash that an approval covers. */
export const callContext = (call: {
  agent: string;
  tool: string;
  arguments: JsonObject;
  hash: string;
}): JsonObject => ({ ...call });

const CALL_KEYS = ["agent", "tool", "arguments", "hash"] as const;
/** Returns whether this is a chat's approval. */
export const isCall = (context: Json): context is JsonObject =>
  isObject(context) && CALL_KEYS.every((key) => Object.hasOwn(context, key));

/** Threads are private, so arguments of a chat's call are omitted. Everything else is unchanged. */
export const withoutArguments = (context: Json): Json =>
  isCall(context) ? { ...context, arguments: "***" } : context;
