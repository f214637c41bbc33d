import { isObject, type Json, type JsonObject } from "../../base/json.ts";

/** What a chat asks for a call of its agent: the tool, the exact arguments, and the hash of what a yes is for. */
export const callContext = (call: {
  agent: string;
  tool: string;
  arguments: JsonObject;
  hash: string;
}): JsonObject => ({ ...call });

const CALL_KEYS = ["agent", "tool", "arguments", "hash"] as const;
/** Whether this is what a chat asks. */
export const isCall = (context: Json): context is JsonObject =>
  isObject(context) && CALL_KEYS.every((key) => Object.hasOwn(context, key));

/** Threads are private: the arguments of a chat's call came out of one. Everything else stays as it is. */
export const withoutArguments = (context: Json): Json =>
  isCall(context) ? { ...context, arguments: "***" } : context;
