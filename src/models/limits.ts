import type { FinishReason } from "./contract.ts";

/** Maximum length of one reply on the wire, in characters; longer ones are cancelled. */
export const MAX_REPLY_CHARACTERS = 32 * 1024 * 1024;
/** Maximum length of the arguments of one call, and number of calls per reply. */
export const MAX_ARGUMENT_CHARACTERS = 256 * 1024;
export const MAX_CALLS = 64;
/** Maximum length of the text of one reply. */
export const MAX_TEXT_CHARACTERS = 2 * 1024 * 1024;

/** Whether a reply ended before the model had written all of it. */
export const isCut = (reason: FinishReason | null): boolean =>
  reason === "length" || reason === "content-filter";
