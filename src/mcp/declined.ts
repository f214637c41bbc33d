import { AppError } from "../base/errors.ts";
import type { ServerRequest } from "./rpc.ts";

export const ELICIT = "elicitation/create";
export const SAMPLE = "sampling/createMessage";
export const ROOTS = "roots/list";

/** The protocol's value for a person who declines. */
export const DECLINE = { action: "decline" };

/** Maximum number of requests that are reported individually. */
const MAX_TOLD = 10;

const WANTED: Readonly<Record<string, string>> = {
  [ELICIT]: "a person's answer",
  [SAMPLE]: "a language model's answer",
  [ROOTS]: "folders of this machine",
};

/** Nobody is present during a call: reports what the server wanted from a person, as a sentence. */
export function noteDecline(declined: string[], host: string, { method, message }: ServerRequest): void {
  if (declined.length >= MAX_TOLD) return;
  const wanted = WANTED[method] ?? `something else (${method || "unnamed"})`;
  const question = message === null ? "" : ` ("${message}")`;
  const text = `${host} asked for ${wanted}${question} and was declined: Weir doesn't provide this to MCP servers.`;
  if (!declined.includes(text)) declined.push(text);
}

export const asksForMore = (host: string, method: string, declined: readonly string[]) =>
  new AppError("upstream", `${host} requires more input for ${method}. ${declined.join(" ")}`.trim());
