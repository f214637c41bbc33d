/** Sentences that several pages show. */
export const CANT_UNDO = "This can't be undone.";
export const COPY_NOW = "Copy it now. You won't be able to see it again.";
export const ONLY_ADMINS_CHANGE = "Only admins can change this.";
export const ONLY_ADMINS_SIGN_IN = "Ask an admin to sign in.";
export const PAGE_LOST = "Part of this page failed to load. Reload to try again.";
export const SLUG_FROM_NAME = "Generated from the name";

/** Returns what is wrong with a text that isn't JSON. */
export const jsonProblem = (error: unknown): string =>
  error instanceof Error ? error.message : "Invalid JSON";
