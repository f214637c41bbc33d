import type { FinishReason } from "./contract.ts";

/** Characters of one reply on the wire; a model that floods is cut off. */
export const MAX_REPLY_CHARACTERS = 32 * 1024 * 1024;
/** Characters of the arguments of one call, and calls of one reply. */
export const MAX_ARGUMENT_CHARACTERS = 256 * 1024;
export const MAX_CALLS = 64;
/** Characters of text that one reply brings. */
export const MAX_TEXT_CHARACTERS = 2 * 1024 * 1024;

/** Whether a reply ended before the model had written all of it. */
export const isCut = (reason: FinishReason | null): boolean =>
  reason === "length" || reason === "content-filter";
