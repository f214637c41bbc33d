import { AppError } from "../base/errors.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import { type ServerRequest, serverRequest } from "./rpc.ts";

export const ELICIT = "elicitation/create";
export const SAMPLE = "sampling/createMessage";
const ROOTS = "roots/list";

/** The protocol's word for a person who says no. */
export const DECLINE = { action: "decline" };

/** Questions that are told one by one. */
const MAX_TOLD = 10;

const WANTED: Readonly<Record<string, string>> = {
  [ELICIT]: "a person's answer",
  [SAMPLE]: "a language model's answer",
  [ROOTS]: "folders of this machine",
};

/** A call has nobody at its other end: what the server wanted of one is told as a sentence. */
export function noteDecline(declined: string[], host: string, { method, message }: ServerRequest): void {
  if (declined.length >= MAX_TOLD) return;
  const wanted = WANTED[method] ?? `something else (${method || "unnamed"})`;
  const question = message === null ? "" : ` ("${message}")`;
  const text = `${host} asked for ${wanted}${question} and was told no: Weir gives none to MCP servers.`;
  if (!declined.includes(text)) declined.push(text);
}

/**
 * What a request is sent again with, after an answer of 2026-07-28 that asks back: a no to each question, and the
 * server's own state as it came. Throws `upstream` for a question that the protocol has no no for.
 */
export function answerTo(host: string, method: string, result: JsonObject, declined: string[]): JsonObject {
  const { resultType, inputRequests, requestState } = result;
  const questions = isObject(inputRequests) ? Object.entries(inputRequests) : [];
  const isAsking = resultType === "input_required" && (questions.length > 0 || requestState !== undefined);
  if (!isAsking) throw asksForMore(host, method, declined);
  const inputResponses: JsonObject = {};
  for (const [key, raw] of questions) {
    const question = serverRequest(isObject(raw) ? raw : {});
    noteDecline(declined, host, question);
    if (question.method === ELICIT) inputResponses[key] = DECLINE;
    else if (question.method === ROOTS) inputResponses[key] = { roots: [] };
    else throw asksForMore(host, method, declined);
  }
  return {
    ...(questions.length > 0 ? { inputResponses } : {}),
    ...(requestState === undefined ? {} : { requestState }),
  };
}

export const asksForMore = (host: string, method: string, declined: readonly string[]) =>
  new AppError(
    "upstream",
    `${host} does not carry out ${method} without more than it was sent. ${declined.join(" ")}`.trim(),
  );
